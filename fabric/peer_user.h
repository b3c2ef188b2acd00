/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user whose process is at the other end of a TCP connection within this machine, from the
 * kernel. Cost: one netlink query; where the kernel does not support it, /proc/net/tcp,
 * O(connections of the machine).
 */
#ifndef FABRIC_PEER_USER_H
#define FABRIC_PEER_USER_H

#include <sys/types.h>

/* -EACCES: no process holds that end, or it is on another machine; -ENOTSUP: the kernel does not
 * report it.  IPv4 only. */
int peer_user(int fd, uid_t *ret_user);

#endif
