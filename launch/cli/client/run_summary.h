/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a run after its end: for --json and --verbose.
 */
#ifndef LAUNCH_CLI_CLIENT_RUN_SUMMARY_H
#define LAUNCH_CLI_CLIENT_RUN_SUMMARY_H

#include <stdint.h>

#include "base/error.h"
#include "launch/cli/request/request.h"
#include "launch/proto/profile.h"

enum run_phase {
    RUN_PHASE_FORKED,       /* the root has been forked */
    RUN_PHASE_STARTED,      /* all processes run */
    RUN_PHASE_FIRST_OUTPUT, /* has arrived */
    RUN_PHASE_ENDED,        /* the job has */
    RUN_PHASE_GONE,         /* the root and all daemons have ended, too */
    RUN_PHASE_COUNT
};

enum run_failure {
    RUN_FAILURE_NONE,
    RUN_FAILURE_PROGRAM, /* a rank's status became the run's */
    RUN_FAILURE_BANYAN,
    RUN_FAILURE_USER, /* ended by a signal to banyan */
    RUN_FAILURE_TIMEOUT,
    RUN_FAILURE_OUTPUT, /* stdout or stderr could not be written */
    RUN_FAILURE_COUNT
};

struct run_summary {
    uint64_t start_ns;
    uint64_t phase_ns[RUN_PHASE_COUNT]; /* 0: not reached */
    uint32_t nodes_used;                /* 0: never started */
    uint32_t processes;                 /* of the job; 0: not known */
    uint32_t processes_ended;
    uint32_t status;
    enum run_failure failure;
    char text[ERROR_TEXT_BYTES];
    struct profile *profile; /* of its nodes; NULL: not wanted, or not known; owned */
};

/* Records the first time only; returns 1 then. */
int run_summary_reach(struct run_summary *record, enum run_phase phase, uint64_t now_ns);
/* Since the start; 0 if it was not reached. */
double run_summary_ms(const struct run_summary *record, enum run_phase phase);
/* Opens the file of --json for run_summary_write, so that a bad name is reported before anything is
 * started. */
int run_summary_open(const char *path, int *ret_fd, struct error *error);
/* Writes and closes fd. */
int run_summary_write(const struct run_summary *record, const struct run_request *request, int fd,
                      struct error *error);

#endif
