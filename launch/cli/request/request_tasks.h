/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `banyan run --tasks`, or with ":::" and arguments: what is run is a job of workers
 * (launch/exec/task_worker.h), one for each slot, and the tasks are what these get.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_TASKS_H
#define LAUNCH_CLI_REQUEST_REQUEST_TASKS_H

#include "launch/cli/request/request.h"
#include "launch/cli/request/request_placement.h"
#include "launch/cli/request/task_list.h"

struct request_tasks {
    struct task_list list;
    char *source;   /* its name, for messages */
    char **command; /* NULL: the lines are commands */
    int streams;    /* it comes on standard input */
    uint32_t retries;
    char *joblog;  /* NULL: none */
    char *results; /* NULL: none */
    int resume;
};

/* With --tasks or ":::": reads the list and puts the workers' program in the application's place;
 * else *ret_tasks is NULL.  request_tasks_free. */
int request_tasks_make(struct request_apps *apps, const struct request_ops *ops,
                       struct request_tasks **ret_tasks, struct error *error);
/* Once the allocation is known: a task that no node has slots for is refused; and the job becomes one of
 * workers. */
int request_tasks_finish(struct request_tasks *tasks, const struct allocation *allocation,
                         uint32_t per_node, struct job_spec *job, struct error *error);
void request_tasks_free(struct request_tasks *tasks); /* NULL is fine */

#endif
