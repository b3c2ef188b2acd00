/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cgroup v2 per job under the helper's own, if the system lets us: it needs no controller, only
 * cgroup.kill, from which nothing escapes.  Its name is banyan-<inode of the name space of pids>-<pid
 * of the helper>.<group>: containers may share one tree of cgroups, and only their own helpers can be
 * known to be dead.  Where there is none, every call does nothing.  Cost: about 0.1 ms per job and node.
 */
#ifndef LAUNCH_EXEC_HELPER_CGROUP_H
#define LAUNCH_EXEC_HELPER_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

/* The path (free()) and *ret_fd of a new cgroup, or NULL and -1. */
char *helper_cgroup_create(uint32_t group, int *ret_fd);
void helper_cgroup_kill(int fd);
/* Removes it, and those that processes of the job have made below it: 1 if it no longer exists (or never did); 0 if a
 * process is left in one of them, which is killed and leaves a moment later. */
int helper_cgroup_remove(const char *path, int fd);
/* This process makes no more of them: the system refused one after all. */
void helper_cgroup_disable(void);
/* Kills what is in the cgroups of helpers of this name space that live no more, and removes them. */
void helper_cgroup_clean(void);
/* The path of each such cgroup of this user, wherever on this machine: a session of another login has
 * other parents than we.  Cost: a look at each cgroup. */
void helper_cgroup_find_left(void (*found)(void *context, const char *path), void *context);
/* Kills what is in one that was found, and removes it: 0, or -errno. */
int helper_cgroup_remove_left(const char *path);

#endif
