/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements of the tree by its own places (launch/proto/bench.h): a client asks the root for one operation of one
 * size; the root broadcasts the order, and every place repeats the operation by itself, the next time as soon as the
 * last has ended: the loop is inside the daemons, and no message is sent that does not belong to it.  Before the first
 * time all meet, and by a plan before each, as a place may not need anything new of others to end it; after the last one
 * their times are gathered.  The root keeps its own exactly.
 *
 * The operations of a measurement have a separate owner, which is forgotten when it is over, for whatever cause:
 * a place that is lost, a client that has gone.  One measurement is under way at a time; others wait for it.
 *
 * Cost: nothing without a measurement; during one 3 kB at each place, 8 bytes for each time at the root, and the data;
 * of a plan (daemon_core_plan.c) what it says there.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/time.h"
#include "base/wire.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/core/stage_root.h"
#include "launch/job/job.h"
#include "launch/proto/bench.h"
#include "launch/proto/exchange_plan.h"
#include "launch/proto/job_wire.h"
#include "overlay/tree.h"

#define OWNER_BITS (STAGE_OWNER_BIT | 0x40000000u)
#define RETRY_NS   (100 * NS_PER_US)
#define WAITS_MAX  16u
/* In front of the blocks of a plan's message. */
#define MOVE_HEAD_BYTES_MAX 64u

enum bench_phase {
    BENCH_MEETING, /* until all have the order, or have done the last round of a plan */
    BENCH_ROUNDS,
    BENCH_FOLDING, /* the times are on their way to the root */
    BENCH_PHASE_COUNT
};

struct bench_run {
    struct bench_order order;
    enum bench_phase phase;
    uint32_t level;
    uint32_t parent;
    uint32_t round;      /* of those before the first that counts, and after */
    uint64_t begun_ns;   /* it */
    uint32_t operations; /* so far: the generation of the last one */
    uint32_t asked;      /* BENCH_LINKS: the request that is under way */
    bool has_data;       /* BENCH_BROADCAST: of the next round, before this one is over here */
    bool has_said_so;    /* BENCH_BROADCAST: that it has the data of this round */
    struct operation_name key;   /* of the operation that is waited for */
    struct message *data;        /* what is sent each time, or NULL */
    struct plan_run *plan;       /* BENCH_PLAN, once the order is here */
    struct bench_level *times;   /* of this place */
    struct bench_answer *answer; /* root */
    uint32_t client;             /* root */
    uint32_t request;            /* root: its number of it */
};

/* Root: a request that waits. */
struct bench_wait {
    struct list_link node;
    uint32_t client;
    uint32_t request;
    struct bench_request what;
    struct buffer plan; /* what is in it */
};

static void wait_free(struct bench_wait *wait)
{
    list_remove(&wait->node);
    buffer_fini(&wait->plan);
    free(wait);
}

static void run_free(struct daemon_core *core)
{
    struct bench_run *run = core->bench;

    if (run == NULL)
        return;
    assert(run->phase < BENCH_PHASE_COUNT);
    ranges_fini(&run->order.places);
    message_release(run->data);
    daemon_core_plan_destroy(run->plan);
    free(run->times);
    if (run->answer != NULL)
        bench_answer_fini(run->answer);
    free(run->answer);
    free(run);
    core->bench = NULL;
}

static void forget(struct daemon_core *core, uint32_t number, const struct ranges *places)
{
    assert(daemon_core_is_root(core));
    core->tree->forget(core->tree_context, OWNER_BITS | number, places);
}

/* ---- the operations ---- */

static struct operation_name key_of(const struct bench_run *run, uint8_t merge, uint8_t target,
                                    uint32_t generation)
{
    uint32_t owner = OWNER_BITS | run->order.number;

    return (struct operation_name){
        .set_id = hash_mix(((uint64_t)merge << 40) | ((uint64_t)target << 32) | owner),
        .generation = generation,
        .owner = owner,
        .kind = JOB_OPERATION_BENCH,
        .merge = merge,
        .target = target};
}

/* Takes message. */
static void contribute(struct daemon_core *core, enum job_merge merge, enum endpoint_target target,
                       struct message *message)
{
    struct bench_run *run = core->bench;

    run->key = key_of(run, (uint8_t)merge, (uint8_t)target, ++run->operations);
    core->tree->contribute(core->tree_context, &run->key, &run->order.places, message);
}

static void broadcast_data(struct daemon_core *core)
{
    struct bench_run *run = core->bench;
    uint64_t now_ns = core->ops->now_ns(core->context);
    int rc =
        core->tree->broadcast(core->tree_context, &run->order.places, message_reference(run->data));

    assert(daemon_core_is_root(core));
    assert(rc == 0 || rc == -EAGAIN); /* orders are within the limits of a broadcast */
    if (rc < 0)                       /* acknowledgements of earlier ones are on their way */
        core->ops->timer(core->context, DAEMON_TIMER_BENCH, 0, now_ns + RETRY_NS);
}

static void say_received(struct daemon_core *core)
{
    core->bench->has_said_so = true;
    contribute(core, JOB_MERGE_CONCATENATE, ENDPOINT_TARGET_ROOT, NULL);
}

static void ask_parent(struct daemon_core *core)
{
    struct bench_run *run = core->bench;

    run->asked = core->tree->request(core->tree_context, run->parent, message_reference(run->data));
}

static void fold_times(struct daemon_core *core)
{
    struct bench_run *run = core->bench;
    struct bench_times times = {.slowest_count = 0};
    struct buffer payload = {0};

    run->phase = BENCH_FOLDING;
    run->times->max_place = core->place;
    bench_times_put(&times, run->level, run->parent, run->times);
    run->times = NULL;
    bench_times_encode(&times, &payload);
    bench_times_fini(&times);
    contribute(core, JOB_MERGE_BENCH, ENDPOINT_TARGET_ROOT, message_from_buffer(&payload));
    buffer_fini(&payload);
    if (!daemon_core_is_root(core))
        run_free(core);
}

static void plan_go_on(struct daemon_core *core, int rc);

static void begin_round(struct daemon_core *core)
{
    struct bench_run *run = core->bench;
    enum endpoint_target target = ENDPOINT_TARGET_ALL;

    run->phase = BENCH_ROUNDS;
    run->begun_ns = core->ops->now_ns(core->context);
    switch ((enum bench_operation)run->order.what.operation) {
    case BENCH_LINKS:
        if (daemon_core_is_root(core))
            fold_times(core);
        else
            ask_parent(core);
        break;
    case BENCH_BROADCAST:
        run->has_said_so = run->has_data;
        if (daemon_core_is_root(core))
            broadcast_data(core);
        else if (run->has_data)
            say_received(core);
        run->has_data = false;
        break;
    case BENCH_PLAN:
        plan_go_on(core, daemon_core_plan_begin(core, run->plan, run->round));
        break;
    case BENCH_GATHER:
        target = ENDPOINT_TARGET_ROOT;
        __attribute__((fallthrough));
    default:
        contribute(core, JOB_MERGE_CONCATENATE, target, message_reference(run->data));
    }
}

/* The next round begins when all are there.  That is not counted, but for what the last one hears later of it. */
static void meet(struct daemon_core *core)
{
    core->bench->phase = BENCH_MEETING;
    contribute(core, JOB_MERGE_CONCATENATE, ENDPOINT_TARGET_ALL, NULL);
}

static void round_over(struct daemon_core *core)
{
    struct bench_run *run = core->bench;
    const struct bench_request *what = &run->order.what;
    uint64_t ns = core->ops->now_ns(core->context) - run->begun_ns;

    assert(run->phase == BENCH_ROUNDS && run->round < what->warm_up + what->repeat);
    if (run->round >= what->warm_up) {
        bench_level_add(run->times, core->place, ns);
        if (run->answer != NULL)
            run->answer->root_ns[run->answer->root_count++] = ns;
    }
    run->round++;
    if (run->round == what->warm_up + what->repeat)
        fold_times(core);
    else if (what->operation == BENCH_PLAN)
        meet(core);
    else
        begin_round(core);
}

/* ---- plans ---- */

static void run_stop(struct daemon_core *core, int status);

/* Below zero: what a place has got is not what the plan says, and the root ends the measurement. */
static void plan_go_on(struct daemon_core *core, int rc)
{
    uint32_t number = core->bench->order.number;

    assert(rc <= 1);
    if (rc > 0) {
        round_over(core);
    } else if (rc < 0 && daemon_core_is_root(core)) {
        run_stop(core, rc);
    } else if (rc < 0) {
        run_free(core);
        core->tree->send(core->tree_context, 0, FRAME_CONTROL, bench_wrong_message(number));
    }
}

void daemon_core_bench_came(struct daemon_core *core, uint32_t source, struct wire_reader *reader)
{
    struct bench_run *run = core->bench;
    struct bench_move move;
    int rc = bench_move_decode(&move, reader);

    if (rc < 0 || run == NULL || run->plan == NULL || run->order.number != move.number)
        return;
    if (rc == 0 && daemon_core_is_root(core))
        run_stop(core, -EILSEQ);
    else if (rc > 0 && run->phase != BENCH_FOLDING)
        plan_go_on(core, daemon_core_plan_came(core, run->plan, source, &move));
}

/* ---- orders ---- */

/* The tree is taken as it is now: a place that is lost later ends the measurement. */
static void find_level(struct daemon_core *core, struct bench_run *run)
{
    struct ranges dead = {0}, all = {0};
    struct tree tree = {.places = core->spec->places, .radix = core->spec->radix, .dead = &dead};
    uint32_t place = daemon_core_shape_tree(core, core->place);

    core->tree->dead(core->tree_context, &all);
    daemon_core_shape_tree_places(core, &all, &dead);
    ranges_add_all(&all, &run->order.places);
    tree.population = ranges_max(&all) + 1;
    ranges_fini(&all);
    if (place > 0)
        run->parent = daemon_core_shape_listed(core, tree_parent(&tree, place));
    while (place > 0 && run->level < BENCH_LEVELS_MAX - 1) {
        place = tree_parent(&tree, place);
        run->level++;
    }
    ranges_fini(&dead);
}

static void make_data(struct bench_run *run)
{
    const struct bench_request *what = &run->order.what;

    if (what->operation == BENCH_PLAN)
        return;
    if (what->operation == BENCH_BROADCAST || what->operation == BENCH_LINKS)
        run->data = bench_data_message(run->order.number, what->size_bytes);
    else if (what->size_bytes > 0)
        run->data = message_create_blank(what->size_bytes);
    if (run->data != NULL && what->operation != BENCH_BROADCAST && what->operation != BENCH_LINKS)
        memset(run->data->data, 'b', run->data->length_bytes);
}

/* Takes the places of order.  The root has made its run when it was asked. */
static void order_came(struct daemon_core *core, struct bench_order *order)
{
    struct bench_run *run;

    if (!daemon_core_is_root(core))
        run_free(core);
    if (order->what.repeat == 0 || !ranges_contains(&order->places, core->place) ||
        (daemon_core_is_root(core) &&
         (core->bench == NULL || core->bench->order.number != order->number))) {
        ranges_fini(&order->places);
        return;
    }
    if (core->bench == NULL)
        core->bench = memory_allocate_zeroed(sizeof(*core->bench));
    run = core->bench;
    ranges_fini(&run->order.places);
    run->order = *order;
    run->times = bench_level_create();
    find_level(core, run);
    make_data(run);
    if (order->what.operation == BENCH_PLAN) {
        run->plan = daemon_core_plan_create(order, core->place);
        run->order.what.plan = (struct wire_bytes){.length_bytes = 0};
        if (run->plan == NULL) {
            plan_go_on(core, -EILSEQ);
            return;
        }
    }
    meet(core);
}

/* It may overtake the end of the round before. */
static void data_came(struct daemon_core *core, uint32_t number)
{
    struct bench_run *run = core->bench;

    if (run == NULL || run->order.number != number || run->phase == BENCH_FOLDING ||
        run->order.what.operation != BENCH_BROADCAST)
        return;
    if (run->phase == BENCH_ROUNDS && !run->has_said_so)
        say_received(core);
    else
        run->has_data = true;
}

int daemon_core_bench_broadcast(struct daemon_core *core, const struct message *message)
{
    struct bench_order order;
    struct wire_reader reader;
    uint32_t number;
    int rc;

    if (message->length_bytes == 0 || message->data[0] != JOB_MESSAGE_BENCH)
        return 0;
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    rc = bench_message_decode(&reader, &order, &number);
    if (rc > 0)
        order_came(core, &order);
    else if (rc == 0)
        data_came(core, number);
    return 1;
}

/* ---- the root ---- */

static void begin_next(struct daemon_core *core);

static void run_answer(struct daemon_core *core, int status, const struct buffer *data)
{
    struct bench_run *run = core->bench;

    if (run->client != 0)
        daemon_core_request_answer(core, run->client, run->request, status, data);
    core->ops->timer(core->context, DAEMON_TIMER_BENCH, 0, UINT64_MAX);
    forget(core, run->order.number, &run->order.places);
    run_free(core);
    begin_next(core);
}

/* What still runs elsewhere ends with it: by the order, or by an operation that is forgotten. */
static void run_stop(struct daemon_core *core, int status)
{
    struct bench_order stop = core->bench->order;

    stop.what.repeat = 0;
    (void)core->tree->broadcast(core->tree_context, &stop.places, bench_order_message(&stop));
    run_answer(core, status, NULL);
}

static void keep_first(struct ranges *places, uint32_t nodes)
{
    uint32_t place = 0, left = nodes;

    if (nodes == 0 || ranges_count(places) <= nodes)
        return;
    while (left > 0 && ranges_next(places, place, &place)) {
        left--;
        place++;
    }
    assert(left == 0);
    ranges_remove(places, place, ranges_max(places));
}

/* What an operation can carry, and a plan be for. */
static int check_request(const struct bench_request *what, uint32_t places)
{
    bool is_large = what->operation == BENCH_EXCHANGE || what->operation == BENCH_BROADCAST;
    uint64_t bytes_max = is_large ? ENDPOINT_LARGE_BYTES_MAX : ENDPOINT_PAYLOAD_BYTES_MAX;

    if (what->operation == BENCH_PLAN)
        bytes_max -= MOVE_HEAD_BYTES_MAX;
    if (bench_operation_bytes(what, places) > bytes_max)
        return -EMSGSIZE;
    return what->operation == BENCH_PLAN ? exchange_plan_check(what->plan, places) : 0;
}

static int run_begin(struct daemon_core *core, uint32_t client, uint32_t request,
                     const struct bench_request *what)
{
    struct bench_order order = {.number = (core->root->bench_number + 1) & ~OWNER_BITS,
                                .what = *what};
    struct ranges lost = {0};
    struct bench_run *run;
    int rc;

    assert(core->bench == NULL);
    if (!instance_is_up(core->instance))
        return -EAGAIN;
    instance_nodes_all(core->instance, &order.places);
    instance_lost_places(core->instance, &lost);
    core->tree->dead(core->tree_context, &lost);
    ranges_remove_all(&order.places, &lost);
    ranges_fini(&lost);
    keep_first(&order.places, what->nodes);
    ranges_add(&order.places, 0, 0);
    rc = check_request(what, (uint32_t)ranges_count(&order.places));
    if (rc == 0)
        rc = core->tree->broadcast(core->tree_context, &order.places, bench_order_message(&order));
    if (rc < 0) {
        ranges_fini(&order.places);
        return rc;
    }
    core->root->bench_number++;
    run = core->bench = memory_allocate_zeroed(sizeof(*run));
    run->order = order;
    run->order.what.plan = (struct wire_bytes){.length_bytes = 0}; /* the client's */
    run->client = client;
    run->request = request;
    run->answer = memory_allocate_zeroed(sizeof(*run->answer));
    run->answer->radix = core->spec->radix;
    run->answer->places = (uint32_t)ranges_count(&order.places);
    run->answer->root_ns = memory_allocate_zeroed(what->repeat * sizeof(*run->answer->root_ns));
    return 0;
}

static void begin_next(struct daemon_core *core)
{
    while (core->bench == NULL && !list_is_empty(&core->root->bench_waits)) {
        struct bench_wait *wait =
            list_entry(list_first(&core->root->bench_waits), struct bench_wait, node);
        int rc = run_begin(core, wait->client, wait->request, &wait->what);

        if (rc < 0)
            daemon_core_request_answer(core, wait->client, wait->request, rc, NULL);
        wait_free(wait);
    }
}

static int wait_begin(struct daemon_core *core, uint32_t client, uint32_t request,
                      const struct bench_request *what)
{
    struct bench_wait *wait;
    struct list_link *node, *spare;
    uint32_t count = 0;

    list_for_each(&core->root->bench_waits, node, spare) count++;
    if (count == WAITS_MAX)
        return -EBUSY;
    wait = memory_allocate_zeroed(sizeof(*wait));
    wait->client = client;
    wait->request = request;
    wait->what = *what;
    buffer_append(&wait->plan, what->plan.data, what->plan.length_bytes);
    wait->what.plan = (struct wire_bytes){wait->plan.data, wait->plan.length_bytes};
    list_append(&core->root->bench_waits, &wait->node);
    return 0;
}

void daemon_core_bench_client(struct daemon_core *core, uint32_t client, uint32_t request,
                              struct wire_reader *reader)
{
    struct bench_request what;
    int rc = bench_request_decode(&what, reader);

    assert(daemon_core_is_root(core));
    if (rc == 0)
        rc = core->bench == NULL ? run_begin(core, client, request, &what)
                                 : wait_begin(core, client, request, &what);
    if (rc < 0)
        daemon_core_request_answer(core, client, request, rc, NULL);
}

static void times_came(struct daemon_core *core, const struct message *message)
{
    struct bench_run *run = core->bench;
    struct buffer payload = {0};
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, message != NULL ? message->data : NULL,
                     message != NULL ? message->length_bytes : 0);
    rc = bench_times_decode(&run->answer->times, &reader);
    if (rc == 0)
        bench_answer_encode(run->answer, &payload);
    run_answer(core, rc, &payload);
    buffer_fini(&payload);
}

/* ---- events ---- */

static bool is_awaited(const struct bench_run *run, const struct operation_name *key)
{
    return run != NULL && run->key.owner == key->owner && run->key.set_id == key->set_id &&
           run->key.generation == key->generation;
}

void daemon_core_bench_result(struct daemon_core *core, const struct daemon_event *event)
{
    struct bench_run *run = core->bench;

    if (!is_awaited(run, event->key))
        return;
    if (event->status < 0) {
        if (daemon_core_is_root(core))
            run_stop(core, event->status);
        else
            run_free(core);
        return;
    }
    if (run->phase == BENCH_MEETING)
        begin_round(core);
    else if (run->phase == BENCH_ROUNDS)
        round_over(core);
    else
        times_came(core, event->message);
}

int daemon_core_bench_request(struct daemon_core *core, const struct daemon_event *event)
{
    core->tree->reply(core->tree_context, event->place, event->id,
                      message_reference(event->message));
    return 0;
}

int daemon_core_bench_reply(struct daemon_core *core, const struct daemon_event *event)
{
    struct bench_run *run = core->bench;

    if (run == NULL || run->order.what.operation != BENCH_LINKS || run->phase != BENCH_ROUNDS ||
        daemon_core_is_root(core) || run->asked != event->id)
        return 0;
    if (event->status == 0)
        round_over(core);
    else
        fold_times(core); /* the root will know of the loss */
    return 1;
}

void daemon_core_bench_due(struct daemon_core *core)
{
    if (core->bench != NULL && core->bench->phase == BENCH_ROUNDS)
        broadcast_data(core);
}

/* Members of an operation hear of its failure; a place that waits for data does not.  The messages of a plan may be lost
 * with any place that they pass. */
void daemon_core_bench_lost(struct daemon_core *core, const struct ranges *places)
{
    if (core->bench == NULL || (core->bench->order.what.operation != BENCH_PLAN &&
                                !ranges_overlap_set(&core->bench->order.places, places)))
        return;
    if (daemon_core_is_root(core))
        run_stop(core, -EHOSTDOWN);
    else
        run_free(core);
}

void daemon_core_bench_gone(struct daemon_core *core, uint32_t client)
{
    struct list_link *node, *spare;

    list_for_each(&core->root->bench_waits, node, spare)
    {
        struct bench_wait *wait = list_entry(node, struct bench_wait, node);

        if (wait->client == client)
            wait_free(wait);
    }
    if (core->bench == NULL || core->bench->client != client)
        return;
    core->bench->client = 0;
    run_stop(core, -ECANCELED);
}

void daemon_core_bench_open(struct daemon_core *core)
{
    list_init(&core->root->bench_waits);
}

void daemon_core_bench_close(struct daemon_core *core)
{
    while (!list_is_empty(&core->root->bench_waits))
        wait_free(list_entry(list_first(&core->root->bench_waits), struct bench_wait, node));
    run_free(core);
}
