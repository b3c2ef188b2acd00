/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges by a plan (launch/core/daemon_core_plan.c): five daemons and a client of the root; the test plays the tree
 * between them, and delivers what they send in any order, but that of two places in their order.
 */
#include "config.h"

#include "launch/core/daemon_core_internal.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "launch/job/instance_state.h"
#include "launch/proto/bench.h"
#include "launch/proto/control.h"
#include "launch/proto/exchange_plan.h"
#include "launch/proto/job_wire.h"
#include "test/support/lone_core.h"
#include "test/support/tap.h"

#define CLIENT      2u
#define CORES       (LONE_CORE_NODES + 1u)
#define TREE        CORES /* as the sender of results and broadcasts */
#define FLIGHTS_MAX 4096u
#define BYTES       3u

struct flight {
    enum daemon_event_kind kind;
    uint32_t from;
    uint32_t to;
    struct operation_name key;
    struct message *message;
};

static struct daemon_core *cores[CORES];
static struct daemon_core *root;
static uint32_t current; /* the core that is in a step */
static struct flight flights[FLIGHTS_MAX];
static uint32_t flights_count;
static struct buffer calls, merged;
static uint32_t sent, orders, met, timed, members;
static uint32_t spoiled; /* of what is sent: this one gets another content; 0: none */
static struct random_state chance;

/* ---- The tree ---- */

static void take_off(enum daemon_event_kind kind, uint32_t from, uint32_t to,
                     const struct operation_name *key, struct message *message)
{
    struct flight flight = {.kind = kind, .from = from, .to = to, .message = message};

    if (key != NULL)
        flight.key = *key;
    if (flights_count == FLIGHTS_MAX)
        bail_out("too much is under way");
    flights[flights_count++] = flight;
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    uint32_t place = 0;

    orders++;
    members = (uint32_t)ranges_count(places);
    for (; ranges_next(places, place, &place); place++)
        take_off(DAEMON_EVENT_BROADCAST, TREE, place, NULL, message_reference(message));
    message_release(message);
    return 0;
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    if (key->merge == JOB_MERGE_BENCH) {
        bench_merge(&merged, message->data, message->length_bytes);
        message_release(message);
        if (++timed == members)
            take_off(DAEMON_EVENT_RESULT, TREE, 0, key, message_from_buffer(&merged));
        return;
    }
    message_release(message);
    if (++met < members)
        return;
    met = 0;
    for (uint32_t place = 0; place < members; place++)
        take_off(DAEMON_EVENT_RESULT, TREE, place, key, NULL);
}

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    if (++sent == spoiled)
        message->data[message->length_bytes - 1] ^= 1;
    take_off(DAEMON_EVENT_RECEIVED, current, place, NULL, message);
}

static void tree_forget(void *context, uint32_t owner, const struct ranges *places)
{
}

static void tree_dead(void *context, struct ranges *ret_places)
{
}

static int tree_is_complete(void *context)
{
    return 1;
}

static const struct daemon_tree_ops tree_ops = {.broadcast = tree_broadcast,
                                                .contribute = tree_contribute,
                                                .send = tree_send,
                                                .forget = tree_forget,
                                                .dead = tree_dead,
                                                .is_complete = tree_is_complete,
                                                .missing = tree_dead};

static void step(uint32_t place, const struct daemon_event *event)
{
    current = place;
    daemon_core_step(cores[place], event);
}

/* One that may arrive next: none of the same two places is before it. */
static uint32_t choose(void)
{
    uint32_t chosen = (uint32_t)random_below(&chance, flights_count);

    for (uint32_t i = 0; i < chosen; i++)
        if (flights[i].from == flights[chosen].from && flights[i].to == flights[chosen].to)
            return i;
    return chosen;
}

static void deliver(void)
{
    uint32_t at = choose();
    struct flight flight = flights[at];
    struct daemon_event event = {
        .kind = flight.kind, .place = flight.from, .key = &flight.key, .message = flight.message};

    flights_count--;
    memmove(&flights[at], &flights[at + 1], (flights_count - at) * sizeof(flights[0]));
    step(flight.to, &event);
    message_release(flight.message);
}

static void deliver_all(void)
{
    while (flights_count > 0)
        deliver();
}

/* ---- The daemons ---- */

static void client_send(void *context, uint32_t client, uint8_t type, const void *data,
                        size_t bytes)
{
    struct control_answer answer;
    struct bench_answer bench;
    struct wire_reader reader;
    uint64_t times = 0;

    wire_reader_init(&reader, data, bytes);
    if (type != CONTROL_ANSWER || control_answer_decode(&answer, &reader) < 0)
        return;
    buffer_printf(&calls, "%d", answer.status);
    wire_reader_init(&reader, answer.data.data, answer.data.length_bytes);
    if (answer.status == 0 && bench_answer_decode(&bench, &reader) == 0) {
        for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++)
            times += bench.times.levels[i] != NULL ? bench.times.levels[i]->times : 0;
        buffer_printf(&calls, ", %u places, %u times, %llu of all", bench.places, bench.root_count,
                      (unsigned long long)times);
        bench_answer_fini(&bench);
    }
}

static void set_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
}

static void nothing(void *context)
{
}

static void ranks_open(void *context, uint32_t job)
{
}

static void about_places(void *context, const struct ranges *places)
{
}

static const struct daemon_client_ops client_ops = {.send = client_send,
                                                    .queued = lone_core_client_queued};
static const struct daemon_rank_ops rank_ops = {.open = ranks_open, .renew_credit = nothing};
static const struct daemon_pmi_ops pmi_ops = {.lost = about_places};
static const struct daemon_ops ops = {.now_ns = lone_core_now_ns,
                                      .timer = set_timer,
                                      .lost = about_places,
                                      .clients = &client_ops,
                                      .ranks = &rank_ops,
                                      .pmi = &pmi_ops};

static void instance_open(uint64_t seed)
{
    random_init(&chance, seed);
    for (uint32_t place = 0; place < CORES; place++)
        cores[place] = lone_core_at(place, &ops, &tree_ops);
    root = cores[0];
    lone_core_greet(root, CLIENT, 0);
    lone_core_job(root, (struct job_event){.kind = JOB_EVENT_BEGIN});
    lone_core_job(root, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    buffer_clear(&calls);
    buffer_clear(&merged);
    sent = orders = met = timed = spoiled = 0;
}

static void instance_close(void)
{
    for (uint32_t i = 0; i < flights_count; i++)
        message_release(flights[i].message);
    flights_count = 0;
    for (uint32_t place = 0; place < CORES; place++)
        daemon_core_destroy(cores[place]);
}

static uint32_t measuring(void)
{
    uint32_t count = 0;

    for (uint32_t place = 0; place < CORES; place++)
        count += cores[place]->bench != NULL;
    return count;
}

/* ---- Plans ---- */

/* A ring, in which `deaf` forgets to receive in its last step. */
static void ring(uint32_t places, uint32_t deaf, struct buffer *out)
{
    struct exchange_plan_part parts[CORES] = {{.count = 0}};

    for (uint32_t place = 0; place < places; place++) {
        uint32_t before = (place + places - 1) % places;

        parts[place].steps = places - 1;
        for (uint32_t at = 0; at < places - 1; at++) {
            struct exchange_plan_move send = {.step = at,
                                              .peer = (place + 1) % places,
                                              .first = (place + places - at) % places,
                                              .blocks = 1,
                                              .is_send = true};
            struct exchange_plan_move receive = {
                .step = at, .peer = before, .first = (before + places - at) % places, .blocks = 1};

            exchange_plan_part_add(&parts[place], &send);
            if (place != deaf || at + 1 < places - 1)
                exchange_plan_part_add(&parts[place], &receive);
        }
    }
    exchange_plan_encode(parts, places, out);
    for (uint32_t place = 0; place < places; place++)
        exchange_plan_part_fini(&parts[place]);
}

/* All send to all at once: much is early. */
static void direct(uint32_t places, struct buffer *out)
{
    struct exchange_plan_part parts[CORES] = {{.count = 0}};

    for (uint32_t place = 0; place < places; place++) {
        parts[place].steps = 1;
        for (uint32_t peer = 0; peer < places; peer++) {
            struct exchange_plan_move send = {
                .peer = peer, .first = place, .blocks = 1, .is_send = true};
            struct exchange_plan_move receive = {.peer = peer, .first = peer, .blocks = 1};

            if (peer == place)
                continue;
            exchange_plan_part_add(&parts[place], &send);
            exchange_plan_part_add(&parts[place], &receive);
        }
    }
    exchange_plan_encode(parts, places, out);
    for (uint32_t place = 0; place < places; place++)
        exchange_plan_part_fini(&parts[place]);
}

/* Takes what is encoded. */
static void ask(struct buffer *encoded, uint32_t nodes)
{
    struct control_request request = {.request = 1, .kind = JOB_MESSAGE_BENCH};
    struct bench_request what = {.operation = BENCH_PLAN,
                                 .size_bytes = BYTES,
                                 .warm_up = 1,
                                 .repeat = 3,
                                 .nodes = nodes,
                                 .plan = {encoded->data, encoded->length_bytes}};
    struct buffer payload = {0}, data = {0};

    bench_request_encode(&what, &data);
    request.data = (struct wire_bytes){data.data, data.length_bytes};
    control_request_encode(&request, &payload);
    current = 0;
    lone_core_say(root, CLIENT, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(&data);
    buffer_fini(encoded);
}

/* ---- Tests ---- */

static void test_exchange(uint64_t seed)
{
    struct buffer encoded = {0};

    instance_open(seed);
    ring(CORES, UINT32_MAX, &encoded);
    ask(&encoded, 0);
    deliver_all();
    is_string(buffer_string(&calls), "0, 5 places, 3 times, 15 of all", "a ring, seed %u",
              (unsigned)seed);
    is_uint(sent, 4 * 5 * 4, "each repetition has the messages of its plan");
    is_uint(measuring(), 0, "nothing is kept");
    buffer_clear(&calls);
    met = timed = sent = 0;
    buffer_clear(&merged);
    direct(CORES, &encoded);
    ask(&encoded, 0);
    deliver_all();
    is_string(buffer_string(&calls), "0, 5 places, 3 times, 15 of all", "all at once");
    is_uint(sent, 4 * 5 * 4, "as many messages");
    instance_close();
}

static void test_refused(void)
{
    struct buffer encoded = {0};

    instance_open(1);
    ring(CORES, 2, &encoded);
    ask(&encoded, 0);
    ring(CORES - 1, UINT32_MAX, &encoded);
    ask(&encoded, 0);
    ask(&encoded, 0);
    is_string(buffer_string(&calls), "-74-116-74", "a wrong one, one for others, and none");
    is_uint(orders + sent + flights_count, 0, "nothing is sent");
    instance_close();
}

static void test_spoiled(void)
{
    struct buffer encoded = {0};

    for (uint32_t number = 1; number <= 20; number += 6) {
        instance_open(number);
        spoiled = number;
        ring(CORES, UINT32_MAX, &encoded);
        ask(&encoded, 0);
        deliver_all();
        is_string(buffer_string(&calls), "-84", "message %u of the first repetition is spoiled",
                  number);
        is_uint(measuring(), 0, "all hear that it is over");
        instance_close();
    }
}

static void test_lost(void)
{
    struct ranges lost = {0};
    struct daemon_event event = {.kind = DAEMON_EVENT_LOST, .places = &lost};
    struct buffer encoded = {0};

    instance_open(3);
    ranges_add(&lost, 4, 4);
    ring(CORES - 1, UINT32_MAX, &encoded);
    ask(&encoded, 3);
    is_uint(members, 4, "the root and the first nodes");
    while (sent < 9) /* some of the way */
        deliver();
    for (uint32_t place = 0; place < 4; place++)
        step(place, &event);
    is_string(buffer_string(&calls), "-112",
              "a node is lost that takes no part, but that messages may pass");
    deliver_all();
    is_uint(measuring(), 0, "what comes then is nobody's");
    ranges_fini(&lost);
    instance_close();
}

static void test_early(void)
{
    struct bench_order order = {.number = 9, .what = {.operation = BENCH_PLAN, .size_bytes = 1}};
    struct bench_move move = {.number = 9, .round = 1, .first = 3, .blocks = 1};
    struct buffer encoded = {0};
    struct plan_run *run;
    uint32_t kept = 0;

    instance_open(4);
    ranges_add(&order.places, 0, CORES - 1);
    is_int(daemon_core_plan_create(&order, 2) == NULL, 1, "an order without a plan");
    direct(CORES, &encoded);
    order.what.plan = (struct wire_bytes){encoded.data, encoded.length_bytes};
    run = daemon_core_plan_create(&order, 2);
    move.data = (struct wire_bytes){(const unsigned char *)"x", 1};
    current = 2;
    while (kept < 100 && daemon_core_plan_came(cores[2], run, 3, &move) == 0)
        kept++;
    is_uint(kept, 8, "what is early is bounded");
    is_int(daemon_core_plan_came(cores[2], run, 77, &move), -EILSEQ, "another place");
    is_int(daemon_core_plan_begin(cores[2], run, 0), 0, "it begins");
    is_uint(sent, 4, "and sends");
    move.round = 0;
    is_int(daemon_core_plan_came(cores[2], run, 1, &move), -EILSEQ, "blocks that are not planned");
    move.data.length_bytes = 0;
    is_int(daemon_core_plan_came(cores[2], run, 3, &move), -EILSEQ, "blocks of another size");
    move.data.length_bytes = 1;
    is_int(daemon_core_plan_came(cores[2], run, 3, &move), 0, "those of the plan");
    is_int(daemon_core_plan_came(cores[2], run, 3, &move), -EILSEQ, "and again");
    daemon_core_plan_destroy(run);
    ranges_fini(&order.places);
    buffer_fini(&encoded);
    instance_close();
}

int main(void)
{
    lone_core_open();
    for (uint64_t seed = 1; seed <= 50; seed++)
        test_exchange(seed);
    test_refused();
    test_spoiled();
    test_lost();
    test_early();
    lone_core_close();
    buffer_fini(&calls);
    buffer_fini(&merged);
    return done_testing();
}
