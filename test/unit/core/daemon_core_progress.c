/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far jobs are (launch/core/daemon_core_progress.c): the test plays the tree, the daemon and a client.  Job 1 has a
 * rank on each of the four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <string.h>

#include "launch/job/instance_state.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/progress.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 2u

static struct buffer calls;
static struct ranges missing;
static int is_complete, broadcast_status;

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- The tree ---- */

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct wire_reader reader;
    uint32_t job, generation;

    wire_reader_init(&reader, message->data, message->length_bytes);
    if (wire_get_u8(&reader) == JOB_MESSAGE_PROGRESS && broadcast_status == 0 &&
        progress_decode_order(&reader, &job, &generation) == 0) {
        ranges_print(places, &calls);
        buffer_printf(&calls, ": count %u of job %u\n", generation, job);
    }
    message_release(message);
    return broadcast_status;
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    struct progress_count count = {0};

    if (key->kind == JOB_OPERATION_PROGRESS &&
        progress_decode_count(&count, message->data, message->length_bytes) == 0)
        buffer_printf(&calls, "count %u of %llu: %llu started, %llu connected\n", key->generation,
                      (unsigned long long)ranges_count(places), (unsigned long long)count.started,
                      (unsigned long long)count.connected);
    message_release(message);
}

static int tree_is_complete(void *context)
{
    return is_complete;
}

static void tree_missing(void *context, struct ranges *ret_places)
{
    ranges_copy(ret_places, &missing);
}

static void tree_forget(void *context, uint32_t owner, const struct ranges *places)
{
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .contribute = tree_contribute,
                                                .is_complete = tree_is_complete,
                                                .missing = tree_missing,
                                                .forget = tree_forget};

/* ---- The daemon ---- */

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    static const char *const phases[] = {"nodes", "waits", "processes"};
    struct control_answer answer;
    struct progress progress;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type != CONTROL_ANSWER || control_answer_decode(&answer, &reader) < 0)
        return;
    buffer_printf(&calls, "answer %u: %d", answer.request, answer.status);
    wire_reader_init(&reader, answer.data.data, answer.data.length_bytes);
    if (answer.status == 0 && progress_decode(&progress, &reader) == 0)
        buffer_printf(
            &calls, " %s %u/%u, %llu/%llu/%llu", phases[progress.phase], progress.nodes_up,
            progress.nodes, (unsigned long long)progress.count.connected,
            (unsigned long long)progress.count.started, (unsigned long long)progress.processes);
    buffer_append_string(&calls, "\n");
}

static void set_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
}

static void ranks_open(void *context, uint32_t job)
{
}

static void ranks_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
}

static void ranks_activity(void *context, uint32_t job, uint32_t index,
                           struct activity_rank *ret_rank)
{
    ret_rank->pmi = index == 0 ? ACTIVITY_PMI_WAITS : ACTIVITY_PMI_NONE;
}

static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_rank_ops rank_ops = {.open = ranks_open,
                                                .start = ranks_start,
                                                .activity = ranks_activity};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .timer = set_timer,
                                      .clients = &client_ops,
                                      .ranks = &rank_ops};

/* ---- The client ---- */

static void ask(struct daemon_core *core, uint32_t number, uint32_t job)
{
    struct buffer data = {0};

    wire_put_u32(&data, job);
    lone_core_ask(core, CLIENT, number, JOB_MESSAGE_PROGRESS, &data);
}

static void result(struct daemon_core *core, uint32_t generation, int status,
                   const struct progress_count *count)
{
    struct operation_name key = {
        .owner = 1, .kind = JOB_OPERATION_PROGRESS, .generation = generation};
    struct daemon_event event = {.kind = DAEMON_EVENT_RESULT, .key = &key, .status = status};
    struct buffer data = {0};

    progress_encode_count(count, &data);
    event.message = message_from_buffer(&data);
    daemon_core_step(core, &event);
    message_release(event.message);
    buffer_fini(&data);
}

static struct daemon_core *root_open(void)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    lone_core_greet(core, CLIENT, 0);
    is_complete = broadcast_status = 0;
    ranges_clear(&missing);
    return core;
}

static struct daemon_core *root_with_job(void)
{
    struct daemon_core *core = root_open();

    is_complete = 1;
    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    lone_core_run(core, UINT32_MAX);
    buffer_clear(&calls);
    return core;
}

static void test_nodes(void)
{
    struct daemon_core *core = root_open();

    ask(core, 1, 1);
    heard("answer 1: -2\n", "there is no such job");
    lone_core_run(core, UINT32_MAX);
    ranges_add(&missing, 2, 4);
    ask(core, 2, 1);
    heard("answer 2: 0 nodes 1/4, 0/0/0\n", "a job waits for daemons that have not joined");
    ranges_remove(&missing, 2, 3);
    ranges_add(&core->instance->root->absent, 3, 4);
    ask(core, 3, 1);
    heard("answer 3: 0 nodes 2/4, 0/0/0\n", "one that could not be started is not up either");
    ask(core, 4, 0);
    heard("answer 4: -74\n", "a question that names no job");
    daemon_core_destroy(core);
}

static void test_processes(void)
{
    struct daemon_core *core = root_with_job();

    ask(core, 1, 1);
    heard("1-4: count 1 of job 1\n", "the nodes of a job that is being launched count");
    ask(core, 2, 1);
    heard("answer 2: -11\n", "once at a time");
    result(core, 9, 0, &(struct progress_count){4, 4});
    heard("", "another generation is nobody's");
    result(core, 1, 0, &(struct progress_count){3, 1});
    heard("answer 1: 0 processes 4/4, 1/3/4\n", "their sum is the answer");
    ask(core, 3, 1);
    heard("1-4: count 2 of job 1\n", "and again");
    result(core, 2, -EHOSTDOWN, &(struct progress_count){0});
    heard("answer 3: -112\n", "a node is lost: there is no answer");
    broadcast_status = -EAGAIN;
    ask(core, 4, 1);
    heard("answer 4: -11\n", "the tree is busy");
    broadcast_status = 0;
    ask(core, 5, 1);
    heard("1-4: count 3 of job 1\n", "no generation is left out");
    daemon_core_progress_forget(core, 1);
    heard("answer 5: -2\n", "the job has ended");
    result(core, 3, 0, &(struct progress_count){3, 1});
    heard("", "what comes then is dropped");
    daemon_core_destroy(core);
}

static void test_gone(void)
{
    struct daemon_core *core = root_with_job();
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = CLIENT};

    ask(core, 1, 1);
    daemon_core_step(core, &closed);
    buffer_clear(&calls);
    result(core, 1, 0, &(struct progress_count){4, 4});
    heard("", "a client that has gone gets no answer");
    daemon_core_destroy(core);
    core = root_with_job();
    ask(core, 1, 1);
    daemon_core_destroy(core);
    ok(1, "a root ends while nodes are asked");
    buffer_clear(&calls);
}

/* ---- A node ---- */

/* What the root broadcasts reaches the node. */
static struct daemon_core *listener;

static int tree_pass_on(void *context, const struct ranges *places, struct message *message)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST, .message = message};

    daemon_core_step(listener, &event);
    message_release(message);
    return 0;
}

static void order(uint32_t job, uint32_t generation)
{
    struct ranges all = {0};
    struct buffer data = {0};

    wire_put_u8(&data, JOB_MESSAGE_PROGRESS);
    wire_put_u32(&data, job);
    wire_put_u32(&data, generation);
    (void)tree_pass_on(NULL, &all, message_from_buffer(&data));
    buffer_fini(&data);
}

static void test_node(void)
{
    static const struct daemon_tree_ops root_tree = {.broadcast = tree_pass_on,
                                                     .is_complete = tree_is_complete};
    struct daemon_core *root = lone_core_at(0, &ops, &root_tree);
    struct job_event started = {.kind = JOB_EVENT_STARTED, .job = 1};
    struct daemon_event event = {.kind = DAEMON_EVENT_JOB, .job_event = &started};

    listener = lone_core_at(2, &ops, &tree_ops);
    order(1, 1);
    heard("", "a node without the job has nothing to say");
    lone_core_run(root, UINT32_MAX);
    is_complete = 1;
    daemon_core_step(root, &(struct daemon_event){.kind = DAEMON_EVENT_COMPLETE});
    order(1, 1);
    heard("count 1 of 4: 0 started, 0 connected\n", "its process is being started");
    daemon_core_step(listener, &event);
    order(1, 2);
    heard("count 2 of 4: 1 started, 1 connected\n", "it runs, and has called PMI");
    order(2, 1);
    order(1, 0);
    heard("", "orders about another job, or that cannot be read, are dropped");
    daemon_core_destroy(listener);
    daemon_core_destroy(root);
}

int main(void)
{
    lone_core_open();
    test_nodes();
    test_processes();
    test_gone();
    test_node();
    lone_core_close();
    buffer_fini(&calls);
    ranges_fini(&missing);
    return done_testing();
}
