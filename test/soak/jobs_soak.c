/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random worlds of whole daemons in which several jobs overlap: sizes, programs, failures, wishes of
 * users and deaths of daemons follow from the seed.  Every job is reported once, with the status, the
 * first failure and the reason that follow from what happened to it (jobs_judge.h), whatever the others
 * do; the slots in use are those of the jobs that are left; no two bound jobs share a core; nothing is
 * kept of jobs that are over; no process starts on a node that was drained before its job came and is not
 * resumed yet; at the end the instance leaves.  JOBS_SOAK_SEEDS says how many,
 * JOBS_SOAK_SEED which is the first.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "alloc/node_pool.h"
#include "base/time.h"
#include "launch/sim/sim.h"
#include "test/soak/jobs_judge.h"
#include "test/support/tap.h"

#define JOBS_MAX   12u
#define SEEDS      400u
#define LAST_NS    (4000ull * NS_PER_MS)
#define LEAVE_NS   (60ull * NS_PER_S)
#define END_NS     (400ull * NS_PER_S)
#define PLACES_MAX 24u
#define START_NS   (500ull * NS_PER_MS) /* all daemons are up */
#define DRAIN_NS   (10ull * NS_PER_MS)  /* the root has heard of it */

struct soak {
    struct sim_machine *machine;
    struct random_state random;
    struct judge_job jobs[JOBS_MAX + 1];
    uint32_t jobs_count;
    uint32_t places;
    uint32_t deaths;
    struct soak_drain {
        uint32_t place; /* 0: none */
        uint64_t drain_ns;
        uint64_t resume_ns;
    } drain;
    uint64_t seed;
    const char *wrong;
    uint32_t wrong_job;
};

/* Of all worlds: a soak in which nothing happens tests nothing. */
static struct {
    uint32_t drained, removed;
    uint32_t jobs, well, failed, wished, refused, lost, most_at_once, bound_at_once;
} totals;

static void wrong(struct soak *soak, uint32_t job, const char *what)
{
    if (soak->wrong == NULL && what != NULL) {
        soak->wrong = what;
        soak->wrong_job = job;
    }
}

/* Slots are in use by the jobs of which something is left, and by nobody else; how many are free. */
static uint64_t check_slots(struct soak *soak, uint32_t job)
{
    const struct instance *root = sim_machine_instance(soak->machine, 0);
    const struct node_pool *book = instance_book(root);
    uint64_t used = 0, expected = 0, left = 0;

    for (uint32_t i = 1; i <= soak->jobs_count; i++)
        expected += instance_job_map(root, i) ? instance_job_map(root, i)->processes : 0;
    for (uint32_t node = 0; node < node_pool_count(book); node++) {
        struct node_record record;
        uint32_t usable;

        node_pool_node(book, node, &record);
        used += record.slots_used;
        usable = allocation_slots_of(instance_usable(root), node);
        if (record.state == NODE_UP && usable > record.slots_used)
            left += usable - record.slots_used;
    }
    if (used != expected)
        wrong(soak, job,
              "is reported, and the slots in use are not those of the jobs that are left");
    return left;
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    struct soak *soak = context;
    struct judge_job *fact = &soak->jobs[job];

    fact->end = *end;
    fact->report_ns = now_ns;
    fact->free_slots = check_slots(soak, job);
    if (++fact->reports > 1)
        wrong(soak, job, "is reported twice");
}

static void on_process(void *context, const struct sim_process_fact *process)
{
    struct soak *soak = context;
    struct judge_job *fact = &soak->jobs[process->job];
    const struct placement_map *map =
        instance_job_map(sim_machine_instance(soak->machine, 0), process->job);

    if (map != NULL)
        judge_process(fact, map, process);
    else if (process->fate == SIM_FATE_VANISHED)
        fact->vanished++;
    if (process->fate == SIM_FATE_STARTED && process->place == soak->drain.place &&
        fact->run_ns > soak->drain.drain_ns + DRAIN_NS && process->now_ns < soak->drain.resume_ns)
        wrong(soak, process->job, "starts a process on a drained node");
    if (process->fate == SIM_FATE_STARTED && fact->reports > 0 && soak->deaths == 0)
        wrong(soak, process->job, "starts a process after its report");
}

/* What the processes of a job that have not ended are bound to on a node. */
static void bound_threads(const struct instance *instance, uint32_t job, struct ranges *ret_threads)
{
    const struct job_local *part = instance_part(instance, job);

    ranges_clear(ret_threads);
    for (uint32_t i = 0; part != NULL && i < part->bindings.count; i++)
        if (!instance_part_has_ended(instance, job, i))
            ranges_add_all(ret_threads, &part->bindings.items[i].cpus);
}

static void check_cores(struct soak *soak, uint32_t job)
{
    struct ranges own = {0}, others = {0};

    for (uint32_t place = 1; place <= soak->places; place++) {
        const struct instance *instance = sim_machine_instance(soak->machine, place);

        if (instance == NULL)
            continue;
        bound_threads(instance, job, &own);
        for (uint32_t other = 1; !ranges_is_empty(&own) && other <= soak->jobs_count; other++) {
            if (other == job)
                continue;
            bound_threads(instance, other, &others);
            totals.bound_at_once += !ranges_is_empty(&others);
            if (ranges_overlap_set(&own, &others))
                wrong(soak, job, "is bound to a core of another job");
        }
    }
    ranges_fini(&own);
    ranges_fini(&others);
}

static void on_started(void *context, uint64_t now_ns, uint32_t job,
                       const struct control_started *started)
{
    struct soak *soak = context;
    uint32_t jobs = instance_jobs(sim_machine_instance(soak->machine, 0));

    (void)now_ns;
    if (started->processes != soak->jobs[job].processes)
        wrong(soak, job, "does not start as many processes as were asked for");
    if (jobs > totals.most_at_once)
        totals.most_at_once = jobs;
    check_cores(soak, job);
}

static const struct sim_watch watch = {.started = on_started,
                                       .report = on_report,
                                       .process = on_process};

/* One call in an expression: their order would be the compiler's, and a seed another world. */
static uint64_t pick(struct soak *soak, uint64_t bound)
{
    return random_below(&soak->random, bound);
}

/* By slot or node, or on cores; a user may want one end or none. */
static struct placement_rule plan_rule(struct soak *soak, uint32_t slots)
{
    struct placement_rule rule = {.policy = pick(soak, 2) ? PLACEMENT_BY_NODE : PLACEMENT_BY_SLOT};
    uint32_t most = pick(soak, 3) ? slots / 4 + 1 : slots;

    rule.processes = 1 + (uint32_t)pick(soak, most);
    if (pick(soak, 3) == 0) {
        rule.policy = PLACEMENT_BY_OBJECT;
        rule.level = pick(soak, 2) ? TOPOLOGY_CORE : TOPOLOGY_PACKAGE;
    } else if (pick(soak, 4) == 0) {
        rule.pe = 1 + (uint32_t)pick(soak, 6);
    }
    rule.oversubscribe = pick(soak, 8) == 0;
    return rule;
}

static void plan_job(struct soak *soak, uint64_t time_ns, uint32_t slots)
{
    struct placement_rule rule = plan_rule(soak, slots);
    struct sim_program program = {.start_ns_max = 5 * NS_PER_MS};
    const struct control_end end = {.status = 130, .reason = "interrupted"};
    uint32_t job = ++soak->jobs_count;
    struct judge_job *fact = &soak->jobs[job];

    *fact =
        (struct judge_job){.processes = rule.processes, .run_ns = time_ns, .wish_ns = UINT64_MAX};
    program.step_ns_max = (1 + pick(soak, 200)) * NS_PER_MS;
    program.fences = (uint32_t)pick(soak, 4);
    program.output_bytes_max = pick(soak, 2) ? 20000 : 0;
    fact->harmless = pick(soak, 3) > 0;
    if (!fact->harmless) {
        program.fails = 0.3;
        program.cannot_start = 0.05;
        program.endless = 0.1;
        program.stubborn = 0.3;
        if (pick(soak, 3) == 0)
            program.step_ns_max = NS_PER_MS / 5; /* several ranks fail at the same time */
    }
    sim_machine_run_job_at(soak->machine, time_ns, &rule, &program);
    if (pick(soak, 4) == 0) {
        fact->wish_ns = time_ns + pick(soak, 500 * NS_PER_MS);
        sim_machine_end_at(soak->machine, fact->wish_ns, job, &end);
    }
}

static int compare_times(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

/* In some worlds a node is drained for a while, in some one is removed, which its jobs may wait for or not. */
static void plan_nodes(struct soak *soak)
{
    enum node_list_when when = pick(soak, 2) ? NODE_LIST_FORCE : NODE_LIST_WAIT;
    struct soak_drain *drain = &soak->drain;
    uint32_t place = 1 + (uint32_t)pick(soak, soak->places);
    uint64_t time_ns = START_NS + pick(soak, LAST_NS);

    if (pick(soak, 3) == 0) {
        totals.drained++;
        *drain = (struct soak_drain){.place = place, .drain_ns = time_ns};
        drain->resume_ns = time_ns + pick(soak, LAST_NS);
        sim_machine_nodes_at(soak->machine, drain->drain_ns, NODE_LIST_DRAIN, NODE_LIST_UNUSED,
                             place);
        sim_machine_nodes_at(soak->machine, drain->resume_ns, NODE_LIST_RESUME, NODE_LIST_UNUSED,
                             place);
    } else if (pick(soak, 4) == 0) {
        totals.removed++;
        soak->deaths++; /* to jobs it is the same */
        sim_machine_nodes_at(soak->machine, time_ns, NODE_LIST_REMOVE, when, place);
    }
}

/* Numbers are given in the order of time, so jobs are planned in that order. */
static void plan_world(struct soak *soak, uint32_t slots)
{
    const struct control_end leave = {.status = 143, .reason = "the instance was ended"};
    uint32_t jobs = 2 + (uint32_t)pick(soak, JOBS_MAX - 1);
    uint64_t times_ns[JOBS_MAX + 1];

    for (uint32_t i = 0; i < jobs; i++)
        times_ns[i] = pick(soak, LAST_NS);
    qsort(times_ns, jobs, sizeof(times_ns[0]), compare_times);
    for (uint32_t i = 0; i < jobs; i++)
        plan_job(soak, times_ns[i] + i, slots);
    soak->deaths = pick(soak, 3) == 0 ? 1 + (uint32_t)pick(soak, 2) : 0;
    for (uint32_t i = 0; i < soak->deaths; i++) {
        uint64_t time_ns = pick(soak, LAST_NS);

        sim_machine_kill_at(soak->machine, time_ns, 1 + (uint32_t)pick(soak, soak->places));
    }
    plan_nodes(soak);
    sim_machine_leave_at(soak->machine, LEAVE_NS, &leave);
}

static void check_job(struct soak *soak, uint32_t job)
{
    wrong(soak, job, judge_report(&soak->jobs[job], (int)soak->deaths));
}

static void count(const struct control_job_end *end)
{
    totals.jobs++;
    totals.well += end->status == 0;
    totals.wished += end->status == 130;
    totals.refused += strstr(end->text, "slots") != NULL;
    totals.lost += strstr(end->text, "lost node") != NULL;
    totals.failed += strstr(end->text, "rank ") != NULL;
}

static void check_kept(struct soak *soak)
{
    const struct instance *root = sim_machine_instance(soak->machine, 0);

    if (root != NULL && instance_kept_jobs(root) > 0)
        wrong(soak, 0, "the root keeps jobs that are over");
    for (uint32_t place = 1; place <= soak->places; place++) {
        const struct instance *instance = sim_machine_instance(soak->machine, place);

        if (instance != NULL && instance_parts(instance) > 0)
            wrong(soak, place, "this place keeps a part of a job that is over");
    }
}

static void soak_run(uint64_t seed)
{
    struct soak soak = {.seed = seed};
    struct sim_machine_config config = {.latency_ns = 50000,
                                        .jitter_ns = 20000,
                                        .seed = seed,
                                        .daemon_ns = NS_PER_MS,
                                        .idle = 1,
                                        .policy = INSTANCE_STAYS};
    struct allocation allocation;
    uint32_t slots;

    random_init(&soak.random, seed);
    soak.places = 1 + (uint32_t)pick(&soak, PLACES_MAX);
    slots = 1 + (uint32_t)pick(&soak, pick(&soak, 4) ? 4 : 20);
    config.machine_sorts = 1 + (uint32_t)pick(&soak, 8);
    config.radix = 2 + (uint32_t)pick(&soak, 4);
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", soak.places, slots);
    config.allocation = &allocation;
    soak.machine = sim_machine_create(&config, &watch, &soak);
    plan_world(&soak, soak.places * slots);
    (void)sim_machine_run(soak.machine, LEAVE_NS - NS_PER_S);
    for (uint32_t job = 1; job <= soak.jobs_count; job++)
        if (soak.jobs[job].reports > 0)
            check_job(&soak, job);
    if (soak.deaths == 0 && sim_machine_instance(soak.machine, 0) != NULL &&
        instance_jobs(sim_machine_instance(soak.machine, 0)) == 0)
        check_kept(&soak);
    if (!sim_machine_run(soak.machine, END_NS))
        wrong(&soak, 0, "the instance does not end");
    for (uint32_t job = 1; job <= soak.jobs_count; job++) {
        check_job(&soak, job);
        count(&soak.jobs[job].end);
    }
    if (soak.wrong != NULL)
        fail("seed %llu: job %u %s (status %u: %s); again: JOBS_SOAK_SEED=%llu JOBS_SOAK_SEEDS=1",
             (unsigned long long)seed, soak.wrong_job, soak.wrong,
             soak.jobs[soak.wrong_job].end.status, soak.jobs[soak.wrong_job].end.text,
             (unsigned long long)seed);
    for (uint32_t job = 1; job <= soak.jobs_count; job++)
        judge_job_fini(&soak.jobs[job]);
    sim_machine_destroy(soak.machine);
    allocation_fini(&allocation);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 0) : otherwise;
}

int main(void)
{
    uint64_t first = setting("JOBS_SOAK_SEED", 1), seeds = setting("JOBS_SOAK_SEEDS", SEEDS);

    for (uint64_t seed = first; seed < first + seeds; seed++)
        soak_run(seed);
    diag("%u jobs: %u ended well, %u by a rank, %u by their user, %u were refused, %u lost a node; "
         "at most %u at once, %u pairs of bound ones on a node; %u nodes were drained, %u removed",
         totals.jobs, totals.well, totals.failed, totals.wished, totals.refused, totals.lost,
         totals.most_at_once, totals.bound_at_once, totals.drained, totals.removed);
    ok(seeds < SEEDS || (totals.well > 0 && totals.failed > 0 && totals.wished > 0 &&
                         totals.refused > 0 && totals.drained > 0 && totals.removed > 0 &&
                         totals.lost > 0 && totals.most_at_once > 2 && totals.bound_at_once > 50),
       "%llu worlds with several jobs each", (unsigned long long)seeds);
    return done_testing();
}
