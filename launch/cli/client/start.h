/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of `banyan start`: forks the root of a persistent instance, prints its directory when it
 * is ready, and then waits: messages of the instance go to stderr, SIGTERM and SIGINT end it in
 * order.  With --daemonize it detaches from the root instead.
 */
#ifndef LAUNCH_CLI_CLIENT_START_H
#define LAUNCH_CLI_CLIENT_START_H

#include "launch/cli/request/request.h"

/* Returns the exit status.  To be called before threads, libevent or OpenSSL are started. */
int start_run(struct run_request *request);

#endif
