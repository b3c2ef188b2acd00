/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run without daemons (--no-daemons) can be asked for, and which services it says are missing. */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_DIRECT_H
#define LAUNCH_CLI_REQUEST_REQUEST_DIRECT_H

#include "launch/cli/request/request.h"
#include "launch/cli/request/request_settings.h"

/* -EINVAL with an error that names an option which needs daemons. */
int request_direct_check(const struct request_settings *settings, struct error *error);
/* The same of the whole request; else request->warnings says which services there are not. */
int request_direct_finish(const struct request_settings *settings, struct run_request *request,
                          struct error *error);

#endif
