/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second process of this program without exec, as a child of the daemon.  It stays in the daemon's
 * session: where the kernel gives each session an equal share of the processors (sched_autogroup), a
 * barrier of 128 busy ranks takes up to 1.4 times as long when daemon and server are in two sessions, as a
 * child of the helper must be.
 */
#ifndef LAUNCH_EXEC_FORK_SELF_H
#define LAUNCH_EXEC_FORK_SELF_H

#include <sys/types.h>

/* Runs entry in a child called name (at most 15 bytes), whose exit status its return is: with fd as
 * standard input, /dev/null as output and error and no other descriptor, as many descriptors as the
 * system lets it have, and in a separate process group.  A signal that asks a program to end does nothing
 * to it; it dies with the caller, however that ends.  The caller waits for it, and must not have threads
 * that hold a lock.  Negative errno if it cannot be forked.  Cost: the page tables of the caller. */
pid_t fork_self(const char *name, int fd, int (*entry)(void));

#endif
