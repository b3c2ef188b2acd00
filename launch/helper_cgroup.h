/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cgroup v2 per job under the helper's own, if the system lets us: it needs no controller, only
 * cgroup.kill, from which nothing escapes.  Where there is none, every call does nothing.
 */
#ifndef LAUNCH_HELPER_CGROUP_H
#define LAUNCH_HELPER_CGROUP_H

#include <stdint.h>

/* The path (free()) and *ret_fd of a new cgroup, or NULL and -1. */
char *cgroup_create(uint32_t group, int *ret_fd);
void cgroup_kill(int fd);
/* 1 if it is gone (or there never was one); 0 if something still lives in it, which is killed. */
int cgroup_remove(const char *path, int fd);
/* No cgroup can be used after all. */
void cgroup_disable(void);

#endif
