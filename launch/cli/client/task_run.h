/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client's side of `banyan run --tasks`: the list, who runs what (task_plan.h), what workers say
 * (launch/proto/task_frame.h), what is printed and what is recorded.  No sockets: the front end brings
 * what the workers write, and takes along what they are sent.
 *
 * Output of a task is printed when it has ended, whole.  Until then, and until the user's
 * reader takes it, it waits in task_spool.h; so the nodes get their credit at once.
 * Memory: O(the list + workers); of output, what the writer has taken and spools keep.
 */
#ifndef LAUNCH_CLI_CLIENT_TASK_RUN_H
#define LAUNCH_CLI_CLIENT_TASK_RUN_H

#include "launch/cli/client/output_writer.h"
#include "launch/cli/request/request_tasks.h"

struct task_run;

struct task_run_ops {
    /* Input of a worker; bytes 0: its end. */
    void (*feed)(void *context, uint32_t worker, const void *data, size_t bytes);
    /* The run cannot go on: a line of the list, or a file that records it. */
    void (*failed)(void *context, const char *text);
};

/* tasks is the caller's.  NULL if a file cannot be opened. */
struct task_run *task_run_create(struct request_tasks *tasks, const struct task_run_ops *ops,
                                 void *context, struct error *error);
/* Before there is output; the writer is the caller's. */
void task_run_open(struct task_run *run, struct output_writer *writer);
/* 1 if no task is left to be run. */
int task_run_is_over(const struct task_run *run);
void task_run_destroy(struct task_run *run); /* NULL is fine */

/* That many workers are being started. */
void task_run_started(struct task_run *run, uint32_t workers);
/* What a worker has written. */
void task_run_output(struct task_run *run, uint32_t worker, const void *data, size_t bytes);
void task_run_ended(struct task_run *run, uint32_t worker);
void task_run_lost(struct task_run *run, const struct ranges *places);
/* More of a list that comes on standard input; bytes 0: its end. */
void task_run_list(struct task_run *run, const void *data, size_t bytes);
/* No more tasks are started, and none is tried again: the user wants the end. */
void task_run_stop(struct task_run *run);
/* The writer has room. */
void task_run_print(struct task_run *run);
/* 1 if all output has gone to the writer. */
int task_run_is_printed(const struct task_run *run);
/* The job has ended: the exit status, as GNU parallel has it, the number of tasks that did not succeed,
 * at most 101; text: a line for the user, or "". */
uint32_t task_run_status(const struct task_run *run, char *text, size_t text_bytes);

#endif
