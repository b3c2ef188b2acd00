/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment that processes get: all of the caller's, as srun and hydra do it, without what
 * belongs to the caller's node, terminal or enclosing launcher, then what -x says.  Bytes are
 * passed as they are: exported shell functions, newlines, any encoding.
 */
#ifndef LAUNCH_START_RUN_ENVIRONMENT_H
#define LAUNCH_START_RUN_ENVIRONMENT_H

#include <stdint.h>

#include "base/error.h"

/* A NULL-terminated array of "NAME=value", the caller's with its strings.  -x items are "NAME"
 * (value from environment; -ENOENT if it is not set there) or "NAME=value".  mpi: JOB_MPI_*, of which
 * the processes get variables. */
int run_environment_build(char *const *environment, const char *const *items, uint32_t items_count,
                          uint32_t mpi, char ***ret_set, struct error *error);
/* Whether a pattern of names may select that "NAME=value": not what banyan or the node gives to each
 * process, nor what an enclosing launcher has left. */
int run_environment_may_match(const char *variable, uint32_t mpi);
/* The value of a variable in an environment, or NULL. */
const char *run_environment_get(char *const *environment, const char *name);

#endif
