/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of several jobs in a world of whole daemons: what its processes did, what its user wished, what the
 * root reported; and whether that report is the one that follows.
 */
#ifndef TEST_SOAK_JOBS_JUDGE_H
#define TEST_SOAK_JOBS_JUDGE_H

#include "launch/sim/sim.h"

/* A process that failed by itself, or could not be started. */
struct judge_failure {
    uint64_t time_ns;
    uint32_t status;
    int weight; /* checker_failure_weight */
    char text[256];
};

struct judge_job {
    uint32_t processes; /* that were asked for */
    uint64_t run_ns;
    uint64_t wish_ns; /* its user asks for its end; UINT64_MAX: never */
    uint8_t harmless; /* its program does nothing wrong */
    uint32_t reports;
    uint64_t report_ns;
    struct control_job_end end;
    uint64_t last_end_ns; /* of a process */
    uint32_t ended_well;
    uint32_t vanished;
    uint64_t free_slots; /* when it was reported */
    struct judge_failure *failures;
    uint32_t failures_count;
};

void judge_job_fini(struct judge_job *job);
/* A process of it has done something. */
void judge_process(struct judge_job *job, const struct placement_map *map,
                   const struct sim_process_fact *fact);
/* NULL, or what is wrong; with deaths of daemons less is certain. */
const char *judge_report(const struct judge_job *job, int deaths);

#endif
