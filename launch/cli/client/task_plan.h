/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which worker runs which task, as a pure state machine: tasks and workers in, assignments out.
 *
 * A task is ready when those that it waits for have succeeded; ready ones are given out in their order.
 * A worker that has nothing gets a task first; one that is busy gets more ahead, the more it ends in a
 * round, but never more than half of an equal share of what is ready, so that nobody hoards.  When others
 * are idle and nothing is ready, what busy workers have not begun is recalled.  A task of several
 * slots needs as many idle workers of one node: it occupies them all, and one node at a time is emptied
 * for the first that finds none.
 *
 * What a lost worker has not begun is ready again; what it may have begun, which is the first of what
 * it has, counts as a failure.  A failed task is ready again as long as it has retries, then failed; what
 * waits for it is skipped.
 *
 * Cost: O(1) for a task of one slot; O(nodes) for one of several; O(workers) when a worker becomes idle
 * at the end of the list.  Memory: O(tasks + workers).
 */
#ifndef LAUNCH_CLI_CLIENT_TASK_PLAN_H
#define LAUNCH_CLI_CLIENT_TASK_PLAN_H

#include <stdint.h>

#include "base/ranges.h"

struct task_plan;

#define TASK_PLAN_AHEAD_MAX 32u /* tasks that a worker has beside the one it runs */

enum task_state {
    TASK_WAITING, /* for others */
    TASK_READY,
    TASK_ASSIGNED, /* to a worker */
    TASK_SUCCEEDED,
    TASK_FAILED,
    TASK_SKIPPED, /* one that it waited for has failed, or no node can run it */
    TASK_STATE_COUNT
};

struct task_plan_ops {
    void (*run)(void *context, uint32_t worker, uint32_t task);
    void (*recall)(void *context, uint32_t worker);
    /* The task has failed for good with the worker that is lost. */
    void (*failed)(void *context, uint32_t worker, uint32_t task);
};

struct task_plan *task_plan_create(uint32_t retries, const struct task_plan_ops *ops,
                                   void *context);
void task_plan_destroy(struct task_plan *plan); /* NULL is fine */

/* The next task, numbered from 0; after: earlier ones.  is_done: it succeeded in an earlier run. */
void task_plan_add(struct task_plan *plan, uint32_t slots, const uint32_t *after,
                   uint32_t after_count, int is_done);
/* No more tasks will come. */
void task_plan_close(struct task_plan *plan);
/* That many workers are expected: before they have arrived, a task that fits no node may still fit one. */
void task_plan_expect(struct task_plan *plan, uint32_t workers);
/* Worker numbers are ranks.  -EEXIST: it is known. */
int task_plan_worker(struct task_plan *plan, uint32_t worker, uint32_t place);
/* It, or its node, has ended.  It may be unknown. */
void task_plan_lost(struct task_plan *plan, uint32_t worker);
void task_plan_lost_places(struct task_plan *plan, const struct ranges *places);
/* A task of a worker has ended: TASK_READY (it is tried again), TASK_SUCCEEDED or TASK_FAILED; else -ENOENT: the
 * worker does not have it, as when it was believed lost. */
int task_plan_ended(struct task_plan *plan, uint32_t worker, uint32_t task, int has_succeeded);
/* A worker has given a task back. */
void task_plan_returned(struct task_plan *plan, uint32_t worker, uint32_t task);
/* Its answer to a recall is complete. */
void task_plan_recalled(struct task_plan *plan, uint32_t worker);
/* Gives out what can be given out. */
void task_plan_step(struct task_plan *plan);

/* 1 if it is closed and no task is waiting or running. */
int task_plan_is_over(const struct task_plan *plan);
enum task_state task_plan_state(const struct task_plan *plan, uint32_t task);
uint32_t task_plan_tries(const struct task_plan *plan, uint32_t task); /* that have ended */
uint32_t task_plan_count(const struct task_plan *plan, enum task_state state);

#endif
