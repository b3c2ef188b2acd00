/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of `banyan run`: forks the root, hands it the job, and stands between it and the user:
 * output, input, signals, time-out, the last words and the exit status.  It returns when the root
 * and with it all daemons have ended, or says who has not.
 */
#ifndef LAUNCH_CLI_CLIENT_FRONT_END_H
#define LAUNCH_CLI_CLIENT_FRONT_END_H

#include "launch/cli/request/run_options.h"

/* Runs the request (wish RUN_WISH_JOB) and returns the exit status.  To be called before threads,
 * libevent or OpenSSL are started; descriptors 0 to 2 must be open (standard_fds.h).  start_ns:
 * loop_now_ns() of the program's start, from which times are told. */
int front_end_run(struct run_request *request, uint64_t start_ns);

#endif
