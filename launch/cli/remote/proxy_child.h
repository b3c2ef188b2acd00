/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command in whose place this process stands: a child that gets the signals that we get, dies
 * when we do, and whose exit status becomes ours.  The caller polls signals_fd beside what else it
 * has; nothing here waits.
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
    int wait_status; /* as of waitpid, once it has ended */
    sigset_t mask;   /* of the caller, for the child */
};

/* All that end a run or are passed on to it. */
extern const int proxy_child_signals[];
extern const size_t proxy_child_signals_count;

/* Blocks the signals in this process, to be read from signals_fd, and forks.  In the child, which gets
 * SIGTERM when we die, become() is to call proxy_child_unblock and exec; if it returns the child exits
 * with 125.  0, or -errno. */
int proxy_child_fork(struct proxy_child *child, const int *signals, size_t signals_count,
                     void (*become)(void *context), void *context);
/* The last thing before exec: the child's signals are as they were here before the fork. */
void proxy_child_unblock(const struct proxy_child *child);
/* The next pending signal, with what is known of it; 0 if there is no other, and then it is
 * known whether the child has ended. */
int proxy_child_next_signal(struct proxy_child *child, struct signalfd_siginfo *ret_info);
/* As a shell gives it; 125 of a child whose end is not known. */
int proxy_child_exit_status(const struct proxy_child *child);

#endif
