/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of `banyan recover`: forks a root that goes on where a dead one was (launch/daemon/root.h), prints the
 * instance's directory when it is ready, and leaves it.
 */
#ifndef LAUNCH_CLI_CLIENT_RECOVER_H
#define LAUNCH_CLI_CLIENT_RECOVER_H

#include "base/error.h"

/* Returns the exit status, or a negative errno. */
int recover_run(const char *directory, struct error *error);

#endif
