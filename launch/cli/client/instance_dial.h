/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Becoming a client of an instance that is there: connects to the socket in its session directory, says
 * hello, and waits for the roster.  Blocks, for at most some seconds.
 */
#ifndef LAUNCH_CLI_CLIENT_INSTANCE_DIAL_H
#define LAUNCH_CLI_CLIENT_INSTANCE_DIAL_H

#include "alloc/allocation.h"
#include "base/error.h"

/* One line says why not: nothing listens there, it is another user's, it speaks another version. */
int instance_dial(const char *directory, struct allocation *ret_roster, int *ret_fd,
                  struct error *error);

#endif
