/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command for which this process is a proxy: a child that gets our signals, dies when we do, and
 * whose exit status becomes ours.  The caller polls signals_fd along with its other descriptors;
 * nothing here blocks.
 */
#ifndef LAUNCH_CLI_REMOTE_PROXY_CHILD_H
#define LAUNCH_CLI_REMOTE_PROXY_CHILD_H

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct proxy_child {
    pid_t pid;
    int signals_fd; /* readable when a signal is pending or the child has ended */
    int has_ended;
    int wait_status; /* from waitpid, once it has ended */
    sigset_t mask;   /* of the caller, for the child */
};

/* All signals that end a run or are forwarded to it. */
extern const int proxy_child_signals[];
extern const size_t proxy_child_signals_count;

/* Blocks the signals in this process, to be read from signals_fd, and forks.  In the child, which
 * gets SIGTERM when we die, become() must call proxy_child_unblock and exec; if it returns the
 * child exits with 125.  0, or -errno. */
int proxy_child_fork(struct proxy_child *child, const int *signals, size_t signals_count,
                     void (*become)(void *context), void *context);
/* The last step before exec: restores the signals as they were here before the fork. */
void proxy_child_unblock(const struct proxy_child *child);
/* The next pending signal, with its details; 0 if there is no other, and then it is known whether
 * the child has ended. */
int proxy_child_next_signal(struct proxy_child *child, struct signalfd_siginfo *ret_info);
/* As in a shell; 125 for a child whose end is not known. */
int proxy_child_exit_status(const struct proxy_child *child);

#endif
