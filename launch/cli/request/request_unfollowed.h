/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options that a starter cannot follow: one table, and one line for the user for each that is given.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_UNFOLLOWED_H
#define LAUNCH_CLI_REQUEST_REQUEST_UNFOLLOWED_H

#include "launch/cli/request/request_settings.h"
#include "launch/proto/instance_spec.h"

/* user: what the list of nodes has before '@', or "".  Lines with "\n" between them; NULL: nothing to say.
 * free(). */
char *request_unfollowed_tell(const struct request_settings *settings, const char *user,
                              enum starter_kind starter);

#endif
