/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random worlds in which daemons fail to start or hang, with a minimum of nodes: each node either runs its share of the job
 * or is lost, the job ends well if enough are left, and all daemons end.  start_soak.t SEED replays one world.
 */
#include "config.h"

#include <string.h>

#include "base/random.h"
#include "base/time.h"
#include "launch/sim/sim.h"
#include "test/support/tap.h"
#include "test/support/worlds.h"

#define WORLDS    400u
#define NODES_MAX 90u
#define LIMIT_MS  1000000ull

struct start_world {
    struct ranges ran, lost;
    uint32_t reports, status;
};

static void on_process(void *context, const struct sim_process_fact *fact)
{
    struct start_world *world = context;

    if (fact->fate == SIM_FATE_STARTED)
        ranges_add(&world->ran, fact->place, fact->place);
}

static void on_lost(void *context, uint64_t now_ns, const struct ranges *places)
{
    ranges_add_all(&((struct start_world *)context)->lost, places);
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    struct start_world *world = context;

    world->reports++;
    world->status = end->status;
}

static const struct sim_watch watch = {.process = on_process, .lost = on_lost, .report = on_report};

static void make_config(struct random_state *random, struct allocation *allocation, uint64_t seed,
                        struct sim_machine_config *ret_config)
{
    uint32_t nodes = 1 + (uint32_t)random_below(random, NODES_MAX);

    uint32_t spares = random_chance(random, 0.5) ? (uint32_t)random_below(random, nodes) : 0;

    allocation_init(allocation);
    allocation_generate(allocation, "n", nodes, 1);
    *ret_config = (struct sim_machine_config){
        .allocation = allocation,
        .radix = 2 + (uint32_t)random_below(random, 5),
        .seed = seed,
        .latency_ns = 50000,
        .jitter_ns = random_below(random, 400000),
        .daemon_ns = 1000000,
        .daemon_ns_max = 1 + random_below(random, 50000000),
        .daemon_fails = random_unit(random) * 0.3,
        .daemon_silent = random_chance(random, 0.5) ? random_unit(random) * 0.1 : 0,
        .nodes_min = spares > 0 ? 0 : 1 + (uint32_t)random_below(random, nodes),
        .spares = spares,
        .program = {.start_ns_max = 1000000, .step_ns_max = 1000000, .fences = 1},
    };
}

static int is_right(const struct start_world *world, const struct sim_machine_config *config)
{
    uint64_t nodes = allocation_nodes(config->allocation);
    struct ranges both = {0};
    uint64_t common;

    ranges_intersect(&world->ran, &world->lost, &both);
    common = ranges_count(&both);
    ranges_fini(&both);
    if (world->reports != 1)
        return 0;
    if (world->status != 0) /* too few are left: nothing ran */
        return world->status == 125 && ranges_count(&world->ran) == 0;
    if (config->spares > 0) /* each that is lost has one in its place */
        return common == 0 && ranges_count(&world->ran) == nodes - config->spares;
    return common == 0 && ranges_count(&world->ran) + ranges_count(&world->lost) == nodes &&
           ranges_count(&world->ran) >= config->nodes_min;
}

/* 1: fewer nodes than all have run; 2: too few; 0: all; -1: it is wrong. */
static int run_world(uint64_t seed)
{
    struct start_world world = {.reports = 0};
    struct sim_machine_config config;
    struct allocation allocation;
    struct sim_machine *machine;
    struct random_state random;
    int result = 0;

    random_init(&random, seed);
    make_config(&random, &allocation, seed, &config);
    machine = sim_machine_create(&config, &watch, &world);
    if (!sim_machine_run(machine, LIMIT_MS * NS_PER_MS) || !is_right(&world, &config))
        result = -1;
    else if (world.status != 0)
        result = 2;
    else
        result = !ranges_is_empty(&world.lost);
    if (result < 0)
        diag(
            "seed %llu: %u reports, status %u, %llu nodes of %u ran, %llu lost, at least %u wanted",
            (unsigned long long)seed, world.reports, world.status,
            (unsigned long long)ranges_count(&world.ran), allocation_nodes(&allocation),
            (unsigned long long)ranges_count(&world.lost),
            config.nodes_min > 0 ? config.nodes_min
                                 : allocation_nodes(&allocation) - config.spares);
    sim_machine_destroy(machine);
    allocation_fini(&allocation);
    ranges_fini(&world.ran);
    ranges_fini(&world.lost);
    return result;
}

int main(int argc, char **argv)
{
    uint32_t counts[WORLDS_RESULTS] = {0};
    uint32_t wrong = 0;

    if (!worlds_run(argc, argv, run_world, WORLDS, counts, &wrong))
        return done_testing();
    diag("%u worlds had all nodes, %u fewer, %u too few", counts[0], counts[1], counts[2]);
    is_uint(wrong, 0, "each node either runs or is lost");
    ok(counts[1] > WORLDS / 10, "many worlds go on without some nodes");
    ok(counts[2] > WORLDS / 10, "and many give up");
    return done_testing();
}
