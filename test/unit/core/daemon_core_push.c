/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard input of a job from several senders (launch/core/daemon_core_push.c), at the root: the test plays the tree
 * and the client.  The job has a rank on each of the four nodes; rank 2, on the third, reads its input.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include "test/support/tap.h"

#define NODES 4

static struct allocation allocation;
static struct instance_spec spec;
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

static uint64_t now_ns(void *context)
{
    return 1;
}

static const struct daemon_ops ops = {.now_ns = now_ns};

/* ---- */

static struct daemon_core *core_at(uint32_t place)
{
    struct daemon_core_config config = {.spec = &spec,
                                        .place = place,
                                        .range = {place, place == 0 ? NODES : place},
                                        .roster = place == 0 ? &allocation : NULL,
                                        .policy = INSTANCE_STAYS,
                                        .directory = "/tmp/none",
                                        .ops = &ops};
    struct daemon_core *core = daemon_core_create(&config);

    daemon_core_attach(core, &tree_ops, NULL);
    return core;
}

static void job_step(struct daemon_core *core, struct job_event event)
{
    struct job_actions actions;

    job_actions_init(&actions);
    instance_step(core->instance, &event, &actions);
    job_actions_fini(&actions);
}

static void run(struct daemon_core *core)
{
    struct placement_rule rule = {.processes = NODES, .per = 1};
    struct job_spec job;

    job_spec_init(&job);
    job.stdin_rank = 2;
    placement_add(&job.placement, &rule);
    job.apps = memory_allocate_zeroed(sizeof(*job.apps));
    job.apps_count = 1;
    job.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    job.apps[0].argv[0] = memory_copy_string("./app");
    job.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    job.apps[0].directory = memory_copy_string("/");
    job_step(core, (struct job_event){.kind = JOB_EVENT_RUN, .spec = &job});
    job_spec_fini(&job);
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

    job_step(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    run(core);
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

int main(void)
{
    instance_spec_init(&spec);
    spec.places = NODES + 1;
    spec.radix = 2;
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", NODES, 2);
    test_order();
    test_losses();
    allocation_fini(&allocation);
    instance_spec_fini(&spec);
    buffer_fini(&calls);
    return done_testing();
}
