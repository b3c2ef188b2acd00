/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose process is at the other end of a TCP connection within this machine, as the kernel knows it.
 * Cost: one question to the kernel about one connection; where it does not answer such questions,
 * /proc/net/tcp, O(connections of the machine).
 */
#ifndef FABRIC_PEER_USER_H
#define FABRIC_PEER_USER_H

#include <sys/types.h>

/* -EACCES: nobody holds that end any more, or it is on another machine; -ENOTSUP: the kernel does not
 * tell.  IPv4. */
int peer_user(int fd, uid_t *ret_user);

#endif
