/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a job stand (launch/core/daemon_core_stacks.c): the test plays the tree, the daemon, the clock and a
 * client.  Job 1 has a rank on each of the four nodes.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/stack_fold.h"
#include "test/support/lone_calls.h"
#include "test/support/tap.h"

#define CLIENT 2u

static void print(const void *data, size_t bytes)
{
    struct stack_fold fold;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (stack_fold_decode(&fold, &reader) < 0)
        return;
    for (uint32_t i = 0; i < fold.count; i++) {
        buffer_printf(&lone_calls.text, " %s%s:", fold.groups[i].is_failure ? "!" : "",
                      fold.groups[i].text);
        ranges_print(&fold.groups[i].ranks, &lone_calls.text);
        buffer_append_string(&lone_calls.text, "@");
        ranges_print(&fold.groups[i].places, &lone_calls.text);
    }
    buffer_append_string(&lone_calls.text, " silent:");
    ranges_print(&fold.silent, &lone_calls.text);
    stack_fold_fini(&fold);
}

static void print_request(uint32_t place, const struct message *message)
{
    struct stack_fold_request request;
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    if (wire_get_u8(&reader) == JOB_MESSAGE_STACKS &&
        stack_fold_request_decode(&request, &reader) == 0) {
        lone_calls_print_request(place, &request.places, request.patience_ms);
        ranges_fini(&request.places);
    }
}

/* ---- The daemon ---- */

static void ranks_open(void *context, uint32_t job)
{
}

static void ranks_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
}

static uint8_t rank_state = 'S';

static void ranks_activity(void *context, uint32_t job, uint32_t index,
                           struct activity_rank *ret_rank)
{
    ret_rank->state = rank_state;
}

static uint32_t last_look;

static void ranks_stacks(void *context, uint32_t job, const struct ranges *indices, uint32_t id,
                         uint32_t limit_ms)
{
    buffer_printf(&lone_calls.text, "stacks of job %u: ", job);
    ranges_print(indices, &lone_calls.text);
    buffer_printf(&lone_calls.text, " within %u ms\n", limit_ms);
    last_look = id;
}

static const struct daemon_rank_ops rank_ops = {.open = ranks_open,
                                                .start = ranks_start,
                                                .activity = ranks_activity,
                                                .stacks = ranks_stacks};
static const struct daemon_client_ops client_ops = {.send = lone_calls_client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_ops ops = {.now_ns = lone_calls_now_ns,
                                      .timer = lone_calls_timer,
                                      .clients = &client_ops,
                                      .ranks = &rank_ops};

/* ---- The client ---- */

static void ask(struct daemon_core *core, uint32_t number, uint32_t job)
{
    const struct stack_fold_request about = {.job = job};
    struct buffer data = {0};

    stack_fold_request_encode(&about, &data);
    lone_core_ask(core, CLIENT, number, JOB_MESSAGE_STACKS, &data);
}

static void reply(struct daemon_core *core, uint32_t id, int status, const char *text,
                  uint32_t place)
{
    struct stack_fold fold = {0};
    struct buffer data = {0};

    stack_fold_add(&fold, text, false, place - 1, place);
    stack_fold_encode(&fold, &data);
    lone_core_reply(core, id, status, &data);
    stack_fold_fini(&fold);
}

static void test_root(void)
{
    struct daemon_core *core = lone_calls_root(&ops, CLIENT, true);
    struct daemon_event late = {.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_STACKS};

    ask(core, 1, 7);
    lone_calls_heard("answer 1: -2\n", "there is no such job");
    ask(core, 2, 1);
    lone_calls_heard("1 is asked about 1-2 within 21875 ms\n3 is asked about 3-4 within 21875 ms\n",
                     "the root asks as many as the radix is, about the others, too");
    is_uint(lone_calls.due_ns, lone_calls.now_ns + 25000 * NS_PER_MS, "and get some time");
    ask(core, 3, 1);
    lone_calls_heard("answer 3: -11\n", "a client asks one question at a time");
    reply(core, 1, 0, "main", 1);
    lone_calls_heard("", "the root waits for all of them");
    reply(core, 2, -EHOSTDOWN, "", 3);
    lone_calls_heard("4 is asked about 4 within 21875 ms\n",
                     "for a node that is lost the next one answers");
    reply(core, 3, 0, "main", 4);
    lone_calls_heard("answer 2: 0 main:0,3@1,4 silent:\n",
                     "equal stacks are one; a lost node has none");
    is_uint(lone_calls.due_ns, UINT64_MAX, "nothing is left to wait for");
    ask(core, 4, 1);
    buffer_clear(&lone_calls.text);
    reply(core, 4, -EAGAIN, "", 2);
    daemon_core_step(core, &late);
    lone_calls_heard("", "as long as there is time");
    lone_calls_wait(core, DAEMON_TIMER_STACKS);
    lone_calls_heard("answer 4: 0 silent:1-4\n", "it names those that refuse or are silent");
    reply(core, 5, 0, "main", 3);
    lone_calls_heard("", "an answer that comes later is dropped");
    daemon_core_destroy(core);
}

static void ask_first(struct daemon_core *core)
{
    ask(core, 1, 1);
}

static void node_is_asked(struct daemon_core *core, uint32_t first, uint32_t last, size_t less)
{
    struct stack_fold_request request = {.job = 1, .patience_ms = 8000};
    struct daemon_event event = {.kind = DAEMON_EVENT_REQUEST, .id = 5};
    struct buffer data = {0};

    ranges_add(&request.places, first, last);
    stack_fold_request_encode(&request, &data);
    event.message = job_request_message(JOB_MESSAGE_STACKS, data.data, data.length_bytes - less);
    daemon_core_step(core, &event);
    message_release(event.message);
    ranges_fini(&request.places);
    buffer_fini(&data);
}

static void test_node(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &lone_calls_tree);

    node_is_asked(core, 2, 2, 0);
    lone_calls_heard("reply 0 silent:\n", "a node without ranks of the job has nothing to say");
    node_is_asked(core, 2, 2, 1);
    lone_calls_heard("reply -74\n", "a request that cannot be read is refused");
    node_is_asked(core, 1, 3, 0);
    lone_calls_heard("reply -74\n", "so is one for another node");
    node_is_asked(core, 2, 900, 0);
    lone_calls_heard("reply -74\n", "and one for nodes that do not exist");
    lone_calls.last_id = 10;
    node_is_asked(core, 2, 3, 0);
    lone_calls_heard("3 is asked about 3 within 7000 ms\n",
                     "other nodes are asked, in a shorter time");
    reply(core, 11, 0, "main", 3);
    lone_calls_heard("reply 0 main:2@3 silent:\n", "and their answer is passed on");
    daemon_core_destroy(core);
}

/* What the root broadcasts reaches the node. */
static struct daemon_core *listener;

static int tree_pass_on(void *context, const struct ranges *places, struct message *message)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST, .message = message};

    daemon_core_step(listener, &event);
    message_release(message);
    return 0;
}

static int tree_is_complete(void *context)
{
    return 1;
}

static void taken(uint32_t look, const char *text)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_STACKS, .id = look, .text = "it has exited"};
    struct buffer data = {0};

    if (text != NULL)
        stack_fold_put_local(&data, 0, false, text);
    stack_fold_put_local(&data, 77, false, "of nobody");
    event.data = data.data;
    event.data_bytes = data.length_bytes;
    daemon_core_step(listener, &event);
    buffer_fini(&data);
}

/* Place 2 has rank 1. */
static void test_ranks(void)
{
    static const struct daemon_tree_ops root_tree = {.broadcast = tree_pass_on,
                                                     .is_complete = tree_is_complete};
    struct daemon_core *root = lone_core_at(0, &ops, &root_tree);
    struct daemon_event late = {.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_STACKS};

    listener = lone_core_at(2, &ops, &lone_calls_tree);
    lone_core_run(root, UINT32_MAX);
    daemon_core_step(root, &(struct daemon_event){.kind = DAEMON_EVENT_COMPLETE});
    buffer_clear(&lone_calls.text);
    node_is_asked(listener, 2, 2, 0);
    lone_calls_heard("stacks of job 1: 0 within 6000 ms\n",
                     "a node has the stacks of its ranks taken");
    taken(last_look + 1, "main");
    lone_calls_heard("", "what another look has found is nobody's");
    taken(last_look, "main > poll");
    lone_calls_heard("reply 0 main > poll:1@2 silent:\n", "and answers");
    taken(last_look, "main > poll");
    lone_calls_heard("", "once");
    node_is_asked(listener, 2, 2, 0);
    buffer_clear(&lone_calls.text);
    taken(last_look, NULL);
    lone_calls_heard("reply 0 !it has exited:1@2 silent:\n", "or says why there is none");
    node_is_asked(listener, 2, 2, 0);
    buffer_clear(&lone_calls.text);
    lone_calls.now_ns = lone_calls.due_ns;
    daemon_core_step(listener, &late);
    lone_calls_heard("reply 0 silent:2\n", "its time is over before that");
    rank_state = 0;
    node_is_asked(listener, 2, 2, 0);
    lone_calls_heard("reply 0 silent:\n", "a rank that has ended has none");
    daemon_core_destroy(listener);
    daemon_core_destroy(root);
}

int main(void)
{
    lone_calls.timer = DAEMON_TIMER_STACKS;
    lone_calls.print_answer = print;
    lone_calls.print_request = print_request;
    lone_core_open();
    test_root();
    lone_calls_test_gone(&ops, CLIENT, true, DAEMON_TIMER_STACKS, ask_first);
    test_node();
    test_ranks();
    lone_core_close();
    buffer_fini(&lone_calls.text);
    return done_testing();
}
