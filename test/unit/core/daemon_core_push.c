/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard input of a job from several senders (launch/core/daemon_core_push.c), at the root: the test plays the tree
 * and the client.  The job has a rank on each of the four nodes; rank 2, on the third, reads its input.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include "test/support/lone_core.h"
#include "test/support/tap.h"

static struct buffer calls;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- The tree ---- */

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    if (message->data[0] == JOB_MESSAGE_WINDOW)
        buffer_printf(&calls, "to %u: a window\n", place);
    if (message->data[0] == JOB_MESSAGE_STDIN)
        buffer_printf(&calls, "to %u: %zu bytes\n", place, message->length_bytes - 5);
    message_release(message);
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    buffer_printf(&calls, "%u.%u: %d\n", source, id, (int32_t)wire_get_u32(&reader));
    message_release(message);
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    message_release(message);
    return 0;
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .send = tree_send,
                                                .reply = tree_reply};

/* ---- The node ---- */

static const struct daemon_ops ops = {.now_ns = lone_core_now_ns};

/* ---- */

static struct daemon_core *core_at(uint32_t place)
{
    return lone_core_at(place, &ops, &tree_ops);
}

static void push(struct daemon_core *core, uint32_t place, uint32_t id, uint32_t number,
                 uint32_t rank, size_t bytes)
{
    static const char data[64];
    struct job_push push = {.number = number, .rank = rank, .data = data, .data_bytes = bytes};
    struct buffer payload = {0};
    struct daemon_event event = {.kind = DAEMON_EVENT_REQUEST, .place = place, .id = id};

    job_push_encode(&push, &payload);
    event.message = job_request_message(JOB_MESSAGE_PUSH, payload.data, payload.length_bytes);
    daemon_core_step(core, &event);
    message_release(event.message);
    buffer_fini(&payload);
}

static struct daemon_core *root(void)
{
    struct daemon_core *core = core_at(0);

    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    lone_core_run(core, 2);
    return core;
}

static void test_order(void)
{
    struct daemon_core *core = root();

    push(core, 4, 1, 2, 2, 9);
    heard("4.1: -2\n", "a job that does not exist");
    push(core, 4, 2, 1, 1, 9);
    heard("4.2: -95\n", "a rank that does not read");
    daemon_core_push_client(core, 1, "12345", 5);
    push(core, 4, 3, 1, 2, 10);
    daemon_core_push_client(core, 1, "12345", 5);
    push(core, 2, 1, 1, JOB_RANK_ALL, 20);
    heard("to 3: 5 bytes\nto 3: 10 bytes\nto 3: 5 bytes\nto 3: 20 bytes\n", "all are sent");
    push(core, 4, 3, 1, 2, 10);
    heard("", "one that is repeated is not sent again");
    daemon_core_push_taken(core, 1, 14);
    heard("", "a part of it has been taken");
    daemon_core_push_taken(core, 1, 16);
    heard("4.3: 0\n", "the whole is answered");
    push(core, 4, 3, 1, 2, 10);
    heard("4.3: 0\n", "again, if it is asked again");
    daemon_core_push_taken(core, 1, 10);
    heard("2.1: 0\n", "the rest");
    push(core, 4, 4, 1, 2, 0);
    heard("to 3: 0 bytes\n4.4: 0\n", "the end");
    push(core, 2, 2, 1, 2, 1);
    heard("2.2: -32\n", "nothing after it");
    daemon_core_destroy(core);
}

static void test_losses(void)
{
    struct daemon_core *core = root();

    push(core, 4, 1, 1, 2, 10);
    heard("to 3: 10 bytes\n", "input is under way");
    daemon_core_push_lost(core);
    heard("4.1: -104\n", "when a node is lost");
    push(core, 4, 1, 1, 2, 10);
    heard("4.1: -104\n", "which is said again");
    push(core, 4, 2, 1, 2, 10);
    daemon_core_push_ended(core, 1);
    heard("to 3: 10 bytes\n4.2: -32\n", "the job ends");
    daemon_core_push_ended(core, 1);
    daemon_core_push_taken(core, 1, 10);
    heard("", "once");
    daemon_core_destroy(core);
}

static void test_window(void)
{
    const struct window window = {.rows = 24, .columns = 80};
    struct daemon_core *core = root();
    struct buffer payload = {0};

    window_encode(&window, &payload);
    daemon_core_push_window(core, 1, payload.data, payload.length_bytes);
    heard("", "a job without a terminal has no window");
    lone_core_run_terminal(core, 1);
    daemon_core_push_window(core, 2, payload.data, payload.length_bytes);
    heard("to 2: a window\n", "that of a terminal goes to its node");
    daemon_core_push_window(core, 2, payload.data, payload.length_bytes - 1);
    daemon_core_push_window(core, 9, payload.data, payload.length_bytes);
    heard("", "but not what is cut short, or of no job");
    buffer_fini(&payload);
    daemon_core_destroy(core);
}

int main(void)
{
    lone_core_open();
    test_order();
    test_losses();
    test_window();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}
