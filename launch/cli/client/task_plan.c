/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/task_plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "base/list.h"
#include "base/memory.h"

struct plan_task {
    struct list_link node; /* of ready, wide or the worker's tasks */
    uint32_t index;
    uint32_t slots;
    uint32_t waits; /* number of tasks it waits for */
    uint32_t tries;
    uint32_t *followers; /* tasks that wait for it */
    uint32_t followers_count;
    uint32_t followers_capacity;
    enum task_state state;
};

struct plan_node {
    struct list_link node;
    uint32_t place;
    uint32_t workers;
    uint32_t idle;
    int is_kept; /* being emptied for a task of several slots */
};

struct plan_worker {
    struct list_link node; /* of idle or roomy, or of none */
    struct list_link all;
    uint32_t number;
    struct plan_node *home;
    struct list tasks; /* in the order in which it runs them */
    uint32_t load;
    uint32_t ahead; /* how many it may have beside the one it runs */
    uint32_t ended; /* since it was last given some */
    int is_recalled;
    struct plan_worker *lead; /* the worker that runs the task of several slots that occupies it */
};

struct task_plan {
    struct task_plan_ops ops;
    void *context;
    uint32_t retries;
    int is_closed;
    struct plan_task **tasks;
    uint32_t tasks_count;
    uint32_t tasks_capacity;
    uint32_t counts[TASK_STATE_COUNT];
    struct list ready; /* of one slot */
    struct list wide;  /* of several */
    uint32_t ready_count;
    struct list workers;
    struct list idle;
    struct list roomy; /* they run something, and may have more */
    struct hash_map *by_number;
    struct list nodes;
    struct hash_map *by_place;
    struct plan_node *kept; /* NULL: none */
    uint32_t workers_count;
    uint32_t expected; /* workers, or UINT32_MAX */
    uint32_t known;    /* that have arrived, or ended before that */
    uint32_t ahead;    /* tasks that are given but do not run */
};

static void plan_check(const struct task_plan *plan)
{
    assert(plan->counts[TASK_READY] >= plan->ready_count);
    assert(plan->kept == NULL || plan->kept->is_kept);
    assert(plan->ahead <= plan->counts[TASK_ASSIGNED]);
}

struct task_plan *task_plan_create(uint32_t retries, const struct task_plan_ops *ops, void *context)
{
    struct task_plan *plan = memory_allocate_zeroed(sizeof(*plan));

    plan->retries = retries;
    plan->ops = *ops;
    plan->context = context;
    plan->expected = UINT32_MAX;
    list_init(&plan->ready);
    list_init(&plan->wide);
    list_init(&plan->workers);
    list_init(&plan->idle);
    list_init(&plan->roomy);
    list_init(&plan->nodes);
    plan->by_number = hash_map_create();
    plan->by_place = hash_map_create();
    return plan;
}

void task_plan_destroy(struct task_plan *plan)
{
    struct list_link *link;

    if (plan == NULL)
        return;
    for (uint32_t i = 0; i < plan->tasks_count; i++) {
        free(plan->tasks[i]->followers);
        free(plan->tasks[i]);
    }
    while ((link = list_first(&plan->workers)) != NULL) {
        list_remove(link);
        free(list_entry(link, struct plan_worker, all));
    }
    while ((link = list_first(&plan->nodes)) != NULL) {
        list_remove(link);
        free(list_entry(link, struct plan_node, node));
    }
    hash_map_destroy(plan->by_number);
    hash_map_destroy(plan->by_place);
    free(plan->tasks);
    free(plan);
}

/* ---- tasks ---- */

static void set_state(struct task_plan *plan, struct plan_task *task, enum task_state state)
{
    assert(plan->counts[task->state] > 0);
    plan->counts[task->state]--;
    plan->counts[state]++;
    task->state = state;
}

/* first: before those that have not been given to anyone yet. */
static void make_ready(struct task_plan *plan, struct plan_task *task, int first)
{
    struct list *queue = task->slots > 1 ? &plan->wide : &plan->ready;

    assert(!list_is_linked(&task->node));
    set_state(plan, task, TASK_READY);
    plan->ready_count += task->slots == 1;
    if (first)
        list_prepend(queue, &task->node);
    else
        list_append(queue, &task->node);
}

/* A task that has failed takes those along that wait for it, and those that wait for them. */
static void skip_followers(struct task_plan *plan, const struct plan_task *failed)
{
    const struct plan_task **stack = memory_allocate(sizeof(*stack));
    uint32_t depth = 1;

    stack[0] = failed;
    while (depth > 0) {
        const struct plan_task *task = stack[--depth];

        for (uint32_t i = 0; i < task->followers_count; i++) {
            struct plan_task *follower = plan->tasks[task->followers[i]];

            if (follower->state != TASK_WAITING)
                continue;
            set_state(plan, follower, TASK_SKIPPED);
            stack = memory_resize(stack, (depth + 1) * sizeof(*stack));
            stack[depth++] = follower;
        }
    }
    free(stack);
}

static void end_task(struct task_plan *plan, struct plan_task *task, enum task_state state)
{
    set_state(plan, task, state);
    if (state != TASK_SUCCEEDED) {
        skip_followers(plan, task);
        return;
    }
    for (uint32_t i = 0; i < task->followers_count; i++) {
        struct plan_task *follower = plan->tasks[task->followers[i]];

        assert(follower->waits > 0);
        if (--follower->waits == 0 && follower->state == TASK_WAITING)
            make_ready(plan, follower, 0);
    }
}

static void follow(struct plan_task *first, uint32_t follower)
{
    if (first->followers_count == first->followers_capacity) {
        first->followers_capacity = 2 * first->followers_capacity + 2;
        first->followers =
            memory_resize(first->followers, first->followers_capacity * sizeof(uint32_t));
    }
    first->followers[first->followers_count++] = follower;
}

void task_plan_add(struct task_plan *plan, uint32_t slots, const uint32_t *after,
                   uint32_t after_count, int is_done)
{
    struct plan_task *task = memory_allocate_zeroed(sizeof(*task));
    int is_lost = 0;

    assert(!plan->is_closed && slots > 0);
    if (plan->tasks_count == plan->tasks_capacity) {
        plan->tasks_capacity = 2 * plan->tasks_capacity + 64;
        plan->tasks = memory_resize(plan->tasks, plan->tasks_capacity * sizeof(struct plan_task *));
    }
    list_link_init(&task->node);
    task->index = plan->tasks_count;
    task->slots = slots;
    task->state = TASK_WAITING;
    plan->counts[TASK_WAITING]++;
    for (uint32_t i = 0; i < after_count && !is_done; i++) {
        struct plan_task *first = plan->tasks[after[i]];

        assert(after[i] < plan->tasks_count);
        is_lost |= first->state == TASK_FAILED || first->state == TASK_SKIPPED;
        if (first->state == TASK_SUCCEEDED)
            continue;
        follow(first, plan->tasks_count);
        task->waits++;
    }
    plan->tasks[plan->tasks_count++] = task;
    if (is_done)
        set_state(plan, task, TASK_SUCCEEDED);
    else if (is_lost)
        set_state(plan, task, TASK_SKIPPED);
    else if (task->waits == 0)
        make_ready(plan, task, 0);
}

void task_plan_close(struct task_plan *plan)
{
    plan->is_closed = 1;
}

/* ---- workers ---- */

static int is_idle(const struct plan_worker *worker)
{
    return worker->load == 0 && worker->lead == NULL && !worker->is_recalled;
}

static int has_room(const struct plan_worker *worker)
{
    return worker->load <= worker->ahead && worker->lead == NULL && !worker->is_recalled;
}

/* Puts it into the list where it belongs now.  The leader of a task of several slots runs nothing else. */
static void place_worker(struct task_plan *plan, struct plan_worker *worker, int was_idle)
{
    int is_idle_now = is_idle(worker);

    list_remove(&worker->node);
    if (is_idle_now)
        list_append(&plan->idle, &worker->node);
    else if (has_room(worker))
        list_append(&plan->roomy, &worker->node);
    assert(worker->home->idle + (uint32_t)is_idle_now >= (uint32_t)was_idle);
    worker->home->idle += (uint32_t)is_idle_now;
    worker->home->idle -= (uint32_t)was_idle;
    assert(worker->home->idle <= worker->home->workers);
}

static struct plan_node *node_of(struct task_plan *plan, uint32_t place)
{
    struct plan_node *home = hash_map_get_u64(plan->by_place, place);

    if (home != NULL)
        return home;
    home = memory_allocate_zeroed(sizeof(*home));
    home->place = place;
    list_append(&plan->nodes, &home->node);
    (void)hash_map_put_u64(plan->by_place, place, home);
    return home;
}

static struct plan_worker *worker_find(const struct task_plan *plan, uint32_t number)
{
    return hash_map_get_u64(plan->by_number, number);
}

void task_plan_expect(struct task_plan *plan, uint32_t workers)
{
    plan->expected = workers;
}

int task_plan_worker(struct task_plan *plan, uint32_t number, uint32_t place)
{
    struct plan_worker *worker;

    if (worker_find(plan, number) != NULL)
        return -EEXIST;
    worker = memory_allocate_zeroed(sizeof(*worker));
    worker->number = number;
    worker->ahead = 1;
    worker->home = node_of(plan, place);
    worker->home->workers++;
    list_init(&worker->tasks);
    list_link_init(&worker->node);
    list_append(&plan->workers, &worker->all);
    (void)hash_map_put_u64(plan->by_number, number, worker);
    plan->workers_count++;
    plan->known++;
    place_worker(plan, worker, 0);
    return 0;
}

/* Those that a task of several slots has occupied are free again. */
static void free_followers(struct task_plan *plan, const struct plan_worker *lead)
{
    struct list_link *link, *spare;

    list_for_each(&plan->workers, link, spare)
    {
        struct plan_worker *worker = list_entry(link, struct plan_worker, all);

        if (worker->lead != lead || worker == lead)
            continue;
        worker->lead = NULL;
        place_worker(plan, worker, 0);
    }
}

/* Takes a task from its worker. */
static void take_task(struct task_plan *plan, struct plan_worker *worker, struct plan_task *task)
{
    int was_idle = is_idle(worker);

    assert(worker->load > 0);
    list_remove(&task->node);
    plan->ahead -= worker->load > 1;
    worker->load--;
    if (worker->lead == worker) {
        worker->lead = NULL;
        free_followers(plan, worker);
    }
    place_worker(plan, worker, was_idle);
}

/* The most tasks that fail are those of a list that is wrong: so a failed one is tried after the others. */
static enum task_state fail_task(struct task_plan *plan, struct plan_task *task)
{
    task->tries++;
    if (task->tries <= plan->retries)
        make_ready(plan, task, 0);
    else
        end_task(plan, task, TASK_FAILED);
    return task->state;
}

static void forget_worker(struct task_plan *plan, struct plan_worker *worker)
{
    struct plan_node *home = worker->home;

    home->idle -= (uint32_t)is_idle(worker);
    home->workers--;
    if (home->is_kept) {
        home->is_kept = 0;
        plan->kept = NULL;
    }
    list_remove(&worker->node);
    list_remove(&worker->all);
    (void)hash_map_remove_u64(plan->by_number, worker->number);
    plan->workers_count--;
    free(worker);
}

void task_plan_lost(struct task_plan *plan, uint32_t number)
{
    struct plan_worker *worker = worker_find(plan, number);
    struct list_link *link;

    if (worker == NULL) {
        plan->known++; /* it will not arrive */
        return;
    }
    while ((link = list_last(&worker->tasks)) != NULL) {
        struct plan_task *task = list_entry(link, struct plan_task, node);
        int may_run = worker->load == 1;

        take_task(plan, worker, task);
        if (!may_run)
            make_ready(plan, task, 1);
        else if (fail_task(plan, task) == TASK_FAILED)
            plan->ops.failed(plan->context, number, task->index);
    }
    forget_worker(plan, worker);
    plan_check(plan);
}

void task_plan_lost_places(struct task_plan *plan, const struct ranges *places)
{
    struct list_link *link, *spare;

    list_for_each(&plan->workers, link, spare)
    {
        const struct plan_worker *worker = list_entry(link, struct plan_worker, all);

        if (ranges_contains(places, worker->home->place))
            task_plan_lost(plan, worker->number);
    }
    plan->expected = 0; /* how many of them had not arrived is unknown */
}

/* The task, if the worker has it. */
static struct plan_task *task_of(const struct task_plan *plan, const struct plan_worker *worker,
                                 uint32_t number)
{
    struct list_link *link, *spare;

    if (worker == NULL || number >= plan->tasks_count ||
        plan->tasks[number]->state != TASK_ASSIGNED)
        return NULL;
    list_for_each(&worker->tasks, link, spare)
    {
        if (link == &plan->tasks[number]->node)
            return plan->tasks[number];
    }
    return NULL;
}

/* Who ends several before it gets more shall have more at once. */
static void learn_pace(struct plan_worker *worker)
{
    worker->ended++;
    if (worker->ended > worker->ahead && worker->ahead < TASK_PLAN_AHEAD_MAX)
        worker->ahead *= 2;
}

int task_plan_ended(struct task_plan *plan, uint32_t number, uint32_t index, int has_succeeded)
{
    struct plan_worker *worker = worker_find(plan, number);
    struct plan_task *task = task_of(plan, worker, index);

    plan_check(plan);
    if (task == NULL)
        return -ENOENT;
    learn_pace(worker);
    take_task(plan, worker, task);
    if (!has_succeeded)
        return (int)fail_task(plan, task);
    task->tries++;
    end_task(plan, task, TASK_SUCCEEDED);
    return TASK_SUCCEEDED;
}

void task_plan_returned(struct task_plan *plan, uint32_t number, uint32_t index)
{
    struct plan_worker *worker = worker_find(plan, number);
    struct plan_task *task = task_of(plan, worker, index);

    if (task == NULL)
        return;
    worker->ahead = 1; /* it was slow */
    take_task(plan, worker, task);
    make_ready(plan, task, 1);
}

void task_plan_recalled(struct task_plan *plan, uint32_t number)
{
    struct plan_worker *worker = worker_find(plan, number);

    if (worker == NULL || !worker->is_recalled)
        return;
    worker->is_recalled = 0;
    place_worker(plan, worker, 0);
}

/* ---- giving out ---- */

static void give_task(struct task_plan *plan, struct plan_worker *worker, struct plan_task *task)
{
    int was_idle = is_idle(worker);

    list_remove(&task->node);
    list_append(&worker->tasks, &task->node);
    plan->ready_count -= task->slots == 1;
    set_state(plan, task, TASK_ASSIGNED);
    plan->ahead += worker->load > 0;
    worker->load++;
    worker->ended = 0;
    if (task->slots > 1)
        worker->lead = worker;
    place_worker(plan, worker, was_idle);
    plan->ops.run(plan->context, worker->number, task->index);
}

static void recall_from(struct task_plan *plan, struct plan_worker *worker)
{
    assert(worker->load > 1 && !worker->is_recalled);
    worker->is_recalled = 1;
    place_worker(plan, worker, 0);
    plan->ops.recall(plan->context, worker->number);
}

/* Nobody gets more than half of an equal share ahead. */
static int may_have_more(const struct task_plan *plan, const struct plan_worker *worker)
{
    return has_room(worker) && !worker->home->is_kept &&
           worker->load <= plan->ready_count / (2 * plan->workers_count);
}

static struct plan_worker *idle_worker(const struct task_plan *plan)
{
    struct list_link *link, *spare;

    list_for_each(&plan->idle, link, spare)
    {
        struct plan_worker *worker = list_entry(link, struct plan_worker, node);

        if (!worker->home->is_kept)
            return worker;
    }
    return NULL;
}

/* One that is busy and may have more; those that may not come back when they have ended something. */
static struct plan_worker *roomy_worker(const struct task_plan *plan)
{
    struct list_link *link;

    while ((link = list_first(&plan->roomy)) != NULL) {
        struct plan_worker *worker = list_entry(link, struct plan_worker, node);

        if (may_have_more(plan, worker))
            return worker;
        list_remove(link);
    }
    return NULL;
}

static void give_narrow(struct task_plan *plan)
{
    struct list_link *link;

    while ((link = list_first(&plan->ready)) != NULL) {
        struct plan_worker *worker = idle_worker(plan);

        if (worker == NULL)
            worker = roomy_worker(plan);
        if (worker == NULL)
            return;
        give_task(plan, worker, list_entry(link, struct plan_task, node));
    }
}

/* The node with the most idle workers among those that have enough workers; *ret_fits: enough of them are
 * idle. */
static struct plan_node *node_for(const struct task_plan *plan, uint32_t slots, int *ret_fits)
{
    struct plan_node *best = plan->kept;
    struct list_link *link, *spare;

    if (best == NULL || best->workers < slots)
        best = NULL;
    list_for_each(&plan->nodes, link, spare)
    {
        struct plan_node *home = list_entry(link, struct plan_node, node);

        if (home->workers >= slots && (best == NULL || home->idle > best->idle))
            best = home;
    }
    *ret_fits = best != NULL && best->idle >= slots;
    return best;
}

static void occupy_node(struct task_plan *plan, struct plan_node *home, struct plan_task *task)
{
    struct plan_worker *lead = NULL;
    struct list_link *link, *spare;
    uint32_t left = task->slots;

    list_for_each(&plan->idle, link, spare)
    {
        struct plan_worker *worker = list_entry(link, struct plan_worker, node);

        if (worker->home != home || left == 0)
            continue;
        left--;
        if (lead == NULL) {
            lead = worker;
            give_task(plan, lead, task);
            continue;
        }
        worker->lead = lead;
        place_worker(plan, worker, 1);
    }
    assert(left == 0);
}

/* Its workers get no more until enough of them are idle. */
static void keep_node(struct task_plan *plan, struct plan_node *home)
{
    struct list_link *link, *spare;

    if (plan->kept != NULL)
        return;
    plan->kept = home;
    home->is_kept = 1;
    list_for_each(&plan->workers, link, spare)
    {
        struct plan_worker *worker = list_entry(link, struct plan_worker, all);

        if (worker->home == home && worker->load > 1 && !worker->is_recalled)
            recall_from(plan, worker);
    }
}

static void give_wide(struct task_plan *plan)
{
    struct list_link *link;

    while ((link = list_first(&plan->wide)) != NULL) {
        struct plan_task *task = list_entry(link, struct plan_task, node);
        struct plan_node *home;
        int fits;

        home = node_for(plan, task->slots, &fits);
        if (home == NULL && plan->known < plan->expected)
            return;
        if (home == NULL) {
            list_remove(&task->node);
            end_task(plan, task, TASK_SKIPPED);
            continue;
        }
        if (!fits) {
            keep_node(plan, home);
            return;
        }
        if (plan->kept != NULL)
            plan->kept->is_kept = 0;
        plan->kept = NULL;
        occupy_node(plan, home, task);
    }
}

/* What busy workers have not begun is better given to idle ones. */
static void recall_ahead(struct task_plan *plan)
{
    struct list_link *link, *spare;

    if (plan->ahead == 0 || !list_is_empty(&plan->ready) || idle_worker(plan) == NULL)
        return;
    list_for_each(&plan->workers, link, spare)
    {
        struct plan_worker *worker = list_entry(link, struct plan_worker, all);

        if (worker->load > 1 && !worker->is_recalled)
            recall_from(plan, worker);
    }
}

void task_plan_step(struct task_plan *plan)
{
    plan_check(plan);
    if (plan->workers_count > 0 || plan->known >= plan->expected) {
        give_wide(plan);
        give_narrow(plan);
        recall_ahead(plan);
    }
    plan_check(plan);
}

/* ---- queries ---- */

int task_plan_is_over(const struct task_plan *plan)
{
    return plan->is_closed && plan->counts[TASK_WAITING] == 0 && plan->counts[TASK_READY] == 0 &&
           plan->counts[TASK_ASSIGNED] == 0;
}

enum task_state task_plan_state(const struct task_plan *plan, uint32_t task)
{
    assert(task < plan->tasks_count);
    return plan->tasks[task]->state;
}

uint32_t task_plan_tries(const struct task_plan *plan, uint32_t task)
{
    assert(task < plan->tasks_count);
    return plan->tasks[task]->tries;
}

uint32_t task_plan_count(const struct task_plan *plan, enum task_state state)
{
    assert(state < TASK_STATE_COUNT);
    return plan->counts[state];
}
