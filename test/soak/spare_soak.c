/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random worlds with spare nodes, in which processes fail and are restarted, and daemons die: the job is reported once, and
 * if it has ended well each of its processes has, where none was lost.  spare_soak.t SEED replays one world.
 */
#include "config.h"

#include <string.h>

#include "base/random.h"
#include "base/time.h"
#include "launch/sim/sim.h"
#include "test/support/tap.h"
#include "test/support/worlds.h"

#define WORLDS    1500u
#define NODES_MAX 12u
#define SLOTS_MAX 3u
#define LIMIT_MS  1000000ull

struct spare_world {
    uint32_t nodes, spares;
    struct ranges died;                           /* nodes that were lost with processes */
    uint8_t ended_well[NODES_MAX + 1][SLOTS_MAX]; /* the last process of that index there */
    uint32_t on_spares;
    uint32_t reports, status, processes;
};

static void on_process(void *context, const struct sim_process_fact *fact)
{
    struct spare_world *world = context;

    if (fact->fate == SIM_FATE_VANISHED)
        ranges_add(&world->died, fact->place, fact->place);
    world->ended_well[fact->place][fact->index] = fact->fate == SIM_FATE_ENDED && fact->number == 0;
    if (fact->fate == SIM_FATE_STARTED && fact->place > world->nodes - world->spares)
        world->on_spares++;
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    struct spare_world *world = context;

    (void)now_ns;
    (void)job;
    world->reports++;
    world->status = end->status;
    world->processes = end->processes;
}

static const struct sim_watch watch = {.process = on_process, .report = on_report};

static void make_config(struct random_state *random, struct allocation *allocation, uint64_t seed,
                        struct spare_world *world, struct sim_machine_config *ret_config)
{
    world->nodes = 2 + (uint32_t)random_below(random, NODES_MAX - 1);
    world->spares = (uint32_t)random_below(random, world->nodes < 4 ? world->nodes : 4);
    allocation_init(allocation);
    allocation_generate(allocation, "n", world->nodes,
                        1 + (uint32_t)random_below(random, SLOTS_MAX));
    *ret_config = (struct sim_machine_config){
        .allocation = allocation,
        .radix = 2 + (uint32_t)random_below(random, 3),
        .seed = seed,
        .latency_ns = 50000,
        .jitter_ns = random_below(random, 400000),
        .daemon_ns = 1000000,
        .daemon_ns_max = 1 + random_below(random, 5000000),
        .daemon_fails = random_chance(random, 0.2) ? random_unit(random) * 0.2 : 0,
        .spares = world->spares,
        .program = {.start_ns_max = 1000000,
                    .step_ns_max = 1 + random_below(random, 3000 * NS_PER_MS),
                    .fences = (uint32_t)random_below(random, 2),
                    .output_bytes_max = 10000,
                    .fails = random_chance(random, 0.5) ? random_unit(random) * 0.2 : 0,
                    .restarts = 1 + (uint32_t)random_below(random, 4)},
    };
}

static void plan_deaths(struct random_state *random, struct sim_machine *machine,
                        const struct spare_world *world)
{
    uint32_t deaths = (uint32_t)random_below(random, 4);

    for (uint32_t i = 0; i < deaths; i++)
        sim_machine_kill_at(machine, random_below(random, 8000 * NS_PER_MS),
                            1 + (uint32_t)random_below(random, world->nodes));
}

/* Where a node was lost with processes all that it had are started again. */
static uint32_t count_well(const struct spare_world *world)
{
    uint32_t count = 0;

    for (uint32_t place = 1; place <= world->nodes; place++)
        for (uint32_t i = 0; i < SLOTS_MAX && !ranges_contains(&world->died, place); i++)
            count += world->ended_well[place][i];
    return count;
}

/* 1: ended well with processes on spares; 2: it failed; 0: ended well without; -1: it is wrong. */
static int run_world(uint64_t seed)
{
    struct spare_world world = {.reports = 0};
    struct sim_machine_config config;
    struct allocation allocation;
    struct sim_machine *machine;
    struct random_state random;
    int result;

    random_init(&random, seed);
    make_config(&random, &allocation, seed, &world, &config);
    machine = sim_machine_create(&config, &watch, &world);
    plan_deaths(&random, machine, &world);
    if (!sim_machine_run(machine, LIMIT_MS * NS_PER_MS) || world.reports != 1)
        result = -1;
    else if (world.status != 0)
        result = 2;
    else if (count_well(&world) < world.processes)
        result = -1;
    else
        result = world.on_spares > 0;
    if (result < 0)
        diag("seed %llu: %u reports, status %u, %u of %u processes ended well; %u nodes, %u spares",
             (unsigned long long)seed, world.reports, world.status, count_well(&world),
             world.processes, world.nodes, world.spares);
    sim_machine_destroy(machine);
    allocation_fini(&allocation);
    ranges_fini(&world.died);
    return result;
}

int main(int argc, char **argv)
{
    uint32_t counts[WORLDS_RESULTS] = {0};
    uint32_t wrong = 0;

    if (!worlds_run(argc, argv, run_world, WORLDS, counts, &wrong))
        return done_testing();
    diag("%u worlds ended well without spares, %u with some in use, %u failed", counts[0],
         counts[1], counts[2]);
    is_uint(wrong, 0, "who ends well has all processes ended well, on nodes that live");
    ok(counts[1] > WORLDS / 20, "in many worlds spares are used");
    ok(counts[2] > WORLDS / 20, "and many jobs fail");
    return done_testing();
}
