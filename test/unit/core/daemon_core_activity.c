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
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 2u

static struct buffer calls;
static uint32_t last_id;
static uint64_t now_ns = 1, due_ns;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

static void print(const void *data, size_t bytes)
{
    struct activity activity;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (activity_decode(&activity, &reader) < 0)
        return;
    for (uint32_t i = 0; i < activity.count; i++) {
        buffer_printf(&calls, " %c:", activity.groups[i].what.state);
        ranges_print(&activity.groups[i].ranks, &calls);
        buffer_append_string(&calls, "@");
        ranges_print(&activity.groups[i].places, &calls);
    }
    buffer_append_string(&calls, " silent:");
    ranges_print(&activity.silent, &calls);
    activity_fini(&activity);
}

/* ---- The tree ---- */

static uint32_t tree_request(void *context, uint32_t place, struct message *message)
{
    if (message->length_bytes == 5 && ((const uint8_t *)message->data)[0] == JOB_MESSAGE_ACTIVITY)
        buffer_printf(&calls, "%u is asked\n", place);
    message_release(message);
    return ++last_id;
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, message->data, message->length_bytes);
    rc = job_reply_decode(0, &reader);
    buffer_printf(&calls, "reply %d", rc);
    print(reader.position, wire_left(&reader));
    buffer_append_string(&calls, "\n");
    message_release(message);
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    message_release(message);
    return 0;
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .request = tree_request,
                                                .reply = tree_reply};

/* ---- The daemon ---- */

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    struct control_answer answer;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type != CONTROL_ANSWER || control_answer_decode(&answer, &reader) < 0)
        return;
    buffer_printf(&calls, "answer %u: %d", answer.request, answer.status);
    print(answer.data.data, answer.data.length_bytes);
    buffer_append_string(&calls, "\n");
}

static uint64_t clock_now_ns(void *context)
{
    return now_ns;
}

static void set_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    if (timer == DAEMON_TIMER_ACTIVITY)
        due_ns = deadline_ns;
}

static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_ops ops = {.now_ns = clock_now_ns,
                                      .timer = set_timer,
                                      .clients = &client_ops};

/* ---- The client ---- */

static void ask(struct daemon_core *core, uint32_t number, uint32_t job)
{
    struct control_request request = {.request = number, .kind = JOB_MESSAGE_ACTIVITY};
    struct buffer payload = {0}, data = {0};

    wire_put_u32(&data, job);
    request.data = (struct wire_bytes){data.data, data.length_bytes};
    control_request_encode(&request, &payload);
    lone_core_say(core, CLIENT, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(&data);
}

static void reply(struct daemon_core *core, uint32_t id, int status, uint8_t state, uint32_t place)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_REPLY, .id = id, .status = status};
    struct activity activity = {0};
    struct buffer data = {0};

    activity_add(&activity, &(struct activity_rank){.state = state}, place - 1, place);
    activity_encode(&activity, &data);
    if (status == 0)
        event.message = job_reply_message(0, data.data, data.length_bytes);
    daemon_core_step(core, &event);
    message_release(event.message);
    activity_fini(&activity);
    buffer_fini(&data);
}

static struct daemon_core *root_with_job(void)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    lone_core_greet(core, CLIENT, 0);
    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    lone_core_run(core, UINT32_MAX);
    buffer_clear(&calls);
    last_id = 0;
    return core;
}

static void test_root(void)
{
    struct daemon_core *core = root_with_job();
    struct daemon_event late = {.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_ACTIVITY};

    ask(core, 1, 7);
    heard("answer 1: -2\n", "there is no such job");
    ask(core, 2, 1);
    heard("1 is asked\n2 is asked\n3 is asked\n4 is asked\n", "all nodes of a job are asked");
    is_uint(due_ns, now_ns + 2500 * NS_PER_MS, "and get some time");
    ask(core, 3, 1);
    heard("answer 3: -11\n", "a client asks one question at a time");
    reply(core, 1, 0, 'S', 1);
    reply(core, 2, -EHOSTDOWN, 0, 2);
    reply(core, 3, -ENOTSUP, 0, 3);
    heard("", "the root waits for all of them");
    reply(core, 4, 0, 'S', 4);
    heard("answer 2: 0 S:0,3@1,4 silent:3\n",
          "equal ranks are one; a lost node has none, one that refuses is named");
    ask(core, 4, 1);
    buffer_clear(&calls);
    reply(core, 6, 0, 'T', 2);
    daemon_core_step(core, &late);
    heard("", "as long as there is time");
    now_ns = due_ns;
    daemon_core_step(core, &late);
    heard("answer 4: 0 T:1@2 silent:1,3-4\n", "it names those that have not answered in time");
    reply(core, 5, 0, 'S', 1);
    heard("", "an answer that comes later is dropped");
    daemon_core_destroy(core);
}

static void test_gone(void)
{
    struct daemon_core *core = root_with_job();
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = CLIENT};
    struct daemon_event late = {.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_ACTIVITY};

    ask(core, 1, 1);
    daemon_core_step(core, &closed);
    buffer_clear(&calls);
    now_ns = due_ns;
    daemon_core_step(core, &late);
    heard("", "a client that has gone gets no answer");
    daemon_core_destroy(core);
    core = root_with_job();
    ask(core, 1, 1);
    daemon_core_destroy(core);
    ok(1, "a root ends while nodes are asked");
    buffer_clear(&calls);
}

static void test_node(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &tree_ops);
    struct daemon_event event = {.kind = DAEMON_EVENT_REQUEST, .id = 5};
    struct buffer data = {0};

    wire_put_u32(&data, 1);
    event.message = job_request_message(JOB_MESSAGE_ACTIVITY, data.data, data.length_bytes);
    daemon_core_step(core, &event);
    heard("reply 0 silent:\n", "a node without ranks of the job has nothing to say");
    message_release(event.message);
    event.message = job_request_message(JOB_MESSAGE_ACTIVITY, data.data, data.length_bytes - 1);
    daemon_core_step(core, &event);
    heard("reply -74\n", "a request that cannot be read is refused");
    message_release(event.message);
    buffer_fini(&data);
    daemon_core_destroy(core);
}

int main(void)
{
    lone_core_open();
    test_root();
    test_gone();
    test_node();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}
