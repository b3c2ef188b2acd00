/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a job are doing (launch/core/daemon_core_activity.c): the test plays the tree, the daemon, the clock
 * and a client.  Job 1 has a rank on each of the four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "test/support/lone_calls.h"
#include "test/support/tap.h"

#define CLIENT 2u

static void print(const void *data, size_t bytes)
{
    struct activity activity;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (activity_decode(&activity, &reader) < 0)
        return;
    for (uint32_t i = 0; i < activity.count; i++) {
        buffer_printf(&lone_calls.text, " %c:", activity.groups[i].what.state);
        ranges_print(&activity.groups[i].ranks, &lone_calls.text);
        buffer_append_string(&lone_calls.text, "@");
        ranges_print(&activity.groups[i].places, &lone_calls.text);
    }
    buffer_append_string(&lone_calls.text, " silent:");
    ranges_print(&activity.silent, &lone_calls.text);
    activity_fini(&activity);
}

static void print_request(uint32_t place, const struct message *message)
{
    if (message->length_bytes == 5 && ((const uint8_t *)message->data)[0] == JOB_MESSAGE_ACTIVITY)
        buffer_printf(&lone_calls.text, "%u is asked\n", place);
}

/* ---- The daemon ---- */

static const struct daemon_client_ops client_ops = {.send = lone_calls_client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_ops ops = {.now_ns = lone_calls_now_ns,
                                      .timer = lone_calls_timer,
                                      .clients = &client_ops};

/* ---- The client ---- */

static void ask(struct daemon_core *core, uint32_t number, uint32_t job)
{
    struct buffer data = {0};

    wire_put_u32(&data, job);
    lone_core_ask(core, CLIENT, number, JOB_MESSAGE_ACTIVITY, &data);
}

static void reply(struct daemon_core *core, uint32_t id, int status, uint8_t state, uint32_t place)
{
    struct activity activity = {0};
    struct buffer data = {0};

    activity_add(&activity, &(struct activity_rank){.state = state}, place - 1, place);
    activity_encode(&activity, &data);
    lone_core_reply(core, id, status, &data);
    activity_fini(&activity);
}

static void test_root(void)
{
    struct daemon_core *core = lone_calls_root(&ops, CLIENT, true);
    struct daemon_event late = {.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_ACTIVITY};

    ask(core, 1, 7);
    lone_calls_heard("answer 1: -2\n", "there is no such job");
    ask(core, 2, 1);
    lone_calls_heard("1 is asked\n2 is asked\n3 is asked\n4 is asked\n",
                     "all nodes of a job are asked");
    is_uint(lone_calls.due_ns, lone_calls.now_ns + 2500 * NS_PER_MS, "and get some time");
    ask(core, 3, 1);
    lone_calls_heard("answer 3: -11\n", "a client asks one question at a time");
    reply(core, 1, 0, 'S', 1);
    reply(core, 2, -EHOSTDOWN, 0, 2);
    reply(core, 3, -ENOTSUP, 0, 3);
    lone_calls_heard("", "the root waits for all of them");
    reply(core, 4, 0, 'S', 4);
    lone_calls_heard("answer 2: 0 S:0,3@1,4 silent:3\n",
                     "equal ranks are one; a lost node has none, one that refuses is named");
    ask(core, 4, 1);
    buffer_clear(&lone_calls.text);
    reply(core, 6, 0, 'T', 2);
    daemon_core_step(core, &late);
    lone_calls_heard("", "as long as there is time");
    lone_calls_wait(core, DAEMON_TIMER_ACTIVITY);
    lone_calls_heard("answer 4: 0 T:1@2 silent:1,3-4\n",
                     "it names those that have not answered in time");
    reply(core, 5, 0, 'S', 1);
    lone_calls_heard("", "an answer that comes later is dropped");
    daemon_core_destroy(core);
}

static void ask_first(struct daemon_core *core)
{
    ask(core, 1, 1);
}

static void test_node(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &lone_calls_tree);
    struct daemon_event event = {.kind = DAEMON_EVENT_REQUEST, .id = 5};
    struct buffer data = {0};

    wire_put_u32(&data, 1);
    event.message = job_request_message(JOB_MESSAGE_ACTIVITY, data.data, data.length_bytes);
    daemon_core_step(core, &event);
    lone_calls_heard("reply 0 silent:\n", "a node without ranks of the job has nothing to say");
    message_release(event.message);
    event.message = job_request_message(JOB_MESSAGE_ACTIVITY, data.data, data.length_bytes - 1);
    daemon_core_step(core, &event);
    lone_calls_heard("reply -74\n", "a request that cannot be read is refused");
    message_release(event.message);
    buffer_fini(&data);
    daemon_core_destroy(core);
}

int main(void)
{
    lone_calls.timer = DAEMON_TIMER_ACTIVITY;
    lone_calls.print_answer = print;
    lone_calls.print_request = print_request;
    lone_core_open();
    test_root();
    lone_calls_test_gone(&ops, CLIENT, true, DAEMON_TIMER_ACTIVITY, ask_first);
    test_node();
    lone_core_close();
    buffer_fini(&lone_calls.text);
    return done_testing();
}
