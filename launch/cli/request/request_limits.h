/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limits of an application's processes from the text of its options: --rlimit, --umask, --nice.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_LIMITS_H
#define LAUNCH_CLI_REQUEST_REQUEST_LIMITS_H

#include "base/error.h"
#include "launch/cli/request/request_settings.h"
#include "launch/proto/process_limits.h"

/* A limit is NAME=SOFT[:HARD]; each number may end in K, M, G or T (1024 and its powers) or be
 * "unlimited", and SOFT may be "hard".  Without HARD the hard limit stays.  The last of a name counts.
 * -EINVAL with a line that names the option; ret_limits is then untouched. */
int request_limits_make(const struct request_settings *settings, struct process_limits *ret_limits,
                        struct error *error);

#endif
