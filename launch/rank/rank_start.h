/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts one local rank's argv, environment and descriptors together and hands it to the helper.
 */
#ifndef LAUNCH_RANK_RANK_START_H
#define LAUNCH_RANK_RANK_START_H

#include <stdbool.h>

#include "launch/exec/helper.h"
#include "launch/job/job.h"
#include "launch/rank/output.h"
#include "launch/rank/rank_pmi.h"

struct rank_start {
    struct helper *helper;
    struct output *output;
    struct rank_pmi *rank_pmi;
    const struct job_local *job;
    const char *session_id;
    const char *node_name;
    const char *stage; /* contains the stage directories of jobs */
    uint32_t place;
    uint32_t rank;
    uint32_t index;   /* local */
    uint32_t restart; /* how often it has been started before */
    int stdin_fd;     /* the process's end, or -1: /dev/null; stays the caller's */
    bool
        has_terminal; /* that is one, and so are its output and error: output_terminal has been called */
};

/* The descriptor of a rank's PMI-1 socket in the rank. */
#define RANK_PMI_FD 3

/* Answers come by the helper's events; -errno if descriptors ran out here. */
int rank_start(const struct rank_start *start, struct error *error);

#endif
