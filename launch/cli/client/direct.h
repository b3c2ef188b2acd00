/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan run --no-daemons`: the processes are started by the starter itself: each by a call of the agent (ssh), or by a
 * shell here, or all by one srun, which this process becomes.  There is neither tree nor daemon: nobody serves PMI, binds
 * processes, or hands on input.
 *
 * Cost: an agent and three pipes for each process, so it is for few of them; at most AGENTS_STARTING_MAX start at a time.
 */
#ifndef LAUNCH_CLI_CLIENT_DIRECT_H
#define LAUNCH_CLI_CLIENT_DIRECT_H

#include <stdint.h>

#include "launch/cli/request/request.h"

/* Returns the exit status. */
int direct_run(const struct run_request *request, uint64_t start_ns);

#endif
