/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan fabric --measure`: the paths between all nodes, as a run has measured them (pair_matrix.h), become a description
 * of the fabric (fabric/topology/fabric_read.h).
 */
#ifndef LAUNCH_CLI_VERB_FABRIC_MEASURE_H
#define LAUNCH_CLI_VERB_FABRIC_MEASURE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "launch/cli/verb/pair_matrix.h"

/* Runs it, and appends the description as JSON.  Returns the exit status of a run that has failed and said why. */
int fabric_measure_run(const struct pair_matrix_run *run, struct buffer *out, struct error *error);
/* The description, from what the processes have printed; fabric: over what they have measured.  -EPROTO if a path is
 * missing, -E2BIG. */
int fabric_measure_describe(const char *lines, uint64_t bytes, const char *fabric,
                            struct buffer *out, struct error *error);

#endif
