/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/daemon_world.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/time.h"
#include "launch/sim/sim.h"
#include "test/support/daemon_checker.h"
#include "test/support/tap.h"

#define LEASE_MS   10000u /* half of it less two heartbeats is more than all stops together */
#define READY_NS   (1500ull * NS_PER_MS) /* by then all daemons have joined */
#define LAST_NS    (5000ull * NS_PER_MS) /* nothing is planned for later */
#define CLEAN_NS   (20 * NS_PER_S)
#define REST_NS    (34 * NS_PER_S)
#define LEAVE_NS   (35 * NS_PER_S)
#define GONE_NS    (75 * NS_PER_S)
#define READ_NS    (3 * NS_PER_S) /* a client has read all of a job's output */
#define STOP_MS    900u
#define CLEANER    5u /* the client that ends what is left */
#define CLIENTS    4u
#define JOBS       12u
#define GROWTH_MAX 4u

struct world {
    struct checker checker;
    struct random_state random;
    struct sim_machine_config config;
    uint32_t nodes;
    uint64_t slots;
    bool is_known[CLIENTS + 1];
    struct daemon_totals *totals;
    uint64_t grow_ns; /* CHECKER_NEVER */
    uint64_t shrink_ns;
    struct ranges leaving;
};

/* One draw in an expression: their order would be the compiler's, and a seed another world. */
static uint64_t pick(struct world *world, uint64_t low, uint64_t high)
{
    return low + random_below(&world->random, high - low + 1);
}

static bool chance(struct world *world, double probability)
{
    return random_chance(&world->random, probability);
}

static uint64_t pick_ns(struct world *world, uint64_t first_ns)
{
    return pick(world, first_ns, LAST_NS);
}

/* ---- the machine ---- */

static void plan_machine(struct world *world, uint64_t seed, struct allocation *allocation)
{
    uint32_t slots = (uint32_t)pick(world, 1, 4);

    world->nodes = (uint32_t)(chance(world, 0.75) ? pick(world, 1, 10) : pick(world, 11, 59));
    allocation_generate(allocation, "n", world->nodes, slots);
    world->slots = (uint64_t)world->nodes * slots;
    world->config = (struct sim_machine_config){
        .allocation = allocation,
        .seed = seed,
        .daemon_ns = NS_PER_MS,
        .lease_ms = LEASE_MS,
        .more = GROWTH_MAX,
        .idle = 1,
        .policy = chance(world, 0.15) ? INSTANCE_LEAVES_WITH_JOB : INSTANCE_STAYS,
    };
    world->config.radix = (uint32_t)pick(world, 2, 6);
    world->config.latency_ns = pick(world, 5, 500) * NS_PER_US;
    world->config.jitter_ns = pick(world, 0, 500) * NS_PER_US;
    world->config.daemon_ns_max = pick(world, 1, 50) * NS_PER_MS;
    if (chance(world, 0.3))
        world->config.reader_byte_ns = pick(world, 1, 300);
}

/* Each place is hurt or stopped once at most: a stop is much shorter than a lease. */
static void plan_hurts(struct world *world)
{
    struct checker *checker = &world->checker;
    uint32_t deaths = chance(world, 0.25) ? (uint32_t)pick(world, 1, 2) : 0;
    uint32_t stops = chance(world, 0.25) ? (uint32_t)pick(world, 1, 3) : 0;
    struct ranges stopped = {0};

    for (uint32_t i = 0; i < deaths; i++) {
        uint32_t place = (uint32_t)pick(world, 1, world->nodes);
        uint64_t time_ns = pick_ns(world, READY_NS);

        sim_machine_kill_at(checker->machine, time_ns, place);
        checker_hurt(checker, time_ns, place);
        world->totals->hurt++;
    }
    for (uint32_t i = 0; i < stops; i++) {
        uint32_t place = (uint32_t)pick(world, 0, world->nodes);
        uint64_t time_ns = pick_ns(world, READY_NS);

        if (ranges_contains(&stopped, place))
            continue;
        ranges_add(&stopped, place, place);
        sim_machine_stop_at(checker->machine, time_ns, place);
        sim_machine_continue_at(checker->machine, time_ns + pick(world, 1, STOP_MS) * NS_PER_MS,
                                place);
        world->totals->stopped++;
        if (checker->verbose)
            diag("place %u is stopped at %.3f ms", place, (double)time_ns / NS_PER_MS);
    }
    ranges_fini(&stopped);
}

static void plan_growth(struct world *world)
{
    world->grow_ns = chance(world, 0.15) ? pick_ns(world, READY_NS) : CHECKER_NEVER;
    world->shrink_ns = chance(world, 0.15) ? pick_ns(world, READY_NS) : CHECKER_NEVER;
    if (world->shrink_ns != CHECKER_NEVER) {
        uint32_t place = (uint32_t)pick(world, 1, world->nodes);

        ranges_add(&world->leaving, place, place);
        checker_hurt(&world->checker, world->shrink_ns, place);
    }
}

/* ---- the users ---- */

static void pick_program(struct world *world, uint32_t processes, struct sim_program *ret_program)
{
    double one = 1.0 / processes;

    *ret_program = (struct sim_program){
        .start_ns_max = pick(world, 0, 5) * NS_PER_MS,
    };
    ret_program->step_ns_max = pick(world, 0, 300) * NS_PER_MS;
    ret_program->fences = (uint32_t)pick(world, 0, 3);
    ret_program->stubborn = chance(world, 0.2) ? 0.3 : 0;
    if (chance(world, 0.5))
        ret_program->output_bytes_max =
            (uint32_t)(chance(world, 0.2) ? pick(world, 1, 400000) : pick(world, 1, 5000));
    if (world->config.reader_byte_ns > 0) {
        uint64_t most =
            READ_NS / world->config.reader_byte_ns / processes / (ret_program->fences + 1);

        if (ret_program->output_bytes_max > most)
            ret_program->output_bytes_max = (uint32_t)most;
    }
    if (chance(world, 0.3)) {
        ret_program->fails = chance(world, 0.7) ? 2 * one : 0;
        ret_program->cannot_start = chance(world, 0.3) ? one : 0;
    }
    if (chance(world, 0.15))
        ret_program->endless = one;
}

static void plan_job(struct world *world, uint32_t clients)
{
    uint64_t most = chance(world, 0.6) ? world->slots / 4 + 1 : world->slots;
    struct placement_rule rule = {.policy =
                                      chance(world, 0.5) ? PLACEMENT_BY_NODE : PLACEMENT_BY_SLOT};
    struct sim_program program;
    uint64_t time_ns;

    rule.processes = (uint32_t)pick(world, 1, most < world->slots ? most : world->slots);
    pick_program(world, rule.processes, &program);
    time_ns = pick(world, 0, LAST_NS);
    (void)checker_run(&world->checker, time_ns, (uint32_t)pick(world, 1, clients), &rule, &program);
    world->totals->jobs++;
}

/* The first client began the instance, and ends it when it hangs up, unless it has detached from it. */
static void plan_first_client(struct world *world)
{
    struct checker *checker = &world->checker;

    if (!chance(world, 0.15))
        return;
    checker->instance_detach_ns = pick_ns(world, READY_NS);
    sim_machine_detach_at(checker->machine, checker->instance_detach_ns, 1, 0);
}

/* A client is there when it has made its first request. */
static void plan_hang_up(struct world *world, uint32_t client)
{
    struct checker *checker = &world->checker;
    uint64_t now_ns = sim_machine_now_ns(checker->machine);

    if (world->is_known[client])
        return;
    world->is_known[client] = true;
    if (!chance(world, client == 1 ? 0.1 : 0.25))
        return;
    checker_hang_up(checker, now_ns + pick(world, 0, 1500) * NS_PER_MS, client);
    world->totals->gone++;
}

/* What its user does is planned when the job has its number; so it is when it is cleaned up. */
static void accepted(struct checker *checker, struct checker_job *job)
{
    struct world *world = checker->context;
    struct sim_machine *machine = checker->machine;
    const struct control_end clean = {.status = 143, .reason = "cleaned up"};
    uint64_t now_ns = sim_machine_now_ns(machine);

    plan_hang_up(world, job->client);
    sim_machine_end_as(machine, CLEAN_NS, CLEANER, job->number, &clean);
    if (chance(world, 0.12)) {
        job->wish_ns = now_ns + pick(world, 0, 800) * NS_PER_MS;
        job->wish = (struct control_end){.status = 130, .at_once = chance(world, 0.2)};
        snprintf(job->wish.reason, sizeof(job->wish.reason), "job %u was interrupted", job->number);
        sim_machine_end_as(machine, job->wish_ns, job->client, job->number, &job->wish);
        if (checker->gone_ns[job->client] <= job->wish_ns)
            job->wish_ns = CHECKER_NEVER;
    }
    if (chance(world, 0.08) && checker->gone_ns[1] == CHECKER_NEVER) {
        job->signal_ns = now_ns + pick(world, 0, 500) * NS_PER_MS;
        sim_machine_signal_at(machine, job->signal_ns, job->number, SIGUSR1);
    }
    if (chance(world, 0.1)) {
        uint64_t time_ns = now_ns + pick(world, 0, 500) * NS_PER_MS;

        sim_machine_detach_at(machine, time_ns, job->client, job->number);
        if (checker->gone_ns[job->client] > time_ns)
            job->detach_ns = time_ns;
        world->totals->detached++;
    }
}

/* ---- one world ---- */

static void count(const struct checker *checker, struct daemon_totals *totals)
{
    totals->worlds++;
    for (uint32_t i = 0; i < checker->jobs_count; i++) {
        const struct checker_job *job = &checker->jobs[i];

        totals->stall_lines += job->stall_lines;
        for (uint32_t k = 0; k < job->calls_count; k++)
            totals->fences += job->calls[k].generation;
        if (job->reports == 0)
            continue;
        totals->well += job->report.status == 0;
        totals->wished +=
            job->wish_ns != CHECKER_NEVER && strcmp(job->report.text, job->wish.reason) == 0;
        totals->refused += job->tried == 0 && strstr(job->report.text, "slots") != NULL;
        totals->lost += strncmp(job->report.text, "lost node", 9) == 0;
        totals->failed += job->failures_count > 0;
    }
}

static void until(struct world *world, uint64_t time_ns)
{
    (void)sim_machine_run(world->checker.machine, time_ns);
}

static void grow_and_shrink(struct world *world)
{
    struct sim_machine *machine = world->checker.machine;
    uint64_t first_ns = world->grow_ns < world->shrink_ns ? world->grow_ns : world->shrink_ns;
    uint64_t last_ns = world->grow_ns < world->shrink_ns ? world->shrink_ns : world->grow_ns;

    for (int i = 0; i < 2; i++) {
        uint64_t time_ns = i == 0 ? first_ns : last_ns;

        if (time_ns == CHECKER_NEVER)
            return;
        until(world, time_ns);
        if (world->checker.verbose)
            diag("%.3f ms: the instance %s", (double)time_ns / NS_PER_MS,
                 time_ns == world->grow_ns ? "grows" : "shrinks");
        if (time_ns == world->grow_ns) {
            world->checker.added_slots = (uint32_t)pick(world, 1, 4);
            sim_machine_add_nodes(machine, (uint32_t)pick(world, 1, GROWTH_MAX),
                                  world->checker.added_slots);
        } else {
            world->totals->shrunk++;
            sim_machine_shrink(machine, &world->leaving);
        }
    }
}

static void plan_world(struct world *world)
{
    const struct control_end leave = {.status = 143, .reason = "the instance was ended"};
    struct checker *checker = &world->checker;
    uint32_t jobs = (uint32_t)pick(world, 1, JOBS), clients = (uint32_t)pick(world, 1, CLIENTS);

    plan_hurts(world);
    plan_growth(world);
    for (uint32_t i = 0; i < jobs; i++)
        plan_job(world, clients);
    plan_first_client(world);
    checker->leave_ns = LEAVE_NS;
    sim_machine_end_as(checker->machine, LEAVE_NS, CLEANER, 0, &leave);
}

static void go(struct world *world)
{
    struct checker *checker = &world->checker;

    grow_and_shrink(world);
    until(world, CLEAN_NS - NS_PER_MS);
    checker_judge_ends(checker);
    for (uint32_t i = 0; i < checker->jobs_count; i++) {
        struct checker_job *job = &checker->jobs[i];

        if (job->wish_ns == CHECKER_NEVER) {
            job->wish_ns = CLEAN_NS;
            job->wish = (struct control_end){.status = 143, .reason = "cleaned up"};
        }
    }
    until(world, REST_NS);
    world->totals->grown +=
        endpoint_population(sim_machine_endpoint(checker->machine, 0)) > world->nodes + 1;
    checker_judge_rest(checker);
    until(world, GONE_NS);
    checker_judge_gone(checker);
}

void daemon_world_run(uint64_t seed, bool verbose, struct daemon_totals *totals, char wrong[512])
{
    struct world world = {.totals = totals};
    struct checker *checker = &world.checker;
    struct allocation allocation;

    random_init(&world.random, seed);
    allocation_init(&allocation);
    plan_machine(&world, seed, &allocation);
    checker_init(checker, &allocation, world.config.more, world.config.policy);
    checker->context = &world;
    checker->accepted = accepted;
    checker->verbose = verbose;
    checker->machine = sim_machine_create(&world.config, &checker_watch, checker);
    plan_world(&world);
    go(&world);
    count(checker, totals);
    snprintf(wrong, 512, "%s", checker->wrong);
    sim_machine_destroy(checker->machine);
    checker_fini(checker);
    ranges_fini(&world.leaving);
    allocation_fini(&allocation);
}
