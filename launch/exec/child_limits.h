/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits, mask and nice value of a process, set by itself before exec.  It may share the helper's
 * memory: only raw system calls, nothing is written but the arguments' own.
 */
#ifndef LAUNCH_EXEC_CHILD_LIMITS_H
#define LAUNCH_EXEC_CHILD_LIMITS_H

#include "launch/proto/process_limits.h"

/* 0, or the negative errno with the name of what was refused ("nofile", or "nice value"). */
long child_limits_set(const struct process_limits *limits, const char **ret_refused);

#endif
