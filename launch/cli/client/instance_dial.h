/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Becomes a client of an existing instance: connects to the socket in its session directory, says
 * hello, and waits for the roster.  Blocks for at most a few seconds.
 */
#ifndef LAUNCH_CLI_CLIENT_INSTANCE_DIAL_H
#define LAUNCH_CLI_CLIENT_INSTANCE_DIAL_H

#include "alloc/allocation.h"
#include "base/error.h"

/* The error says why not: nothing listens there, it belongs to another user, its version
 * differs. */
int instance_dial(const char *directory, struct allocation *ret_roster, int *ret_fd,
                  struct error *error);

#endif
