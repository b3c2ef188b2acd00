/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input of each process of a job (launch/core/daemon_core_feed.c) at the root and at a node: the test plays the tree,
 * the client and the processes.  The job has a rank on each of the four nodes; what the root broadcasts, the
 * core of place 3 gets.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include "launch/proto/feed.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

static struct buffer calls;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- the tree ---- */

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    if (message->data[0] == JOB_MESSAGE_FEED)
        buffer_printf(&calls, "to %u: %zu bytes\n", place, message->length_bytes - 9);
    if (message->data[0] == JOB_MESSAGE_FEED_END)
        buffer_printf(&calls, "to %u: rank %u has ended\n", place, message->data[5]);
    message_release(message);
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    message_release(message);
}

static const struct daemon_tree_ops tree_ops = {.send = tree_send, .contribute = tree_contribute};

/* ---- the node ---- */

static void rank_open(void *context, uint32_t job)
{
}

static void rank_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
    buffer_printf(&calls, "start %u of job %u\n", count, job);
}

static void rank_feed(void *context, uint32_t job, uint32_t index, const void *data, size_t bytes)
{
    buffer_printf(&calls, "job %u, local rank %u: %zu bytes\n", job, index, bytes);
}

static const struct daemon_rank_ops rank_ops = {.open = rank_open,
                                                .start = rank_start,
                                                .feed = rank_feed};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns, .ranks = &rank_ops};

/* ---- */

/* An event of the root's job logic; its broadcasts go to the node. */
static void run_root(struct daemon_core *root, struct daemon_core *node, struct job_event event)
{
    struct job_actions actions;

    job_actions_init(&actions);
    instance_step(root->instance, &event, &actions);
    for (uint32_t i = 0; i < actions.count; i++) {
        struct daemon_event broadcast = {.kind = DAEMON_EVENT_BROADCAST,
                                         .message = actions.items[i].message};

        if (actions.items[i].kind == JOB_ACTION_BROADCAST)
            daemon_core_step(node, &broadcast);
    }
    job_actions_fini(&actions);
}

static void run_job(struct daemon_core *root, struct daemon_core *node, uint32_t stdin_rank)
{
    struct placement_rule rule = {.processes = LONE_CORE_NODES, .per = 1};
    struct job_spec job;

    job_spec_init(&job);
    job.stdin_rank = stdin_rank;
    placement_add(&job.placement, &rule);
    job.apps = memory_allocate_zeroed(sizeof(*job.apps));
    job.apps_count = 1;
    job.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    job.apps[0].argv[0] = memory_copy_string("./app");
    job.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    job.apps[0].directory = memory_copy_string("/");
    run_root(root, node, (struct job_event){.kind = JOB_EVENT_RUN, .spec = &job});
    job_spec_fini(&job);
}

static void feed_node(struct daemon_core *node, uint32_t job, uint32_t rank)
{
    const struct feed feed = {
        .job = job, .rank = rank, .data = {.data = (const unsigned char *)"ab", .length_bytes = 2}};
    struct daemon_event event = {.kind = DAEMON_EVENT_RECEIVED, .message = feed_message(&feed)};

    daemon_core_step(node, &event);
    message_release(event.message);
}

static void feed_root(struct daemon_core *root, uint32_t job, uint32_t rank, size_t bytes)
{
    struct buffer data = {0};

    control_put_number(rank, &data);
    buffer_append(&data, "12345678", bytes);
    daemon_core_feed_client(root, job, data.data, data.length_bytes);
    buffer_fini(&data);
}

static void test_root(struct daemon_core *root)
{
    feed_root(root, 1, 0, 5);
    feed_root(root, 1, 3, 0);
    heard("to 1: 5 bytes\nto 4: 0 bytes\n", "input goes to the node of its process");
    feed_root(root, 1, 4, 5);
    feed_root(root, 9, 0, 5);
    daemon_core_feed_client(root, 1, "abc", 3);
    heard("", "but not for a process or a job that does not exist, or what is cut short");
    ranges_add(&root->lost, 2, 2);
    feed_root(root, 1, 1, 5);
    heard("", "and not to a node that is lost");
}

static void test_node(struct daemon_core *node)
{
    struct job_event ended = {.kind = JOB_EVENT_EXITED, .job = 1, .index = 0};
    struct daemon_event event = {.kind = DAEMON_EVENT_RECEIVED, .message = message_create("\0", 1)};

    feed_node(node, 1, 2);
    heard("job 1, local rank 0: 2 bytes\n", "a node gives its process what has arrived");
    feed_node(node, 1, 1);
    feed_node(node, 1, 99);
    feed_node(node, 5, 2);
    event.message->data[0] = JOB_MESSAGE_FEED;
    daemon_core_step(node, &event);
    message_release(event.message);
    heard("", "but not what is for others, or broken");
    daemon_core_feed_job_event(node, &ended);
    heard("to 0: rank 2 has ended\n", "the root is sent that a process has ended");
    ended.kind = JOB_EVENT_STARTED;
    daemon_core_feed_job_event(node, &ended);
    heard("", "not that it has started");
}

static void test_other_jobs(struct daemon_core *root, struct daemon_core *node)
{
    struct job_event ended = {.kind = JOB_EVENT_EXITED, .job = 2, .index = 0};

    run_job(root, node, 0);
    heard("start 1 of job 2\n", "a job whose rank 0 reads standard input");
    feed_root(root, 2, 2, 5);
    feed_node(node, 2, 2);
    daemon_core_feed_job_event(node, &ended);
    heard("", "has no input of this kind");
}

int main(void)
{
    struct daemon_core *root, *node;

    lone_core_open();
    root = lone_core_at(0, &ops, &tree_ops);
    node = lone_core_at(3, &ops, &tree_ops);
    run_root(root, node, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    run_job(root, node, JOB_STDIN_EACH);
    heard("start 1 of job 1\n", "a job whose processes each have input");
    test_root(root);
    test_node(node);
    ranges_fini(&root->lost);
    test_other_jobs(root, node);
    daemon_core_destroy(root);
    daemon_core_destroy(node);
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}
