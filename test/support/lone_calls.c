/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/lone_calls.h"

#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

struct lone_calls lone_calls = {.now_ns = 1};

struct daemon_core *lone_calls_root(const struct daemon_ops *ops, uint32_t client, bool has_job)
{
    struct daemon_core *core = lone_core_at(0, ops, &lone_calls_tree);

    lone_core_greet(core, client, 0);
    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    if (has_job)
        lone_core_run(core, UINT32_MAX);
    buffer_clear(&lone_calls.text);
    lone_calls.last_id = 0;
    return core;
}

void lone_calls_wait(struct daemon_core *core, enum daemon_timer timer)
{
    struct daemon_event late = {.kind = DAEMON_EVENT_TIMER, .id = timer};

    lone_calls.now_ns = lone_calls.due_ns;
    daemon_core_step(core, &late);
}

void lone_calls_heard(const char *expected, const char *name)
{
    is_string(buffer_string(&lone_calls.text), expected, "%s", name);
    buffer_clear(&lone_calls.text);
}

void lone_calls_print_request(uint32_t place, const struct ranges *places, uint32_t patience_ms)
{
    buffer_printf(&lone_calls.text, "%u is asked about ", place);
    ranges_print(places, &lone_calls.text);
    buffer_printf(&lone_calls.text, " within %u ms\n", patience_ms);
}

/* ---- The tree ---- */

static uint32_t tree_request(void *context, uint32_t place, struct message *message)
{
    lone_calls.print_request(place, message);
    message_release(message);
    return ++lone_calls.last_id;
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, message->data, message->length_bytes);
    rc = job_reply_decode(0, &reader);
    buffer_printf(&lone_calls.text, "reply %d", rc);
    lone_calls.print_answer(reader.position, wire_left(&reader));
    buffer_append_string(&lone_calls.text, "\n");
    message_release(message);
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    message_release(message);
    return 0;
}

const struct daemon_tree_ops lone_calls_tree = {.broadcast = tree_broadcast,
                                                .request = tree_request,
                                                .reply = tree_reply};

/* ---- The daemon ---- */

void lone_calls_client_send(void *context, uint32_t client, uint8_t type, const void *data,
                            size_t bytes)
{
    struct control_answer answer;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type != CONTROL_ANSWER || control_answer_decode(&answer, &reader) < 0)
        return;
    buffer_printf(&lone_calls.text, "answer %u: %d", answer.request, answer.status);
    lone_calls.print_answer(answer.data.data, answer.data.length_bytes);
    buffer_append_string(&lone_calls.text, "\n");
}

uint64_t lone_calls_now_ns(void *context)
{
    return lone_calls.now_ns;
}

void lone_calls_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    if (timer == lone_calls.timer)
        lone_calls.due_ns = deadline_ns;
}

void lone_calls_test_gone(const struct daemon_ops *ops, uint32_t client, bool has_job,
                          enum daemon_timer timer, void (*ask)(struct daemon_core *core))
{
    struct daemon_core *core = lone_calls_root(ops, client, has_job);
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = client};

    ask(core);
    daemon_core_step(core, &closed);
    buffer_clear(&lone_calls.text);
    lone_calls_wait(core, timer);
    lone_calls_heard("", "a client that has gone gets no answer");
    daemon_core_destroy(core);
    core = lone_calls_root(ops, client, has_job);
    ask(core);
    daemon_core_destroy(core);
    ok(1, "a root ends while nodes are asked");
    buffer_clear(&lone_calls.text);
}
