/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that say how tasks ended: --joblog, a line of GNU parallel's columns, and --results, a JSON
 * object for each.  Lines come in the order in which the tasks end, whole ones only.
 */
#ifndef LAUNCH_CLI_CLIENT_TASK_LOG_H
#define LAUNCH_CLI_CLIENT_TASK_LOG_H

#include <stdint.h>

#include "base/error.h"
#include "launch/exec/task_spool.h"

struct task_log;

/* Of each stream that one object of --results holds. */
#define TASK_LOG_TEXT_BYTES_MAX (16u * 1024 * 1024)

struct task_log_entry {
    uint32_t number;
    uint32_t tries;
    const char *node;
    const char *command;
    uint64_t started_us;
    uint64_t run_us;
    uint64_t output_bytes;
    int status; /* its exit status; 0 with a signal */
    int signal;
    const struct task_spool *output; /* NULL: none */
};

/* Paths may be NULL; resume: adds to them.  NULL on failure. */
struct task_log *task_log_open(const char *joblog, const char *results, int resume,
                               struct error *error);
void task_log_add(struct task_log *log, const struct task_log_entry *entry);
/* Writes what has been added; -errno once of the first write that failed. */
int task_log_flush(struct task_log *log, struct error *error);
void task_log_close(struct task_log *log); /* NULL is fine */

#endif
