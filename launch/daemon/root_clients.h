/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channels of an instance's clients, and the socket in the session directory to which they connect
 * (CONTROL_SOCKET, mode 0600 in a directory of mode 0700).  launch/job/clients.h handles their messages.
 * Only processes of the root's user are accepted; the kernel reports the user (SO_PEERCRED).
 */
#ifndef LAUNCH_DAEMON_ROOT_CLIENTS_H
#define LAUNCH_DAEMON_ROOT_CLIENTS_H

#include "launch/daemon/daemon_internal.h"

/* channel_fd: to the client that forked the root. */
struct root *root_create(int channel_fd);

#endif
