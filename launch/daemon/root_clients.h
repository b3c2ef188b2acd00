/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channels of an instance's clients, and the socket in the session directory on which they come
 * (CONTROL_SOCKET, mode 0600 in a directory of mode 0700); what they say is launch/job/clients.h's.
 * Only processes of the root's own user are let in, by the kernel's word.
 */
#ifndef LAUNCH_DAEMON_ROOT_CLIENTS_H
#define LAUNCH_DAEMON_ROOT_CLIENTS_H

#include "launch/daemon/daemon_internal.h"

/* channel_fd: of the client that forked the root. */
struct root *root_create(int channel_fd);

#endif
