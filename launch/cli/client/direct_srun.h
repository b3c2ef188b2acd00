/* SPDX-License-Identifier: BSD-3-Clause */
/* All processes of a run without daemons by one call of srun. */
#ifndef LAUNCH_CLI_CLIENT_DIRECT_SRUN_H
#define LAUNCH_CLI_CLIENT_DIRECT_SRUN_H

#include "alloc/placement_map.h"
#include "launch/cli/request/request.h"

/* The names of the ranks' nodes, one a line: srun's hostfile for --distribution=arbitrary. */
void direct_srun_hosts(const struct run_request *request, const struct placement_map *map,
                       struct buffer *out);
/* The words of the call, the caller's to free; NULL at the end. */
char **direct_srun_words(const struct run_request *request, const struct placement_map *map);
/* Becomes srun; returns a negative errno with an error if it cannot. */
int direct_srun_become(const struct run_request *request, const struct placement_map *map,
                       struct error *error);

#endif
