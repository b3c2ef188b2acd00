/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of jobs (launch/core/daemon_core_trace.c): the test plays the tree, the clock and a client.  Job 1 has a rank on each of
 * four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/run_trace.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 2u

static struct buffer calls;
static uint32_t last_id, parent = 1;
static uint64_t now_ns = 1000;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

static uint32_t tree_parent(void *context)
{
    return parent;
}

static uint32_t tree_request(void *context, uint32_t place, struct message *message)
{
    if (message->data[0] == JOB_MESSAGE_TRACE_CLOCK)
        buffer_printf(&calls, "%u is asked\n", place);
    message_release(message);
    return ++last_id;
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    uint64_t received_ns, sent_ns, error_ns;
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, message->data, message->length_bytes);
    rc = job_reply_decode(0, &reader);
    buffer_printf(&calls, "%u gets %d", source, rc);
    if (rc == 0 && run_trace_clock_decode(&reader, &received_ns, &sent_ns, &error_ns) == 0)
        buffer_printf(&calls, " %llu %llu +-%llu", (unsigned long long)received_ns,
                      (unsigned long long)sent_ns, (unsigned long long)error_ns);
    buffer_append_string(&calls, "\n");
    message_release(message);
}

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    message_release(message);
}

static const struct daemon_tree_ops tree_ops = {.request = tree_request,
                                                .reply = tree_reply,
                                                .parent = tree_parent,
                                                .send = tree_send};

static uint64_t clock_now_ns(void *context)
{
    return now_ns;
}

static void set_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
}

static const struct daemon_ops ops = {.now_ns = clock_now_ns, .timer = set_timer};

static void ask(struct daemon_core *core, uint32_t place)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_REQUEST, .place = place, .id = 40 + place};

    event.message = job_request_message(JOB_MESSAGE_TRACE_CLOCK, NULL, 0);
    daemon_core_step(core, &event);
    message_release(event.message);
}

static void answer(struct daemon_core *core, uint32_t id, int status, uint64_t received_ns,
                   uint64_t sent_ns, uint64_t error_ns)
{
    struct buffer data = {0};

    run_trace_clock_encode(received_ns, sent_ns, error_ns, &data);
    lone_core_reply(core, id, status, &data);
}

/* The root's clock is 5,000 ahead of the node's; place 1 knows that within 10. */
static void test_clock(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &tree_ops);

    ask(core, 3);
    heard("1 is asked\n", "a node that is asked asks its parent first");
    ask(core, 4);
    heard("", "once");
    now_ns += 200;
    answer(core, last_id, 0, 6100, 6100, 10);
    heard("1 is asked\n", "several times");
    now_ns += 20;
    answer(core, last_id, 0, 6210, 6210, 10);
    heard("1 is asked\n", "and again");
    now_ns += 400;
    answer(core, last_id + 1, 0, 6500, 6500, 10);
    heard("", "another answer is not its own");
    answer(core, last_id, 0, 6500, 6500, 10);
    heard("3 gets 0 6000 6620 +-20\n4 gets 0 6000 6620 +-20\n",
          "the best counts, and those that wait get it, with its error");
    ask(core, 3);
    heard("3 gets 0 6620 6620 +-20\n", "later ones at once");
    now_ns += 11000000000;
    parent = UINT32_MAX;
    ask(core, 3);
    heard("0 is asked\n", "after some time it asks again: without a parent the root");
    for (int i = 0; i < 3; i++)
        answer(core, last_id, -EHOSTDOWN, 0, 0, 0);
    heard("0 is asked\n0 is asked\n3 gets -11\n", "who gets no answer gives none");
    ask(core, 3);
    buffer_clear(&calls);
    daemon_core_destroy(core);
    ok(1, "it ends while others wait");
}

static void test_clock_root(void)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    now_ns = 77;
    ask(core, 3);
    heard("3 gets 0 77 77 +-0\n", "the root's clock is the right one");
    daemon_core_destroy(core);
}

int main(void)
{
    lone_core_open();
    test_clock();
    test_clock_root();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}
