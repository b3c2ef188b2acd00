/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements of the tree (launch/core/daemon_core_bench.c): the test plays the tree, the clock and a client, of the
 * root and of place 2, whose parent is place 1.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <string.h>

#include "launch/job/instance_state.h"
#include "launch/proto/bench.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT 2u

static struct buffer calls;
static uint64_t now_ns = 1000;
static int broadcast_status;
static struct operation_name last_key; /* of what was contributed */
static struct message *last_order;
static uint32_t last_id; /* of a request */

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* ---- The tree ---- */

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct bench_order order;
    struct wire_reader reader;
    uint32_t number;
    int rc;

    if (message->data[0] != JOB_MESSAGE_BENCH || broadcast_status < 0) {
        message_release(message);
        return broadcast_status;
    }
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    rc = bench_message_decode(&reader, &order, &number);
    ranges_print(places, &calls);
    if (rc > 0) {
        buffer_printf(&calls, ": order %u, %s, %u+%u times of %u\n", number,
                      bench_operation_name((enum bench_operation)order.what.operation),
                      order.what.warm_up, order.what.repeat, order.what.size_bytes);
        ranges_fini(&order.places);
        message_release(last_order);
        last_order = message_reference(message);
    } else {
        buffer_printf(&calls, ": data of %u\n", number);
    }
    message_release(message);
    return 0;
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    last_key = *key;
    buffer_printf(&calls, "%s %u of %llu: %zu\n",
                  key->merge == JOB_MERGE_BENCH         ? "times"
                  : key->target == ENDPOINT_TARGET_ROOT ? "gather"
                                                        : "exchange",
                  key->generation, (unsigned long long)ranges_count(places),
                  message == NULL || key->merge == JOB_MERGE_BENCH ? 0 : message->length_bytes);
    message_release(message);
}

static uint32_t tree_request(void *context, uint32_t place, struct message *message)
{
    buffer_printf(&calls, "ask %u: %zu\n", place, message->length_bytes);
    message_release(message);
    return ++last_id;
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    buffer_printf(&calls, "reply %u of %u: %zu\n", id, source, message->length_bytes);
    message_release(message);
}

static void tree_forget(void *context, uint32_t owner, const struct ranges *places)
{
    buffer_printf(&calls, "forget %u\n", owner & 0xffff);
}

static void tree_dead(void *context, struct ranges *ret_places)
{
}

static int tree_is_complete(void *context)
{
    return 1;
}

static void tree_missing(void *context, struct ranges *ret_places)
{
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .contribute = tree_contribute,
                                                .request = tree_request,
                                                .reply = tree_reply,
                                                .forget = tree_forget,
                                                .dead = tree_dead,
                                                .is_complete = tree_is_complete,
                                                .missing = tree_missing};

/* ---- The daemon ---- */

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    struct control_answer answer;
    struct bench_answer bench;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (type != CONTROL_ANSWER || control_answer_decode(&answer, &reader) < 0)
        return;
    buffer_printf(&calls, "answer %u: %d", answer.request, answer.status);
    wire_reader_init(&reader, answer.data.data, answer.data.length_bytes);
    if (answer.status == 0 && bench_answer_decode(&bench, &reader) == 0) {
        buffer_printf(&calls, " radix %u, %u places,", bench.radix, bench.places);
        for (uint32_t i = 0; i < bench.root_count; i++)
            buffer_printf(&calls, " %llu", (unsigned long long)bench.root_ns[i]);
        bench_answer_fini(&bench);
    }
    buffer_append_string(&calls, "\n");
}

static uint64_t ops_now_ns(void *context)
{
    return now_ns;
}

static void set_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    if (timer == DAEMON_TIMER_BENCH && deadline_ns != UINT64_MAX)
        buffer_append_string(&calls, "again\n");
}

static void nothing(void *context)
{
}

static void ranks_open(void *context, uint32_t job)
{
}

static void pmi_lost(void *context, const struct ranges *places)
{
}

static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_rank_ops rank_ops = {.open = ranks_open, .renew_credit = nothing};
static const struct daemon_pmi_ops pmi_ops = {.lost = pmi_lost};
static const struct daemon_ops ops = {.now_ns = ops_now_ns,
                                      .timer = set_timer,
                                      .clients = &client_ops,
                                      .ranks = &rank_ops,
                                      .pmi = &pmi_ops};

/* ---- Events ---- */

static void ask(struct daemon_core *core, uint32_t number, enum bench_operation operation,
                uint32_t bytes, uint32_t repeat)
{
    struct control_request request = {.request = number, .kind = JOB_MESSAGE_BENCH};
    struct bench_request what = {
        .operation = (uint8_t)operation, .size_bytes = bytes, .warm_up = 1, .repeat = repeat};
    struct buffer payload = {0}, data = {0};

    bench_request_encode(&what, &data);
    request.data = (struct wire_bytes){data.data, data.length_bytes};
    control_request_encode(&request, &payload);
    lone_core_say(core, CLIENT, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(&data);
}

/* The operation that was contributed to last has ended, some time later. */
static void result(struct daemon_core *core, int status, uint64_t after_ns)
{
    struct operation_name key = last_key;
    struct daemon_event event = {.kind = DAEMON_EVENT_RESULT, .key = &key, .status = status};
    struct bench_times times = {.slowest_count = 0};
    struct buffer data = {0};

    now_ns += after_ns;
    if (key.merge == JOB_MERGE_BENCH && status == 0) {
        bench_times_encode(&times, &data);
        event.message = message_from_buffer(&data);
    }
    daemon_core_step(core, &event);
    message_release(event.message);
    buffer_fini(&data);
}

static void broadcast(struct daemon_core *core, struct message *message)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST, .message = message};

    daemon_core_step(core, &event);
}

static void data_comes(struct daemon_core *core, uint32_t number)
{
    struct message *message = bench_data_message(number, 8);

    broadcast(core, message);
    message_release(message);
}

static struct daemon_core *root_open(void)
{
    struct daemon_core *core = lone_core_at(0, &ops, &tree_ops);

    lone_core_greet(core, CLIENT, 0);
    broadcast_status = 0;
    buffer_clear(&calls);
    return core;
}

static struct daemon_core *root_up(void)
{
    struct daemon_core *core = root_open();

    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_BEGIN});
    lone_core_job(core, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    buffer_clear(&calls);
    return core;
}

/* ---- The root ---- */

static void test_barrier(void)
{
    struct daemon_core *core = root_open();

    ask(core, 1, BENCH_BARRIER, 0, 2);
    heard("answer 1: -11\n", "nothing is measured before the nodes are there");
    daemon_core_destroy(core);
    core = root_up();
    ask(core, 2, BENCH_BARRIER, 0, 2);
    heard("0-4: order 1, barrier, 1+2 times of 0\n", "all are told");
    ask(core, 3, BENCH_GATHER, 8, 1);
    heard("", "another one waits");
    broadcast(core, last_order);
    heard("exchange 1 of 5: 0\n", "first they meet");
    result(core, 0, 7);
    heard("exchange 2 of 5: 0\n", "the time that does not count");
    result(core, 0, 500);
    heard("exchange 3 of 5: 0\n", "one that does");
    result(core, 0, 20);
    heard("exchange 4 of 5: 0\n", "and another");
    result(core, 0, 30);
    heard("times 5 of 5: 0\n", "their times are gathered");
    result(core, 0, 9);
    heard("answer 2: 0 radix 2, 5 places, 20 30\nforget 1\n"
          "0-4: order 2, gather, 1+1 times of 8\n",
          "the answer has the root's, and the next one begins");
    for (uint32_t i = 0; i < 17; i++)
        ask(core, 10 + i, BENCH_BARRIER, 0, 1);
    heard("answer 26: -16\n", "not too many wait");
    daemon_core_destroy(core);
    buffer_clear(&calls);
}

static void test_broadcast(void)
{
    struct daemon_core *core = root_up();

    ask(core, 1, BENCH_BROADCAST, 8, 1);
    broadcast(core, last_order);
    buffer_clear(&calls);
    broadcast_status = -EAGAIN;
    result(core, 0, 1);
    heard("again\n", "too many broadcasts are under way");
    broadcast_status = 0;
    daemon_core_step(core,
                     &(struct daemon_event){.kind = DAEMON_EVENT_TIMER, .id = DAEMON_TIMER_BENCH});
    heard("0-4: data of 1\n", "later it is sent");
    data_comes(core, 7);
    heard("", "data of another one are nobody's");
    data_comes(core, 1);
    heard("gather 2 of 5: 0\n", "the root has it, too");
    daemon_core_destroy(core);
    buffer_clear(&calls);
}

static void test_end(void)
{
    struct daemon_event closed = {.kind = DAEMON_EVENT_CLIENT_CLOSED, .place = CLIENT};
    struct daemon_core *core = root_up();

    ask(core, 1, BENCH_EXCHANGE, 64, 3);
    broadcast(core, last_order);
    buffer_clear(&calls);
    result(core, -EHOSTDOWN, 1);
    heard("0-4: order 1, exchange, 1+0 times of 64\nanswer 1: -112\nforget 1\n",
          "a node is lost: all hear that it is over");
    result(core, 0, 1);
    heard("", "what comes then is nobody's");
    ask(core, 2, BENCH_EXCHANGE, BENCH_SIZE_MAX, 3);
    ask(core, 3, BENCH_EXCHANGE, 8, 3);
    buffer_clear(&calls);
    daemon_core_step(core, &closed);
    heard("0-4: order 2, exchange, 1+0 times of 67108864\nforget 2\n", "its client has gone");
    daemon_core_destroy(core);
    core = root_up();
    ask(core, 3, BENCH_GATHER, BENCH_SIZE_MAX, 3);
    heard("answer 3: -90\n", "more than the root can get");
    broadcast_status = -EAGAIN;
    ask(core, 4, BENCH_GATHER, 8, 3);
    heard("answer 4: -11\n", "the tree is busy");
    daemon_core_destroy(core);
}

/* ---- A node ---- */

static void order(struct daemon_core *core, uint32_t number, enum bench_operation operation,
                  uint32_t repeat)
{
    struct bench_order order = {
        .number = number,
        .what = {.operation = (uint8_t)operation, .size_bytes = 8, .repeat = repeat}};
    struct message *message;

    ranges_add(&order.places, 0, 4);
    message = bench_order_message(&order);
    broadcast(core, message);
    message_release(message);
    ranges_fini(&order.places);
}

static void reply(struct daemon_core *core, uint32_t id, int status)
{
    daemon_core_step(
        core, &(struct daemon_event){.kind = DAEMON_EVENT_REPLY, .id = id, .status = status});
}

static void test_links(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &tree_ops);
    struct message *message = bench_data_message(1, 8);
    struct daemon_event asked = {
        .kind = DAEMON_EVENT_REQUEST, .place = 3, .id = 77, .message = message};

    order(core, 1, BENCH_LINKS, 2);
    heard("exchange 1 of 5: 0\n", "a node meets the others");
    result(core, 0, 1);
    heard("ask 1: 14\n", "and asks its parent");
    reply(core, 12345, 0);
    heard("", "another answer is not awaited");
    reply(core, last_id, 0);
    heard("ask 1: 14\n", "and asks again");
    reply(core, last_id, 0);
    heard("times 2 of 5: 0\n", "its times go up");
    daemon_core_step(core, &asked);
    heard("reply 77 of 3: 14\n", "who asks it, gets it back");
    message_release(message);
    daemon_core_destroy(core);
}

static void test_early(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &tree_ops);

    order(core, 3, BENCH_BROADCAST, 2);
    data_comes(core, 3);
    heard("exchange 1 of 5: 0\n", "data overtake the end of the meeting");
    result(core, 0, 1);
    heard("gather 2 of 5: 0\n", "they are acknowledged then");
    data_comes(core, 3);
    heard("", "likewise those of the next round");
    result(core, 0, 1);
    heard("gather 3 of 5: 0\n", "in their turn");
    result(core, 0, 1);
    heard("times 4 of 5: 0\n", "twice");
    data_comes(core, 3);
    heard("", "a place that has contributed its times is done");
    daemon_core_destroy(core);
}

static void test_cancelled(void)
{
    struct daemon_core *core = lone_core_at(2, &ops, &tree_ops);
    struct ranges lost = {0};

    order(core, 1, BENCH_GATHER, 5);
    order(core, 1, BENCH_GATHER, 0);
    buffer_clear(&calls);
    result(core, 0, 1);
    heard("", "it is cancelled");
    order(core, 2, BENCH_GATHER, 5);
    order(core, 3, BENCH_EXCHANGE, 5);
    heard("exchange 1 of 5: 0\nexchange 1 of 5: 0\n", "another one takes its place");
    ranges_add(&lost, 4, 4);
    daemon_core_step(core, &(struct daemon_event){.kind = DAEMON_EVENT_LOST, .places = &lost});
    buffer_clear(&calls);
    result(core, 0, 1);
    heard("", "a member is lost");
    order(core, 4, BENCH_EXCHANGE, 5);
    daemon_core_destroy(core);
    ok(1, "a daemon ends meanwhile");
    ranges_fini(&lost);
    buffer_clear(&calls);
}

int main(void)
{
    lone_core_open();
    test_barrier();
    test_broadcast();
    test_end();
    test_links();
    test_early();
    test_cancelled();
    lone_core_close();
    message_release(last_order);
    buffer_fini(&calls);
    return done_testing();
}
