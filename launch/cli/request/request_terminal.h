/* SPDX-License-Identifier: BSD-3-Clause */
/* --pty: a rank with a terminal, as seen from the command line. */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_TERMINAL_H
#define LAUNCH_CLI_REQUEST_REQUEST_TERMINAL_H

#include "launch/cli/request/request.h"
#include "launch/cli/request/request_placement.h"
#include "launch/cli/request/request_settings.h"

/* Those of the first program.  With a terminal it is one process unless the user says how many. */
struct request_settings request_terminal_settings(struct request_apps *apps);
/* -EINVAL if it was asked for and cannot be, or an option would change what the terminal shows. */
int request_terminal_check(const struct request_settings *settings, const struct request_ops *ops,
                           struct error *error);
/* After that, of a job whose stdin_rank is set. */
void request_terminal_take(const struct request_settings *settings, const struct request_ops *ops,
                           struct job_spec *job);

#endif
