/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan fabric --measure`: a run with one process on each node (launch/exec/pair_worker.h) measures the ways between
 * all nodes, and what it prints becomes a description of the fabric (fabric/topology/fabric_read.h).
 */
#ifndef LAUNCH_CLI_VERB_FABRIC_MEASURE_H
#define LAUNCH_CLI_VERB_FABRIC_MEASURE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define FABRIC_MEASURE_NODES_MAX 4096u /* what is kept is square */

struct fabric_measure {
    char *const *options; /* of banyan run */
    int options_count;
    uint64_t bytes; /* of a transfer */
    uint32_t repeats;
};

/* Runs it, and appends the description as JSON.  Returns the exit status of a run that has failed and said why. */
int fabric_measure_run(const struct fabric_measure *measure, struct buffer *out,
                       struct error *error);
/* The description, from what the processes have printed.  -EPROTO if a way is missing, -E2BIG. */
int fabric_measure_describe(const char *lines, uint64_t bytes, struct buffer *out,
                            struct error *error);

#endif
