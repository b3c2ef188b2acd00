/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One instance that runs jobs one after the other and beside each other: after many of them the daemons keep
 * what they kept after few.  FLAT_SOAK_JOBS says how many.  The CPU time of a job, of all daemons together, and the
 * memory in use are shown and not judged: the simulator itself keeps every job and process that it has had.
 */
#include "config.h"

#include <malloc.h>
#include <stdlib.h>
#include <time.h>

#include "alloc/allocation.h"
#include "base/time.h"
#include "launch/sim/sim.h"
#include "test/support/tap.h"

#define FIRST_JOBS 1000u
#define JOBS       4000u
#define BATCH_JOBS 100u
#define PLACES     14u
#define PAUSE_NS   (3ull * NS_PER_MS) /* between the beginnings of two jobs */
#define REST_NS    (10ull * NS_PER_S) /* by then the last one has ended, too */

struct flat {
    struct sim_machine *machine;
    uint32_t reports, failures;
};

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    struct flat *flat = context;

    (void)now_ns;
    (void)job;
    flat->reports++;
    flat->failures += end->status != 0;
}

static const struct sim_watch watch = {.report = on_report};

static double cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* What the overlay keeps at all places together. */
static uint32_t kept_in_tree(const struct sim_machine *machine)
{
    uint32_t kept = 0;

    for (uint32_t place = 0; place <= PLACES; place++) {
        const struct endpoint *node = sim_machine_endpoint(machine, place);

        kept += endpoint_kept_entries(node) + endpoint_kept_operations(node) +
                endpoint_kept_series(node);
    }
    return kept;
}

/* Until that many have been run; the CPU time of one of them. */
static double run_until(struct flat *flat, uint32_t jobs, uint32_t *begun)
{
    const struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT, .processes = 2};
    const struct sim_program program = {.step_ns_max = 5 * NS_PER_MS, .fences = 1};
    uint32_t first = *begun;
    double start_us = cpu_us();

    while (*begun < jobs) {
        uint64_t now_ns = sim_machine_now_ns(flat->machine);

        for (uint32_t i = 0; i < BATCH_JOBS; i++, (*begun)++)
            sim_machine_run_job_at(flat->machine, now_ns + i * PAUSE_NS, &rule, &program);
        (void)sim_machine_run(flat->machine, now_ns + BATCH_JOBS * PAUSE_NS);
    }
    (void)sim_machine_run(flat->machine, sim_machine_now_ns(flat->machine) + REST_NS);
    return (cpu_us() - start_us) / (jobs - first);
}

static void judge(const struct flat *flat, uint32_t jobs, uint32_t kept)
{
    is_uint(flat->reports, jobs, "each of %u jobs is reported once", jobs);
    is_uint(flat->failures, 0, "and ended well");
    is_uint(instance_kept_jobs(sim_machine_instance(flat->machine, 0)), 0,
            "the root keeps nothing of them");
    is_uint(kept_in_tree(flat->machine), kept, "nor do relays and nodes");
}

int main(void)
{
    const char *wanted = getenv("FLAT_SOAK_JOBS");
    uint32_t jobs = wanted != NULL ? (uint32_t)strtoul(wanted, NULL, 10) : JOBS;
    struct flat flat = {.machine = NULL};
    struct sim_machine_config config = {.latency_ns = 50000,
                                        .seed = 1,
                                        .radix = 2,
                                        .daemon_ns = NS_PER_MS,
                                        .idle = 1,
                                        .policy = INSTANCE_STAYS};
    struct allocation allocation;
    uint32_t kept = 0, begun = 0;

    if (jobs < FIRST_JOBS || jobs % BATCH_JOBS != 0)
        bail_out("FLAT_SOAK_JOBS: a multiple of %u from %u on", BATCH_JOBS, FIRST_JOBS);
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", PLACES, 1);
    config.allocation = &allocation;
    flat.machine = sim_machine_create(&config, &watch, &flat);
    for (uint64_t until = FIRST_JOBS; begun < jobs; until = until * 10 < jobs ? until * 10 : jobs) {
        double job_us = run_until(&flat, (uint32_t)until, &begun);

        if (until == FIRST_JOBS)
            kept = kept_in_tree(flat.machine);
        judge(&flat, (uint32_t)until, kept);
        diag("after %u jobs: %.1f us of CPU time for each, %zu KiB in use", begun, job_us,
             mallinfo2().uordblks / 1024);
    }
    sim_machine_leave(flat.machine);
    (void)sim_machine_run(flat.machine, sim_machine_now_ns(flat.machine) + 60 * NS_PER_S);
    sim_machine_destroy(flat.machine);
    allocation_fini(&allocation);
    return done_testing();
}
