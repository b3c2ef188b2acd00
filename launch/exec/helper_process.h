/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The helper process itself (launch/exec/helper.h says what for): one thread, one epoll, no library but
 * libc.  All signals are blocked; SIGCHLD comes by a descriptor.  Nothing here waits for the daemon:
 * a daemon that is stopped or dead must not keep the lease or the end of its processes from being
 * enforced.  No pidfds are needed: a number is only used while its process is an unreaped child.
 */
#ifndef LAUNCH_EXEC_HELPER_PROCESS_H
#define LAUNCH_EXEC_HELPER_PROCESS_H

#include <stdint.h>
#include <sys/resource.h>

struct helper_setup {
    int socket_fd;                                 /* the only descriptor that is kept, beside 2 */
    struct rlimit files;                           /* what its processes get */
    int (*daemon_entry)(const char *virtual_node); /* may be NULL */
};

void helper_process_run(const struct helper_setup *setup) __attribute__((noreturn));

#endif
