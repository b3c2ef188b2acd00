/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan run --detach`: hands a job to an instance, waits until it runs or waits for slots, prints its number, and
 * leaves it there.
 */
#ifndef LAUNCH_CLI_CLIENT_DETACHED_H
#define LAUNCH_CLI_CLIENT_DETACHED_H

#include "launch/cli/request/request.h"

/* request->instance_fd is that of the instance; closed.  Returns the exit status: that of the job, if it could
 * not be started. */
int detached_run(const struct run_request *request);

#endif
