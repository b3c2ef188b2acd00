/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the process of a task: a child of the worker, without a copy of its memory (vfork), that dies
 * with it.  The program is searched in the PATH of the task's environment, as a shell does.
 */
#ifndef LAUNCH_EXEC_TASK_SPAWN_H
#define LAUNCH_EXEC_TASK_SPAWN_H

#include <sys/types.h>

struct task_spawn {
    char *const *argv;
    char *const *environment;
    const char *directory; /* NULL: ours */
    int fds[3];            /* its 0 to 2; all others must be closed by exec */
};

/* The process, or a negative errno; *ret_step then is what could not be done: "run" or "enter". */
pid_t task_spawn(const struct task_spawn *spawn, const char **ret_step);

#endif
