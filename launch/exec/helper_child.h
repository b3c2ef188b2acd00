/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of one process from the helper to exec.  The child shares the helper's memory until exec
 * and runs beside it on a separate stack, so a slow file system delays nothing else and no page is
 * copied.  A pipe that exec closes reports the outcome to the helper.
 */
#ifndef LAUNCH_EXEC_HELPER_CHILD_H
#define LAUNCH_EXEC_HELPER_CHILD_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "launch/exec/helper_wire.h"

/* Everything the child reads; it must stay until child_finish. */
struct child_start {
    void *message; /* owns the strings of order; malloc, as mark */
    char *mark;    /* its first variable */
    struct helper_order order;
    int fds
        [HELPER_FDS_MAX]; /* by order.request.targets; the caller closes them after helper_child_spawn */
    int null_fd;
    int report_fd; /* the child's end */
    pid_t helper;
    struct rlimit files;          /* what the process gets */
    char *candidate;              /* room for any entry of PATH and the name of the program */
    const char *path;             /* PATH of the process */
    char shell[8];                /* "/bin/sh" */
    char text[HELPER_TEXT_BYTES]; /* an interpreter that does not exist, a limit that is refused */
    int interpreter_missing;
    struct child_start *next_free;
};

struct child_failure {
    int32_t code; /* negative errno */
    uint32_t step;
    char text[HELPER_TEXT_BYTES]; /* of START_STEP_INTERPRETER and START_STEP_LIMIT */
};

/* An empty start with room for a stack; they are kept and used again. */
struct child_start *helper_child_start_take(void);
void helper_child_start_give(struct child_start *start); /* frees the message */
/* Starts it, once: the pid, and *ret_report_fd, which helper_child_result reads.  On failure the negative
 * errno of START_STEP_FORK.  cgroup_fd: of the directory of a cgroup v2, or -1; if the system refuses
 * it the process starts without, and no more are made. */
pid_t helper_child_spawn(struct child_start *start, int cgroup_fd, int *ret_report_fd);
/* 1: the program runs (or the child was killed before it could say anything), 0: not known yet,
 * -1: it failed and has exited or will at once. */
int helper_child_result(int report_fd, struct child_failure *ret_failure);

#endif
