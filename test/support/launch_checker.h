/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches a simulated machine (launch/sim/sim.h) and judges in the end, by what it has seen happen and
 * by nothing of the job logic's own, whether the report was right: once, in time, with a status and
 * a text for which there is a reason, and with nothing left behind.
 */
#ifndef TEST_SUPPORT_LAUNCH_CHECKER_H
#define TEST_SUPPORT_LAUNCH_CHECKER_H

#include <stdint.h>

#include "alloc/placement_map.h"
#include "base/ranges.h"
#include "launch/sim/sim.h"

/* A process that failed by itself, or could not be started. */
struct checker_failure {
    uint64_t time_ns;
    uint32_t place;
    uint32_t index;
    enum sim_fate fate;
    int number;
    int abnormal;
    const char *text;
};

/* The status that a job reports for it, the line (what can be done about it may follow), and how much it
 * explains: 2 for a start, 1 for an abort. */
uint32_t checker_failure_status(const struct checker_failure *failure);
void checker_failure_text(const struct placement_map *map, const struct checker_failure *failure,
                          char *text, size_t text_bytes);
int checker_failure_weight(const struct checker_failure *failure);

struct checker {
    struct sim_machine *machine;
    const struct sim_machine_config *config;
    struct placement placement; /* of its rule */
    struct placement_map map;
    /* Is told when a process ends by itself; may be NULL. */
    void (*process_ended)(struct checker *checker, uint32_t place);
    /* what was arranged */
    uint64_t end_ns;      /* the user's first wish to end; UINT64_MAX: none */
    uint64_t patience_ns; /* his last, if the job has not ended by then */
    struct control_end end;
    struct ranges killed;  /* or stopped, at any time */
    struct ranges lost;    /* for the root */
    int stopped;           /* some were */
    uint64_t paused_ms;    /* so long in all places were stopped that nobody may lose */
    uint64_t disturbed_ns; /* the last kill, stop, continue or wish */
    /* what happened */
    uint64_t processes_started;
    uint64_t processes_well;
    uint32_t *starts; /* by place */
    uint32_t *living; /* by place */
    uint64_t output_at_report_bytes;
    struct checker_failure *failures;
    uint32_t failures_count;
    uint32_t reports;
    uint64_t report_ns;
    struct control_job_end report;
    uint32_t started;
    uint64_t started_processes;
    uint64_t root_ended_ns; /* UINT64_MAX: not yet */
    uint64_t living_at_end;
    int verbose;     /* tells what happens, as a comment */
    char wrong[512]; /* the first thing that is not right, "" if all is */
};

extern const struct sim_watch checker_watch;

void checker_init(struct checker *checker, const struct sim_machine_config *config);
/* After the run; 0 if something is wrong. */
int checker_judge(struct checker *checker, int all_gone);
void checker_fini(struct checker *checker);

#endif
