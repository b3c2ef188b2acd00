/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often the kernel has killed a process for want of memory, and what that says of one that died of SIGKILL.
 * Cost: two small files are read at each job's start, and three when a process dies of SIGKILL.
 */
#ifndef LAUNCH_EXEC_MEMORY_KILLS_H
#define LAUNCH_EXEC_MEMORY_KILLS_H

#include <stdint.h>

/* In a cgroup v2 and below it; 0 if it has no memory controller, or fd is -1. */
uint64_t memory_kills_cgroup(int cgroup_fd);
/* Around this process: in its own cgroup, of version 1 or 2, or if none counts, on this machine.  0 if the kernel does
 * not say (before Linux 4.13). */
uint64_t memory_kills_around(void);

struct memory_kills {
    uint64_t cgroup; /* of which a process is known already */
    uint64_t around;
};

enum memory_kill {
    MEMORY_KILL_NONE,
    MEMORY_KILL_NEAR, /* somebody around was killed so since the count began: perhaps this process */
    MEMORY_KILL_PROVEN /* it was in a cgroup in which more have been killed so than are known */
};

void memory_kills_begin(struct memory_kills *kills);
/* Of a process in the cgroup that has died of SIGKILL by nobody of us. */
enum memory_kill memory_kills_judge(struct memory_kills *kills, int cgroup_fd);

#endif
