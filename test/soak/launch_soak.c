/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole daemons in random worlds: machines of 2 to 5,000 places, random jobs, failures of
 * processes, daemons that do not come up, die or are stopped, users who press Ctrl-C, all from a
 * seed.  SEED=n runs one of them, SEEDS=n that many.
 */
#include "config.h"

#include "base/time.h"
#include "launch/sim/sim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_local.h"
#include "base/buffer.h"
#include "base/random.h"
#include "overlay/tree.h"
#include "test/support/launch_checker.h"
#include "test/support/tap.h"

#ifdef BANYAN_SANITIZED
#define SEEDS_DEFAULT 1500 /* the sanitizers look at the code, not at the protocol */
#else
#define SEEDS_DEFAULT 15000
#endif
/* Whoever waits for a job that does not end presses Ctrl-C. */
#define PATIENCE_MS 30000u
/* Everything is over so long after the last disturbance. */
#define OVER_MS 100000u
/* What a slow reader may take for all output. */
#define READER_MS 5000u
/* Silent for so long nobody is lost: half of a lease less two heartbeats. */
#define LEASE_MS 8000u
#define BLUR_MS  500u
/* At most so many relays die at the worst moment. */
#define HUNTED_MAX 3u

struct totals {
    uint64_t places, events, processes, deaths, well, failed, lost, not_started, interrupted, bound;
};

static struct random_state hunter;

/* One draw in an expression: their order would be the compiler's, and a seed another world. */
static uint64_t pick(struct random_state *random, uint64_t low, uint64_t high)
{
    return low + random_below(random, high - low + 1);
}

static uint32_t pick_places(struct random_state *random)
{
    uint64_t choice = random_below(random, 1000);

    if (choice < 650)
        return (uint32_t)pick(random, 2, 12);
    if (choice < 930)
        return (uint32_t)pick(random, 13, 100);
    if (choice < 997)
        return (uint32_t)pick(random, 101, 600);
    return (uint32_t)pick(random, 601, 5000);
}

/* Nodes without slots are relays only. */
static void pick_allocation(struct random_state *random, struct allocation *ret_allocation)
{
    uint32_t nodes = pick_places(random) - 1;
    uint32_t slots = (uint32_t)pick(random, 1, 4);
    double idle = nodes < 300 && random_chance(random, 0.3) ? random_unit(random) : 0;
    char name[32];

    allocation_init(ret_allocation);
    if (idle <= 0) {
        allocation_generate(ret_allocation, "n", nodes, slots);
        return;
    }
    for (uint32_t i = 1; i <= nodes; i++) {
        snprintf(name, sizeof name, "n%u", i);
        allocation_add(ret_allocation, name, i < nodes && random_chance(random, idle) ? 0 : slots);
    }
}

/* Processes that the rule gives; 0 if it cannot be had on these machines. */
static uint32_t count_processes(const struct sim_machine_config *config)
{
    struct placement placement = {0};
    struct placement_map map;
    uint32_t processes = 0;

    placement_add(&placement, &config->rule);
    for (uint32_t i = 0;
         placement_wants_topology(&placement) && i < allocation_nodes(config->allocation); i++)
        sim_machine_add(config->machine_sorts, i + 1, &placement.machines);
    if (placement_map_make(&map, &placement, config->allocation, NULL) == 0) {
        if (placement_map_check(&map, config->allocation, NULL) == 0)
            processes = map.processes;
        placement_map_fini(&map);
    }
    placement_fini(&placement);
    return processes;
}

/* Cores matter: the parts are hashed with them. */
static void pick_binding(struct random_state *random, struct sim_machine_config *config)
{
    static const enum topology_level levels[] = {TOPOLOGY_PACKAGE, TOPOLOGY_CORE, TOPOLOGY_THREAD};
    struct placement_rule *rule = &config->rule;

    config->machine_sorts = (uint32_t)pick(random, 1, 8);
    if (random_chance(random, 0.5)) {
        rule->level = levels[random_below(random, 3)];
        if (rule->policy != PLACEMENT_PER_OBJECT)
            rule->policy = PLACEMENT_BY_OBJECT;
    }
    if (random_chance(random, 0.3))
        rule->pe = (uint32_t)pick(random, 1, 3);
    rule->span = random_chance(random, 0.2) && rule->policy != PLACEMENT_PER_OBJECT;
    if (random_chance(random, 0.5)) {
        rule->bind = PLACEMENT_BIND_LEVEL;
        rule->bind_level = levels[random_below(random, 3)];
    }
    if (random_chance(random, 0.3))
        rule->rank_by = (enum placement_rank_by)random_below(random, PLACEMENT_RANK_BY_COUNT);
}

static void pick_rule(struct random_state *random, struct sim_machine_config *config)
{
    uint64_t slots = allocation_slots(config->allocation);
    static const enum placement_policy policies[] = {PLACEMENT_BY_SLOT, PLACEMENT_BY_NODE,
                                                     PLACEMENT_PER_OBJECT};
    struct placement_rule plain;

    config->rule.policy = policies[random_below(random, 3)];
    if (config->rule.policy == PLACEMENT_PER_OBJECT)
        config->rule.per = 1;
    else if (random_chance(random, 0.5))
        config->rule.processes = (uint32_t)pick(random, 1, slots);
    else
        config->rule.processes = (uint32_t)pick(random, 1, slots < 8 ? slots : 8);
    plain = config->rule;
    if (allocation_nodes(config->allocation) < 300 && random_chance(random, 0.4))
        pick_binding(random, config);
    if (count_processes(config) == 0)
        config->rule = plain;
    config->rule.processes = count_processes(config);
    if (config->rule.processes == 0)
        bail_out("a plain rule cannot be placed");
}

/* The more processes, the fewer of them are special: else no job would ever end well. */
static void pick_program(struct random_state *random, struct sim_machine_config *config)
{
    struct sim_program *program = &config->program;
    double one = 1.0 / config->rule.processes;

    program->start_ns_max = pick(random, 0, 5) * NS_PER_MS;
    program->step_ns_max = pick(random, 0, 200) * NS_PER_MS;
    program->fences = random_chance(random, 0.5) ? (uint32_t)pick(random, 1, 3) : 0;
    program->output_bytes_max = random_chance(random, 0.5) ? (uint32_t)pick(random, 1, 2000) : 0;
    if (random_chance(random, 0.1))
        program->output_bytes_max = (uint32_t)pick(random, 1, 400000) / config->rule.processes;
    if (random_chance(random, 0.3)) {
        uint64_t bytes_max =
            (uint64_t)program->output_bytes_max * (program->fences + 1) * config->rule.processes;

        config->reader_byte_ns = random_below(random, READER_MS * NS_PER_MS / (bytes_max + 1));
    }
    program->cannot_start = random_chance(random, 0.1) ? one * random_unit(random) : 0;
    program->fails = random_chance(random, 0.4) ? 2 * one * random_unit(random) : 0;
    program->endless = random_chance(random, 0.1) ? one : 0;
    program->stubborn = random_chance(random, 0.2) ? 0.3 : 0;
}

static void pick_config(struct random_state *random, uint64_t seed,
                        const struct allocation *allocation, struct sim_machine_config *ret_config)
{
    uint32_t places = allocation_nodes(allocation) + 1;

    *ret_config = (struct sim_machine_config){
        .lease_ms = LEASE_MS, /* as in the checker's bounds */
        .allocation = allocation,
        .seed = seed,
    };
    ret_config->radix =
        (uint32_t)(random_chance(random, 0.5) ? pick(random, 2, 4) : pick(random, 5, 32));
    ret_config->latency_ns = pick(random, 1, 100) * NS_PER_US;
    ret_config->jitter_ns = pick(random, 0, 2000) * NS_PER_US;
    ret_config->daemon_ns_max = pick(random, 1, 100) * NS_PER_MS;
    if (random_chance(random, 0.2)) { /* more is under way when somebody dies */
        ret_config->latency_ns = pick(random, 1, 20) * NS_PER_MS;
        ret_config->jitter_ns = pick(random, 0, 50) * NS_PER_MS;
    }
    if (random_chance(random, 0.1))
        ret_config->daemon_fails = random_unit(random) * 2 / places;
    if (random_chance(random, 0.03))
        ret_config->daemon_silent = random_unit(random) * 2 / places;
    pick_rule(random, ret_config);
    pick_program(random, ret_config);
}

/* ---- disturbances ---- */

static void disturbed(struct checker *checker, uint64_t time_ns)
{
    if (time_ns > checker->disturbed_ns)
        checker->disturbed_ns = time_ns;
}

/* When things happen: mostly while the job starts, runs or ends. */
static uint64_t pick_time(struct random_state *random)
{
    uint64_t range_ms = random_chance(random, 0.5) ? 300 : 2000;

    return random_below(random, range_ms * NS_PER_MS);
}

static void pick_death(struct random_state *random, struct checker *checker, uint32_t place,
                       uint64_t time_ns)
{
    uint64_t until_ns = time_ns + random_below(random, 20000 * NS_PER_MS);
    int only_stopped = random_chance(random, 0.15);

    ranges_add(&checker->killed, place, place);
    if (only_stopped) {
        checker->stopped = 1;
        sim_machine_stop_at(checker->machine, time_ns, place);
        sim_machine_continue_at(checker->machine, until_ns, place);
    } else {
        sim_machine_kill_at(checker->machine, time_ns, place);
    }
    disturbed(checker, only_stopped ? until_ns : time_ns);
    if (checker->verbose)
        diag("n%u is %s at %.3f ms", place, only_stopped ? "stopped" : "killed",
             (double)time_ns / NS_PER_MS);
}

/* Daemons, or the root, do nothing for a while, most of them for about an eighth or a quarter of a
 * lease: that may cost time and nothing else. */
static void pick_stops(struct random_state *random, struct checker *checker)
{
    uint32_t nodes = allocation_nodes(checker->config->allocation);
    uint32_t stops = (uint32_t)pick(random, 1, 3);

    for (uint32_t i = 0; i < stops; i++) {
        uint32_t place = (uint32_t)pick(random, 0, nodes);
        uint64_t time_ns = pick_time(random);
        uint64_t length_ms = LEASE_MS / 8 * pick(random, 0, 2);

        length_ms += random_below(random, BLUR_MS);
        sim_machine_stop_at(checker->machine, time_ns, place);
        sim_machine_continue_at(checker->machine, time_ns + length_ms * NS_PER_MS, place);
        disturbed(checker, time_ns + length_ms * NS_PER_MS);
        checker->paused_ms += length_ms;
        if (checker->verbose)
            diag("n%u is stopped at %.3f ms for %llu ms", place, (double)time_ns / NS_PER_MS,
                 (unsigned long long)length_ms);
    }
}

/* What a process's end sends up is lost with the relay above, if that dies now. */
static void hunt(struct checker *checker, uint32_t place)
{
    const struct sim_machine_config *config = checker->config;
    struct tree tree = {.places = allocation_nodes(config->allocation) + 1,
                        .radix = config->radix,
                        .dead = &checker->lost};
    uint64_t way_ns = 2 * (config->latency_ns + config->jitter_ns);
    uint32_t relay = ranges_contains(&checker->lost, place) ? 0 : tree_parent(&tree, place);
    uint64_t time_ns = sim_machine_now_ns(checker->machine) + random_below(&hunter, way_ns + 1);

    if (relay == 0 || ranges_count(&checker->killed) >= HUNTED_MAX || random_chance(&hunter, 0.5))
        return;
    ranges_add(&checker->killed, relay, relay);
    sim_machine_kill_at(checker->machine, time_ns, relay);
    disturbed(checker, time_ns);
    if (checker->verbose)
        diag("n%u is hunted at %.3f ms", relay, (double)time_ns / NS_PER_MS);
}

static void pick_deaths(struct random_state *random, struct checker *checker)
{
    uint32_t nodes = allocation_nodes(checker->config->allocation);
    uint32_t deaths = (uint32_t)pick(random, 1, 4);

    for (uint32_t i = 0; i < deaths; i++) {
        uint32_t place = (uint32_t)pick(random, 1, nodes);

        pick_death(random, checker, place, pick_time(random));
    }
}

static void wish(struct checker *checker, uint64_t time_ns, int at_once)
{
    struct control_end end = {.status = 130, .at_once = (uint8_t)at_once, .reason = "interrupted"};

    sim_machine_end_at(checker->machine, time_ns, 1, &end);
    if (time_ns < checker->end_ns)
        checker->end_ns = time_ns;
    checker->end = end;
    disturbed(checker, time_ns);
}

static void pick_user(struct random_state *random, struct checker *checker)
{
    uint64_t time_ns = pick_time(random);

    if (random_chance(random, 0.2)) {
        wish(checker, time_ns, 0);
        if (random_chance(random, 0.3))
            wish(checker, time_ns + random_below(random, 2500 * NS_PER_MS), 1);
    }
    if (random_chance(random, 0.05))
        sim_machine_signal_at(checker->machine, pick_time(random), 1, SIGUSR1);
    checker->patience_ns = PATIENCE_MS * NS_PER_MS;
    wish(checker, checker->patience_ns, 0);
}

/* ---- one world ---- */

static void count(struct totals *totals, const struct checker *checker)
{
    totals->places += allocation_nodes(checker->config->allocation) + 1;
    totals->events += sim_machine_events(checker->machine);
    totals->processes += checker->processes_started;
    totals->deaths += ranges_count(&checker->killed);
    totals->bound += placement_wants_topology(&checker->placement) != 0;
    if (checker->report.status == 0)
        totals->well++;
    else if (checker->report.status == 130)
        totals->interrupted++;
    else if (strncmp(checker->report.text, "lost node", 9) == 0)
        totals->lost++;
    else if (checker->processes_started == 0)
        totals->not_started++;
    else
        totals->failed++;
}

static int run_seed(uint64_t seed, struct totals *totals, int verbose)
{
    struct sim_machine_config config;
    struct allocation allocation;
    struct random_state random;
    struct checker checker;
    struct buffer rule = {0};
    int all_gone, right;

    random_init(&random, seed);
    pick_allocation(&random, &allocation);
    pick_config(&random, seed, &allocation, &config);
    checker_init(&checker, &config);
    checker.verbose = verbose;
    checker.machine = sim_machine_create(&config, &checker_watch, &checker);
    if (random_chance(&random, 0.4))
        pick_deaths(&random, &checker);
    random_init(&hunter, seed);
    if (random_chance(&hunter, 0.3))
        pick_stops(&hunter, &checker);
    if (random_chance(&random, 0.2))
        checker.process_ended = hunt;
    pick_user(&random, &checker);
    all_gone = sim_machine_run(checker.machine, checker.disturbed_ns + OVER_MS * NS_PER_MS);
    right = checker_judge(&checker, all_gone);
    count(totals, &checker);
    placement_rule_print(&config.rule, &rule);
    if (verbose || !right)
        diag("seed %llu: %u places, radix %u, %u processes by %s, %llu dead; report at %llu ms: "
             "%u: %s",
             (unsigned long long)seed, allocation_nodes(&allocation) + 1, config.radix,
             config.rule.processes, buffer_string(&rule),
             (unsigned long long)ranges_count(&checker.killed),
             (unsigned long long)(checker.report_ns / NS_PER_MS), checker.report.status,
             checker.report.text);
    if (!right)
        diag("%s; to see it again: SEED=%llu test/soak/launch_soak.t", checker.wrong,
             (unsigned long long)seed);
    buffer_fini(&rule);
    sim_machine_destroy(checker.machine);
    checker_fini(&checker);
    allocation_fini(&allocation);
    return right;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

/* Everything follows from the seed. */
static void test_repeatable(void)
{
    struct totals first = {0}, second = {0};

    for (uint64_t seed = 1; seed <= 20; seed++) {
        (void)run_seed(seed, &first, 0);
        (void)run_seed(seed, &second, 0);
    }
    ok(memcmp(&first, &second, sizeof first) == 0, "a seed makes the same world every time");
}

int main(void)
{
    uint64_t seeds = number_of("SEEDS", SEEDS_DEFAULT);
    uint64_t only = number_of("SEED", 0);
    struct totals totals = {0};
    uint64_t wrong = 0;

    if (only > 0) {
        ok(run_seed(only, &totals, 1), "seed %llu", (unsigned long long)only);
        return done_testing();
    }
    for (uint64_t seed = 1; seed <= seeds && wrong < 10; seed++)
        wrong += !run_seed(seed, &totals, 0);
    is_uint(wrong, 0, "%llu worlds come out right", (unsigned long long)seeds);
    diag(
        "%llu places, %llu events, %llu processes, %llu deaths; jobs: %llu well, %llu failed, %llu "
        "lost a node, %llu were not started, %llu interrupted; %llu on cores",
        (unsigned long long)totals.places, (unsigned long long)totals.events,
        (unsigned long long)totals.processes, (unsigned long long)totals.deaths,
        (unsigned long long)totals.well, (unsigned long long)totals.failed,
        (unsigned long long)totals.lost, (unsigned long long)totals.not_started,
        (unsigned long long)totals.interrupted, (unsigned long long)totals.bound);
    test_repeatable();
    return done_testing();
}
