/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences in a row and across each other: in each world a few sets - one twice, the others overlapping
 * it - exchange again and again, each member going on as soon as it is told, with one or more open at
 * a time, small and large contributions mixed, while places die between and in the middle of them,
 * are stopped for an eighth of a lease or two, the root too, lateral links break, and some members
 * wait no longer (endpoint_cancel), or come so late that others have given up.
 * Judged by test/support/overlay_checker.c alone: no hang, no mix, no disagreement.
 *
 *     FENCES=n  so many worlds (default 1,000)      SEED=s  this one only
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"
#include "overlay/overlay_wire.h"
#include "test/support/cluster.h"
#include "test/support/laterals.h"
#include "test/support/overlay_checker.h"
#include "test/support/tap.h"

#define MS              1000000ull
#define WORLDS_DEFAULT  1000
#define SETS_MAX        5
#define GENERATIONS_MAX 20
#define LEASE_NS        (8000 * MS)
#define BOUND_NS        (2 * LEASE_NS)
#define KILLS_MAX       10
#define BLUR_NS         (20 * MS)
#define LARGE_BYTES     20000 /* the limit between small and large is 8 KiB */

struct fence {
    struct world *world;
    struct ranges set;
    uint64_t set_id;
    uint32_t generations;
    uint32_t window;     /* open at a time, at a member */
    bool is_large;       /* some contribute more than the limit */
    uint32_t impatience; /* one in so many calls is cancelled after a while; 0: none */
    uint32_t *called;    /* generations, by place */
    uint32_t *told;
};

struct world {
    uint64_t seed;
    struct random_state random;
    uint32_t places;
    uint32_t radix;
    struct cluster *cluster;
    struct checker checker;
    struct fence fences[SETS_MAX];
    uint32_t fences_count;
    uint32_t kills; /* still to come, each at a frame of an operation */
    uint32_t kill_in;
    uint32_t breaks; /* the same of lateral links, each at a chunk */
    uint32_t break_in;
    uint64_t operations;
    uint64_t timeouts;
};

static uint32_t below(struct world *world, uint32_t bound)
{
    return (uint32_t)random_below(&world->random, bound);
}

static uint64_t now_ns(const struct world *world)
{
    return virtual_network_now_ns(world->cluster->sim);
}

/* ---- the members ---- */

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

static struct message *contribution(const struct fence *fence, uint32_t generation, uint32_t place)
{
    uint64_t dice = hash_mix(fence->set_id * 1000003 + generation * 4099 + place);
    uint32_t words[3] = {(uint32_t)fence->set_id, generation, place};
    struct buffer bytes = {0};
    struct message *message;

    buffer_append(&bytes, words, sizeof(words));
    if (fence->is_large && dice % 4 == 0) {
        size_t more = (dice >> 8) % LARGE_BYTES;

        memset(buffer_reserve(&bytes, more + 1), (int)(dice >> 40), more + 1);
        buffer_commit(&bytes, more);
    }
    message = message_from_buffer(&bytes);
    buffer_fini(&bytes);
    return message;
}

static void wait_no_longer(void *context, uint64_t what)
{
    struct fence *fence = context;
    uint32_t place = (uint32_t)what;
    struct operation_name key = {.set_id = fence->set_id, .generation = (uint32_t)(what >> 32)};

    if (!cluster_is_alive(fence->world->cluster, place))
        return;
    checker_cancelled(&fence->world->checker, &key);
    endpoint_cancel(fence->world->cluster->places[place].node, &key);
}

static void be_impatient(struct fence *fence, uint32_t place, uint32_t generation)
{
    uint64_t at_ns = now_ns(fence->world) + below(fence->world, 3 * MS);

    /* Who is stopped does so when it continues. */
    virtual_network_work(fence->world->cluster->sim, place, at_ns, 0, wait_no_longer, fence,
                         place + ((uint64_t)generation << 32));
}

/* Calls what the window allows. */
static void go_on(struct fence *fence, uint32_t place)
{
    struct world *world = fence->world;

    while (fence->called[place] < fence->generations &&
           fence->called[place] < fence->told[place] + fence->window &&
           cluster_is_alive(world->cluster, place)) {
        struct operation_name key = {.set_id = fence->set_id, .generation = ++fence->called[place]};
        struct message *payload = contribution(fence, key.generation, place);

        checker_called(&world->checker, place, &key, &fence->set, payload);
        endpoint_contribute(world->cluster->places[place].node, &key, &fence->set, payload);
        if (fence->impatience > 0 && below(world, fence->impatience) == 0)
            be_impatient(fence, place, key.generation);
    }
}

static void begin_member(void *context, uint64_t place)
{
    go_on(context, (uint32_t)place);
}

/* ---- what they are told ---- */

static struct world *world_of(struct cluster *cluster)
{
    return cluster->config.context;
}

/* Who is killed by what it is doing is told the rest of it, but nobody hears that. */
static bool is_heard(const struct cluster *cluster, uint32_t place)
{
    return !cluster->places[place].killed;
}

static void on_joined(struct cluster *cluster, uint32_t place)
{
    checker_told_joined(&world_of(cluster)->checker, place);
}

static void on_complete(struct cluster *cluster)
{
    checker_told_complete(&world_of(cluster)->checker);
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct world *world = world_of(cluster);

    if (!is_heard(cluster, place))
        return;
    checker_told_result(&world->checker, place, now_ns(world), key, status, lost, payload);
    world->operations++;
    world->timeouts += status == -ETIMEDOUT;
    for (uint32_t i = 0; i < world->fences_count; i++) {
        if (world->fences[i].set_id == key->set_id) {
            world->fences[i].told[place]++;
            go_on(&world->fences[i], place);
        }
    }
}

static void on_lost(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    struct world *world = world_of(cluster);

    if (!is_heard(cluster, place))
        return;
    checker_told_dead(&world->checker, place, now_ns(world), places);
}

static void on_ended(struct cluster *cluster, uint32_t place, enum endpoint_end end)
{
    if (is_heard(cluster, place))
        checker_ended(&world_of(cluster)->checker, place, end);
}

static const struct cluster_events events = {
    .joined = on_joined,
    .complete = on_complete,
    .result = on_result,
    .lost = on_lost,
    .ended = on_ended,
};

/* ---- deaths ---- */

static void kill(struct world *world, uint32_t place)
{
    if (place == 0 || !cluster_is_alive(world->cluster, place))
        return;
    checker_killed(&world->checker, place, now_ns(world));
    cluster_kill(world->cluster, place);
}

static bool is_of_the_tree(const struct world *world, uint32_t a, uint32_t b)
{
    return endpoint_parent(world->cluster->places[a].node) == b ||
           endpoint_parent(world->cluster->places[b].node) == a;
}

/* It may be about to become one of the tree. */
static void break_lateral(void *context, uint64_t pair)
{
    struct world *world = context;
    uint32_t a = (uint32_t)pair;
    uint32_t b = (uint32_t)(pair >> 32);

    if (!cluster_is_alive(world->cluster, a) || !cluster_is_alive(world->cluster, b) ||
        is_of_the_tree(world, a, b))
        return;
    checker_troubled(&world->checker, a > b ? a : b, now_ns(world));
    virtual_network_break(world->cluster->sim, a, b);
}

static void chunk_is_sent(struct world *world, uint32_t from, uint32_t to)
{
    if (world->breaks == 0 || --world->break_in > 0)
        return;
    world->breaks--;
    world->break_in = 1 + below(world, 50);
    virtual_network_at(world->cluster->sim, now_ns(world), break_lateral, world,
                       from + ((uint64_t)to << 32));
}

static void stop_place(void *context, uint64_t place)
{
    struct world *world = context;

    if (!cluster_is_alive(world->cluster, (uint32_t)place))
        return;
    virtual_network_stop(world->cluster->sim, (uint32_t)place);
}

static void continue_place(void *context, uint64_t place)
{
    virtual_network_continue(((struct world *)context)->cluster->sim, (uint32_t)place);
}

/* For so short that nobody is harmed. */
static void plan_stops(struct world *world)
{
    uint32_t stops = below(world, 3) == 0 ? 1 + below(world, 2) : 0;

    for (uint32_t i = 0; i < stops; i++) {
        uint32_t place = below(world, 4) == 0 ? 0 : below(world, world->places);
        uint64_t at_ns = 100 * MS + random_below(&world->random, BLUR_NS);
        uint64_t length_ns = LEASE_NS / 8 * (1 + below(world, 2)) - BLUR_NS / 2;

        virtual_network_at(world->cluster->sim, at_ns, stop_place, world, place);
        virtual_network_at(world->cluster->sim,
                           at_ns + length_ns + random_below(&world->random, BLUR_NS),
                           continue_place, world, place);
    }
}

/* Right when somebody sends, or is sent, a frame of an operation. */
static void on_fact(void *context, uint64_t at_ns, enum virtual_network_fact fact, uint32_t from,
                    uint32_t to, const struct frame *frame)
{
    struct world *world = context;

    (void)at_ns;
    if (fact != VIRTUAL_NETWORK_FACT_SEND)
        return;
    checker_sent(&world->checker, from, frame);
    if (frame->type == OVERLAY_CHUNK)
        chunk_is_sent(world, from, to);
    if (frame->type < OVERLAY_CONTRIBUTE || world->kills == 0 || --world->kill_in > 0)
        return;
    world->kills--;
    world->kill_in = 1 + below(world, 6 * world->places);
    kill(world, below(world, 3) == 0 ? to : from);
}

/* ---- worlds ---- */

static void start_place(void *context, uint64_t place)
{
    struct world *world = context;

    checker_started(&world->checker, (uint32_t)place, 1);
    cluster_start(world->cluster, (uint32_t)place);
}

/* The first set is anyone's; the second is the same one again; the others overlap it.  Half of the
 * worlds hold all sets in slices. */
static void choose_set(struct world *world, struct fence *fence)
{
    uint32_t first = below(world, world->places - 1);
    uint32_t last = first + 1 + below(world, world->places - 1 - first);
    const struct ranges *other = &world->fences[0].set;

    if (fence == &world->fences[1]) {
        ranges_copy(&fence->set, other);
        return;
    }
    ranges_add(&fence->set, first, last);
    if (below(world, 4) == 0) { /* a few, with relays that are none of them */
        ranges_clear(&fence->set);
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t place = first + below(world, last - first + 1);

            ranges_add(&fence->set, place, place);
        }
    } else if (below(world, 3) == 0) {
        for (uint32_t place = first + 1; place < last; place += 2)
            ranges_remove(&fence->set, place, place);
    }
    if (fence != &world->fences[0] && !ranges_overlap_set(&fence->set, other))
        ranges_add(&fence->set, ranges_min(other), ranges_min(other));
}

static void plan_fence(struct world *world, uint32_t index)
{
    struct fence *fence = &world->fences[index];

    fence->world = world;
    fence->set_id = 10 + index;
    fence->generations = 2 + below(world, GENERATIONS_MAX - 1);
    fence->window = 1 + below(world, 3);
    fence->is_large = below(world, 3) == 0;
    fence->impatience = below(world, 3) == 0 ? 2 + below(world, 4 * world->places) : 0;
    fence->called = memory_allocate_zeroed(world->places * sizeof(uint32_t));
    fence->told = memory_allocate_zeroed(world->places * sizeof(uint32_t));
    choose_set(world, fence);
    for (uint32_t place = 0; ranges_next(&fence->set, place, &place); place++)
        virtual_network_work(world->cluster->sim, place,
                             100 * MS + random_below(&world->random, 5 * MS), 0, begin_member,
                             fence, place);
}

static void world_init(struct world *world, uint64_t seed)
{
    struct cluster_config config = {
        .merges = merges, .merges_count = 1, .events = &events, .context = world};

    *world = (struct world){.seed = seed};
    random_init(&world->random, seed);
    world->places = 3 + below(world, below(world, 2) == 0 ? 12 : 120);
    world->radix = 2 + below(world, 6);
    config.radix = world->radix;
    config.long_set_ranges = below(world, 2); /* in every second world all sets are long */
    config.stall_ns = seed % 3 == 0 ? 0 : 3600000 * MS; /* it heals what it should not have to */
    config.sim = (struct virtual_network_config){
        .places = world->places, .seed = seed, .latency_ns = 20000 + below(world, 200000)};
    if (below(world, 2) == 1)
        config.sim.jitter_ns = below(world, 2000000);
    world->cluster = cluster_create(&config);
    checker_init(&world->checker, world->places, world->radix, LEASE_NS);
    virtual_network_set_trace(world->cluster->sim, on_fact, world);
    for (uint32_t place = 0; place < world->places; place++)
        virtual_network_at(world->cluster->sim, 1, start_place, world, place);
    world->fences_count = 2 + below(world, SETS_MAX - 1);
    for (uint32_t i = 0; i < world->fences_count; i++)
        plan_fence(world, i);
    world->kills = 1 + below(world, KILLS_MAX);
    world->kill_in = 1 + below(world, 6 * world->places);
    world->breaks = below(world, 3) == 0 ? 1 + below(world, 3) : 0;
    world->break_in = 1 + below(world, 50);
    plan_stops(world);
}

static void world_fini(struct world *world)
{
    for (uint32_t i = 0; i < world->fences_count; i++) {
        ranges_fini(&world->fences[i].set);
        free(world->fences[i].called);
        free(world->fences[i].told);
    }
    checker_fini(&world->checker);
    cluster_destroy(world->cluster);
}

static bool all_are_done(const struct world *world)
{
    for (uint32_t i = 0; i < world->fences_count; i++) {
        const struct fence *fence = &world->fences[i];

        for (uint32_t place = 0; ranges_next(&fence->set, place, &place); place++) {
            if (cluster_is_alive(world->cluster, place) && fence->told[place] < fence->generations)
                return false;
        }
    }
    return checker_is_quiet(&world->checker);
}

static uint32_t laterals_of(const void *context, uint32_t place,
                            struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX])
{
    const struct world *world = context;

    return cluster_is_alive(world->cluster, place)
               ? endpoint_laterals(world->cluster->places[place].node, ret_laterals)
               : 0;
}

static bool knows_owner(const void *context, uint32_t place, uint32_t owner)
{
    const struct world *world = context;

    return cluster_is_alive(world->cluster, place) &&
           endpoint_knows_owner(world->cluster->places[place].node, owner);
}

static void finish(struct world *world)
{
    struct checker_view *views = memory_allocate_zeroed(world->places * sizeof(*views));
    const struct laterals_world laterals = {world->places, laterals_of, knows_owner, world};
    uint64_t rest_ns = now_ns(world);
    char text[128];

    virtual_network_run_until(world->cluster->sim, rest_ns + CHECKER_REST_NS);
    for (uint32_t place = 0; place < world->places; place++) {
        const struct endpoint *node = world->cluster->places[place].node;

        if (!cluster_is_alive(world->cluster, place))
            continue;
        views[place] = (struct checker_view){.parent = endpoint_parent(node),
                                             .degree = endpoint_degree(node),
                                             .kept_entries = endpoint_kept_entries(node),
                                             .kept_operations = endpoint_kept_operations(node),
                                             .kept_stream_bytes = endpoint_kept_stream_bytes(node),
                                             .early_opens = endpoint_early_opens(node)};
        checker_limits(&world->checker, place, &views[place]);
    }
    checker_finish(&world->checker, rest_ns, BOUND_NS, views);
    free(views);
    if (!laterals_are_kept(&laterals, text, sizeof(text)))
        checker_fault(&world->checker, "%s", text);
}

static void run(struct world *world)
{
    virtual_network_run_until(world->cluster->sim, 90 * MS);
    while (world->checker.failure[0] == '\0' && !all_are_done(world) &&
           now_ns(world) < world->checker.last_fault_ns + 2 * BOUND_NS)
        virtual_network_run_until(world->cluster->sim, now_ns(world) + 20 * MS);
    if (world->checker.failure[0] == '\0')
        finish(world);
}

static uint64_t number_of_env(const char *name, uint64_t fallback)
{
    return getenv(name) != NULL ? strtoull(getenv(name), NULL, 10) : fallback;
}

int main(void)
{
    static struct world world;
    uint64_t first = number_of_env("SEED", 1);
    uint64_t count = getenv("SEED") != NULL ? 1 : number_of_env("FENCES", WORLDS_DEFAULT);
    uint64_t failures = 0;
    uint64_t deaths = 0;
    uint64_t results = 0;
    uint64_t timeouts = 0;

    for (uint64_t seed = first; seed < first + count && failures < 5; seed++) {
        world_init(&world, seed);
        run(&world);
        if (world.checker.failure[0] != '\0') {
            failures++;
            diag("seed %llu (%u places, radix %u) at %.3f ms: %s", (unsigned long long)seed,
                 world.places, world.radix, (double)now_ns(&world) / 1e6, world.checker.failure);
            diag("replay: SEED=%llu test/soak/fence_soak.t", (unsigned long long)seed);
        }
        deaths += world.checker.deaths_count;
        results += world.operations;
        timeouts += world.timeouts;
        world_fini(&world);
    }
    diag("%llu results told, %llu of them that it timed out, %llu deaths",
         (unsigned long long)results, (unsigned long long)timeouts, (unsigned long long)deaths);
    is_uint(failures, 0, "no hang, no mix, no disagreement in %llu worlds from seed %llu",
            (unsigned long long)count, (unsigned long long)first);
    return done_testing();
}
