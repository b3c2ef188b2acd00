/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker of `banyan run --tasks`: a process of the job, one for each slot, that runs the tasks that it
 * is sent (launch/proto/task_frame.h), one at a time, and reports them in batches.  A task's
 * output is kept (task_spool.h) and sent when it has ended, whole; what it leaves running has lost its.  Tasks stay in the worker's
 * process group, so that the job's signals reach them, and die with it.  After SIGTERM, of which the task
 * has got one too, it starts no more, and ends with its task.
 *
 * One thread, no loop but poll.  Memory: the orders that it has not begun, and what is reported
 * in a batch.
 */
#ifndef LAUNCH_EXEC_TASK_WORKER_H
#define LAUNCH_EXEC_TASK_WORKER_H

/* The only argument of banyan and banyand that makes one of them a worker, and how every node finds that
 * program: the helper's own. */
#define TASK_WORKER_WORD    "--task-worker"
#define TASK_WORKER_PROGRAM "/proc/self/exe"

/* Until its standard input ends; returns the exit status. */
int task_worker_run(void);

#endif
