/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors 0, 1 and 2 as the caller left them, made safe to build on.
 */
#ifndef LAUNCH_EXEC_STANDARD_FDS_H
#define LAUNCH_EXEC_STANDARD_FDS_H

/* For the first lines of main(): opens what was closed, so that no file, socket or pipe of ours
 * gets one of these numbers.  stdin is then empty; writing to stdout or stderr fails with EBADF, as
 * it would have. */
void standard_fds_open(void);

#endif
