/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input for all processes of a job (launch/core/daemon_core_input.c) at the root and at a node: the test plays the
 * tree, the client and the processes.  The job has a rank on each of the four nodes; what the root broadcasts, the
 * core of place 3 gets.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>

#include "launch/proto/input_piece.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

static struct buffer calls;
static struct daemon_core *root, *node;
static int refusal; /* of the next broadcasts */

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- the tree ---- */

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST, .message = message};

    if (refusal == 0 && message->data[0] == JOB_MESSAGE_STDIN_ALL)
        buffer_printf(&calls, "to %u places\n", (unsigned)ranges_count(places));
    if (refusal == 0 && ranges_contains(places, 3))
        daemon_core_step(node, &event);
    message_release(message);
    return refusal;
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    if (key->kind == JOB_OPERATION_INPUT)
        buffer_printf(&calls, "piece %u of job %u is taken among %u\n", key->generation, key->owner,
                      (unsigned)ranges_count(places));
    message_release(message);
}

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    message_release(message);
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    buffer_printf(&calls, "answer to %u: %d\n", source, (int32_t)wire_get_u32(&reader));
    message_release(message);
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .contribute = tree_contribute,
                                                .send = tree_send,
                                                .reply = tree_reply};

/* ---- the node, the clock ---- */

static void rank_open(void *context, uint32_t job)
{
}

static void rank_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
}

static void rank_close(void *context, uint32_t job)
{
    buffer_printf(&calls, "close\n");
}

static void rank_cut_output(void *context, uint32_t job, uint32_t within_ms, bool discard)
{
}

static void rank_input(void *context, uint32_t job, const void *data, size_t bytes)
{
    buffer_printf(&calls, "%zu bytes\n", bytes);
}

static void ops_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    if (timer == DAEMON_TIMER_INPUT)
        buffer_printf(&calls, "later\n");
}

static const struct daemon_rank_ops rank_ops = {.open = rank_open,
                                                .close = rank_close,
                                                .start = rank_start,
                                                .cut_output = rank_cut_output,
                                                .input = rank_input};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .timer = ops_timer,
                                      .ranks = &rank_ops};

/* ---- */

/* An event of the root's job logic; its broadcasts go to the node. */
static void run_root(struct job_event event)
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

static void run_job(void)
{
    struct placement_rule rule = {.processes = LONE_CORE_NODES, .per = 1};
    struct job_spec job;

    job_spec_init(&job);
    job.stdin_rank = JOB_STDIN_ALL;
    placement_add(&job.placement, &rule);
    job.apps = memory_allocate_zeroed(sizeof(*job.apps));
    job.apps_count = 1;
    job.apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    job.apps[0].argv[0] = memory_copy_string("./app");
    job.apps[0].set = memory_allocate_zeroed(sizeof(char *));
    job.apps[0].directory = memory_copy_string("/");
    run_root((struct job_event){.kind = JOB_EVENT_RUN, .spec = &job});
    job_spec_fini(&job);
}

static void setup(void)
{
    root = lone_core_at(0, &ops, &tree_ops);
    node = lone_core_at(3, &ops, &tree_ops);
    refusal = 0;
    run_root((struct job_event){.kind = JOB_EVENT_COMPLETE});
    run_job();
    buffer_clear(&calls);
}

static void teardown(void)
{
    daemon_core_destroy(root);
    daemon_core_destroy(node);
}

static void client_sends(size_t bytes)
{
    static const char data[200000];

    daemon_core_push_client(root, 1, data, bytes);
}

/* Another process of the instance: its request is answered when the bytes have been taken. */
static void process_sends(uint32_t place, size_t bytes)
{
    static const char data[200000];
    struct job_push push = {.number = 1, .rank = JOB_RANK_ALL, .data = data, .data_bytes = bytes};
    struct buffer payload = {0};
    struct daemon_event event = {.kind = DAEMON_EVENT_REQUEST, .place = place, .id = 1};

    job_push_encode(&push, &payload);
    event.message = job_request_message(JOB_MESSAGE_PUSH, payload.data, payload.length_bytes);
    daemon_core_step(root, &event);
    message_release(event.message);
    buffer_fini(&payload);
}

static void ranks_take(int64_t bytes)
{
    daemon_core_step(
        node, &(struct daemon_event){.kind = DAEMON_EVENT_INPUT_TAKEN, .job = 1, .number = bytes});
}

static void result(uint32_t generation, int status, const struct ranges *lost)
{
    struct operation_name key = {.kind = JOB_OPERATION_INPUT, .owner = 1, .generation = generation};
    struct daemon_event event = {
        .kind = DAEMON_EVENT_RESULT, .key = &key, .status = status, .places = lost};

    daemon_core_step(root, &event);
}

static void test_good(void)
{
    setup();
    client_sends(5);
    heard("to 4 places\n5 bytes\n", "input goes to all nodes, and there to the processes");
    ranks_take(4);
    heard("", "they have taken a part of it");
    ranks_take(1);
    heard("piece 1 of job 1 is taken among 4\n", "and all of it, which is reported");
    process_sends(2, 7);
    ranks_take(7);
    heard("to 4 places\n7 bytes\npiece 2 of job 1 is taken among 4\n",
          "another sender's follows it");
    result(1, 0, NULL);
    heard("", "all nodes have the first piece");
    result(2, 0, NULL);
    heard("answer to 2: 0\n", "and the second, so its sender is told");
    client_sends(0);
    heard("to 4 places\n0 bytes\n", "the end");
    process_sends(4, 7);
    heard("answer to 4: -32\n", "nothing after it");
    teardown();
}

static void test_window(void)
{
    setup();
    for (int i = 0; i < 4; i++)
        client_sends(1);
    heard(
        "to 4 places\n1 bytes\nto 4 places\n1 bytes\nto 4 places\n1 bytes\nto 4 places\n1 bytes\n",
        "four pieces are sent at once");
    for (int i = 0; i < 100; i++)
        client_sends(1);
    client_sends(0);
    heard("", "others wait");
    ranks_take(4);
    buffer_clear(&calls);
    result(1, 0, NULL);
    heard("to 4 places\n100 bytes\n0 bytes\n", "and become one, with the end");
    teardown();

    setup();
    client_sends(150000);
    heard("to 4 places\n65536 bytes\nto 4 places\n65536 bytes\nto 4 places\n18928 bytes\n",
          "a long one is cut");
    teardown();
}

/* A node is lost: the others are asked again how far they are. */
static void test_loss(void)
{
    struct ranges lost = {0};

    setup();
    ranges_add(&lost, 1, 1);
    process_sends(2, 5);
    buffer_clear(&calls);
    result(1, -EHOSTDOWN, &lost);
    heard("to 3 places\n", "the others are asked");
    ranks_take(5);
    heard("piece 1 of job 1 is taken among 4\npiece 2 of job 1 is taken among 3\n",
          "and report when their processes have taken it");
    result(1, -EHOSTDOWN, &lost);
    heard("", "the first report comes to nothing");
    result(2, 0, NULL);
    heard("answer to 2: 0\n", "the second counts");
    daemon_core_push_lost(root);
    client_sends(6);
    heard("to 3 places\n6 bytes\n", "input goes on without the lost node");
    ranges_add(&lost, 1, 4);
    process_sends(4, 8);
    buffer_clear(&calls);
    daemon_core_input_lost(root, &lost);
    heard("answer to 4: 0\n", "no node is left: everything is dropped");
    client_sends(9);
    heard("", "and nothing is sent");
    ranges_fini(&lost);
    teardown();
}

/* Reports of later pieces are of the ones before, too: so no older one may be asked about after a newer one. */
static void test_order(void)
{
    struct ranges lost = {0};

    setup();
    ranges_add(&lost, 1, 1);
    client_sends(5);
    client_sends(6);
    buffer_clear(&calls);
    daemon_core_input_lost(root, &lost);
    heard("to 3 places\nto 3 places\n", "what is under way is asked about again at once");
    client_sends(7);
    heard("to 3 places\n7 bytes\n", "before what comes then");
    result(1, -EHOSTDOWN, &lost);
    result(2, -EHOSTDOWN, &lost);
    heard("", "the old reports come to nothing");
    ranks_take(18);
    buffer_clear(&calls);
    result(3, 0, NULL);
    result(4, 0, NULL);
    result(5, 0, NULL);
    daemon_core_input_lost(root, &lost);
    heard("", "and once all have it nothing is asked");
    ranges_fini(&lost);
    teardown();
}

static void test_again(void)
{
    struct ranges lost = {0};

    setup();
    ranges_add(&lost, 1, 1);
    refusal = -EAGAIN;
    client_sends(5);
    client_sends(0);
    heard("later\nlater\n", "too many broadcasts are outstanding");
    refusal = 0;
    daemon_core_step(root,
                     &(struct daemon_event){.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_INPUT});
    heard("to 4 places\n5 bytes\n0 bytes\n", "later it is sent");
    refusal = -EAGAIN;
    result(3, -EHOSTDOWN, &lost); /* two numbers were not used */
    heard("later\n", "nor can the others be asked again");
    refusal = 0;
    daemon_core_step(root,
                     &(struct daemon_event){.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_INPUT});
    heard("to 3 places\n", "but later");
    ranges_fini(&lost);
    teardown();
}

static void test_ends(void)
{
    struct ranges places = {0};
    struct input_piece piece = {.job = 1,
                                .offset = 3,
                                .generation = 7,
                                .data = {.data = (const unsigned char *)"ab", .length_bytes = 2}};
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST};

    setup();
    ranges_add(&places, 1, 4);
    piece.places = places;
    event.message = input_piece_message(&piece);
    daemon_core_step(node, &event);
    heard("", "a piece that is not the next is not taken");
    message_release(event.message);
    client_sends(5);
    buffer_clear(&calls);
    daemon_core_input_part_closed(node, 1);
    heard("piece 1 of job 1 is taken among 4\n", "when a part ends, its processes need no more");
    piece.job = 9;
    event.message = input_piece_message(&piece);
    daemon_core_step(node, &event);
    heard("piece 7 of job 9 is taken among 4\n", "nor where none runs");
    event.message->length_bytes = 9;
    daemon_core_step(node, &event);
    heard("", "what is cut short is ignored");
    message_release(event.message);
    daemon_core_push_ended(root, 1);
    result(1, 0, NULL);
    client_sends(5);
    heard("to 4 places\n5 bytes\n", "a job that is forgotten has no memory of it");
    ranges_fini(&places);
    teardown();
}

int main(void)
{
    lone_core_open();
    test_good();
    test_window();
    test_loss();
    test_order();
    test_again();
    test_ends();
    lone_core_close();
    buffer_fini(&calls);
    return done_testing();
}
