/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of `banyan run`: forks the root, hands it the job, and connects it to the user: output,
 * input, signals, time-out, the final message and the exit status.  It returns when the root and
 * all daemons have ended, or reports which have not.
 */
#ifndef LAUNCH_CLI_CLIENT_FRONT_END_H
#define LAUNCH_CLI_CLIENT_FRONT_END_H

#include "launch/cli/request/request.h"

/* Runs the request (wish RUN_WISH_JOB) and returns the exit status.  To be called before threads,
 * libevent or OpenSSL are started; descriptors 0 to 2 must be open (standard_fds.h).  start_ns:
 * loop_now_ns() of the program's start, the origin of reported times. */
int front_end_run(struct run_request *request, uint64_t start_ns);

#endif
