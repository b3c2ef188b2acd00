/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who runs which task (launch/cli/client/task_plan.c): cases as traces, and random lists on random workers,
 * of which some are lost, judged by what must always hold.
 */
#include "config.h"

#include "launch/cli/client/task_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/random.h"
#include "test/support/tap.h"

static struct buffer trace;

static void on_run(void *context, uint32_t worker, uint32_t task)
{
    buffer_printf(&trace, "%u:%u ", worker, task);
}

static void on_recall(void *context, uint32_t worker)
{
    buffer_printf(&trace, "recall %u ", worker);
}

static void on_failed(void *context, uint32_t worker, uint32_t task)
{
    buffer_printf(&trace, "failed %u:%u ", worker, task);
}

static const struct task_plan_ops ops = {.run = on_run, .recall = on_recall, .failed = on_failed};

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&trace), expected, "%s", name);
    buffer_clear(&trace);
}

static struct task_plan *plan_of(uint32_t tasks, uint32_t places, uint32_t per_place,
                                 uint32_t retries)
{
    struct task_plan *plan = task_plan_create(retries, &ops, NULL);

    for (uint32_t i = 0; i < tasks; i++)
        task_plan_add(plan, 1, NULL, 0, 0);
    for (uint32_t i = 0; i < places * per_place; i++)
        is_int(task_plan_worker(plan, i, 1 + i / per_place), 0, "worker %u", i);
    task_plan_expect(plan, places * per_place);
    return plan;
}

static void test_order(void)
{
    struct task_plan *plan = plan_of(5, 2, 1, 0);

    is_int(task_plan_worker(plan, 1, 2), -EEXIST, "a worker is one");
    task_plan_step(plan);
    heard("0:0 1:1 ", "tasks in their order; nobody gets ahead of a short list");
    is_int(task_plan_ended(plan, 1, 0, 1), -ENOENT, "a worker ends what it has");
    is_int(task_plan_ended(plan, 1, 1, 1), TASK_SUCCEEDED, "a task");
    task_plan_step(plan);
    heard("1:2 ", "the next goes to whoever is free");
    is_int(task_plan_ended(plan, 0, 0, 0), TASK_FAILED, "a task that fails");
    is_int(task_plan_ended(plan, 1, 2, 1), TASK_SUCCEEDED, "and one that does not");
    task_plan_step(plan);
    heard("0:3 1:4 ", "the last two");
    ok(!task_plan_is_over(plan), "not over");
    (void)task_plan_ended(plan, 0, 3, 1);
    (void)task_plan_ended(plan, 1, 4, 1);
    ok(!task_plan_is_over(plan), "more may come");
    task_plan_close(plan);
    ok(task_plan_is_over(plan), "over");
    ok(task_plan_count(plan, TASK_SUCCEEDED) == 4 && task_plan_count(plan, TASK_FAILED) == 1,
       "four and one");
    task_plan_destroy(plan);
}

static void test_ahead(void)
{
    struct task_plan *plan = plan_of(100, 2, 1, 0);

    task_plan_step(plan);
    heard("0:0 1:1 0:2 1:3 ", "of a long list each gets one ahead");
    (void)task_plan_ended(plan, 0, 0, 1);
    (void)task_plan_ended(plan, 0, 2, 1);
    task_plan_step(plan);
    heard("0:4 0:5 0:6 ", "who ends all of it at once gets more the next time");
    (void)task_plan_ended(plan, 1, 1, 1);
    task_plan_step(plan);
    heard("1:7 ", "who does not, does not");
    task_plan_destroy(plan);
}

static void test_recall(void)
{
    struct task_plan *plan = plan_of(6, 1, 1, 0);

    task_plan_step(plan);
    heard("0:0 0:1 ", "one ahead");
    (void)task_plan_ended(plan, 0, 0, 1);
    (void)task_plan_ended(plan, 0, 1, 1);
    task_plan_step(plan);
    heard("0:2 0:3 ", "still one, of what is left");
    is_int(task_plan_worker(plan, 1, 2), 0, "another worker");
    task_plan_step(plan);
    heard("1:4 ", "gets the next");
    (void)task_plan_ended(plan, 1, 4, 1);
    task_plan_step(plan);
    heard("1:5 ", "and the last");
    (void)task_plan_ended(plan, 1, 5, 1);
    task_plan_step(plan);
    heard("recall 0 ", "and then what the first has not begun");
    task_plan_step(plan);
    heard("", "which is recalled once");
    task_plan_returned(plan, 0, 5);
    task_plan_returned(plan, 0, 3);
    task_plan_recalled(plan, 0);
    task_plan_step(plan);
    heard("1:3 ", "it is given back, and out again");
    (void)task_plan_ended(plan, 0, 2, 1);
    (void)task_plan_ended(plan, 1, 3, 1);
    task_plan_close(plan);
    ok(task_plan_is_over(plan), "each has run once");
    task_plan_destroy(plan);
}

static void test_after(void)
{
    const uint32_t first[] = {0, 1}, second[] = {2};
    struct task_plan *plan = plan_of(2, 1, 4, 0);

    task_plan_add(plan, 1, first, 2, 0);
    task_plan_add(plan, 1, second, 1, 0);
    task_plan_add(plan, 1, NULL, 0, 1);
    task_plan_close(plan);
    task_plan_step(plan);
    heard("0:0 1:1 ", "what waits is not given out, nor what is done");
    (void)task_plan_ended(plan, 0, 0, 1);
    task_plan_step(plan);
    heard("", "as long as it waits for one");
    (void)task_plan_ended(plan, 1, 1, 1);
    task_plan_step(plan);
    heard("2:2 ", "then it is");
    is_int(task_plan_ended(plan, 2, 2, 0), TASK_FAILED, "it fails");
    ok(task_plan_state(plan, 3) == TASK_SKIPPED && task_plan_is_over(plan),
       "and what waits for it is skipped");
    task_plan_destroy(plan);
    plan = plan_of(0, 1, 1, 0);
    task_plan_add(plan, 1, NULL, 0, 0);
    task_plan_step(plan);
    (void)task_plan_ended(plan, 0, 0, 0);
    task_plan_add(plan, 1, (const uint32_t[]){0}, 1, 0);
    ok(task_plan_state(plan, 1) == TASK_SKIPPED, "also if it comes after the failure");
    buffer_clear(&trace);
    task_plan_destroy(plan);
}

static void test_retries(void)
{
    struct task_plan *plan = plan_of(1, 1, 1, 2);

    task_plan_step(plan);
    is_int(task_plan_ended(plan, 0, 0, 0), TASK_READY, "a failure is tried again");
    task_plan_step(plan);
    is_int(task_plan_ended(plan, 0, 0, 0), TASK_READY, "and again");
    task_plan_step(plan);
    is_int(task_plan_ended(plan, 0, 0, 0), TASK_FAILED, "and no more");
    is_uint(task_plan_tries(plan, 0), 3, "that were three");
    heard("0:0 0:0 0:0 ", "all by the only worker");
    task_plan_destroy(plan);
}

static void test_losses(void)
{
    struct task_plan *plan = plan_of(9, 2, 1, 0);
    struct ranges places = {0};

    task_plan_step(plan);
    heard("0:0 1:1 0:2 1:3 ", "two for each");
    task_plan_lost(plan, 0);
    heard("failed 0:0 ", "what it may have run has failed without retries");
    task_plan_lost(plan, 77);
    is_int(task_plan_ended(plan, 0, 2, 1), -ENOENT, "what it still says does not count");
    (void)task_plan_ended(plan, 1, 1, 1);
    (void)task_plan_ended(plan, 1, 3, 1);
    task_plan_step(plan);
    heard("1:2 1:4 1:5 ", "what it has not begun is the next");
    ranges_add(&places, 2, 2);
    task_plan_lost_places(plan, &places);
    task_plan_step(plan);
    heard("failed 1:2 ", "a node is lost with its workers");
    ok(task_plan_state(plan, 4) == TASK_READY && task_plan_state(plan, 8) == TASK_READY,
       "the others remain");
    ranges_fini(&places);
    task_plan_destroy(plan);
}

static void test_wide(void)
{
    struct task_plan *plan = plan_of(3, 2, 2, 0);

    task_plan_step(plan);
    heard("0:0 1:1 2:2 ", "three of four workers");
    task_plan_add(plan, 2, NULL, 0, 0);
    task_plan_add(plan, 1, NULL, 0, 0);
    task_plan_add(plan, 3, NULL, 0, 0);
    task_plan_step(plan);
    heard("", "two slots: the node with one that is free is kept; three: they must wait");
    (void)task_plan_ended(plan, 0, 0, 1);
    task_plan_step(plan);
    heard("0:4 ", "what needs one goes elsewhere");
    (void)task_plan_ended(plan, 2, 2, 1);
    task_plan_step(plan);
    ok(trace.length_bytes == 4 && (trace.data[0] == '2' || trace.data[0] == '3') &&
           trace.data[2] == '3',
       "it runs when both are free");
    buffer_clear(&trace);
    ok(task_plan_state(plan, 5) == TASK_SKIPPED, "no node has three");
    (void)task_plan_ended(plan, 2, 3, 1);
    (void)task_plan_ended(plan, 3, 3, 1);
    (void)task_plan_ended(plan, 0, 4, 1);
    (void)task_plan_ended(plan, 1, 1, 1);
    for (int i = 0; i < 4; i++)
        task_plan_add(plan, 1, NULL, 0, 0);
    task_plan_step(plan);
    is_uint(task_plan_count(plan, TASK_ASSIGNED), 4, "then all four are free");
    buffer_clear(&trace);
    task_plan_close(plan);
    task_plan_destroy(plan);
}

/* ---- random ---- */

#define TASKS_MAX   60u
#define WORKERS_MAX 12u

struct model {
    uint32_t slots[TASKS_MAX];
    uint32_t after[TASKS_MAX];       /* one that it waits for, or itself */
    uint32_t queue[WORKERS_MAX][64]; /* tasks of a worker, in order */
    uint32_t length[WORKERS_MAX];
    int is_recalled[WORKERS_MAX];
    int is_gone[WORKERS_MAX];
    int wrong;
    struct task_plan *plan;
};

/* A worker that has a task of several slots has nothing else, and leaves that many idle beside it. */
static void model_run(void *context, uint32_t worker, uint32_t task)
{
    struct model *model = context;

    model->wrong |= model->is_gone[worker] || model->length[worker] >= TASK_PLAN_AHEAD_MAX + 1 ||
                    model->is_recalled[worker] ||
                    (model->slots[task] > 1 && model->length[worker] > 0);
    if (model->after[task] != task)
        model->wrong |= task_plan_state(model->plan, model->after[task]) != TASK_SUCCEEDED;
    model->queue[worker][model->length[worker]++] = task;
}

static void model_recall(void *context, uint32_t worker)
{
    struct model *model = context;

    model->wrong |= model->length[worker] < 2 || model->is_recalled[worker];
    model->is_recalled[worker] = 1;
}

static void model_failed(void *context, uint32_t worker, uint32_t task)
{
    ((struct model *)context)->wrong |=
        task_plan_state(((struct model *)context)->plan, task) != TASK_FAILED;
}

/* No node runs more than it has slots for. */
static void check_slots(struct model *model)
{
    for (uint32_t node = 0; node < WORKERS_MAX / 4; node++) {
        uint32_t used = 0;

        for (uint32_t i = 4 * node; i < 4 * node + 4; i++)
            used += model->length[i] > 0 ? model->slots[model->queue[i][0]] : 0;
        model->wrong |= used > 4;
    }
}

static void end_first(struct model *model, uint32_t worker, int has_succeeded)
{
    model->wrong |=
        task_plan_ended(model->plan, worker, model->queue[worker][0], has_succeeded) < 0;
    model->length[worker]--;
    for (uint32_t i = 0; i < model->length[worker]; i++)
        model->queue[worker][i] = model->queue[worker][i + 1];
}

static void random_event(struct model *model, struct random_state *random)
{
    uint32_t worker = (uint32_t)random_below(random, WORKERS_MAX);

    if (model->is_gone[worker])
        return;
    if (model->is_recalled[worker] && random_below(random, 2) == 0) {
        while (model->length[worker] > 1)
            task_plan_returned(model->plan, worker, model->queue[worker][--model->length[worker]]);
        model->is_recalled[worker] = 0;
        task_plan_recalled(model->plan, worker);
    } else if (random_below(random, 100) == 0 && worker % 4 == 3) {
        model->is_gone[worker] = 1; /* each node keeps three */
        model->length[worker] = 0;
        task_plan_lost(model->plan, worker);
    } else {
        for (uint32_t i = (uint32_t)random_below(random, 4); i > 0 && model->length[worker] > 0;
             i--)
            end_first(model, worker, random_below(random, 10) > 0);
    }
}

static int random_world(uint64_t seed)
{
    static const struct task_plan_ops model_ops = {
        .run = model_run, .recall = model_recall, .failed = model_failed};
    struct model model = {.wrong = 0};
    struct random_state random;
    uint32_t steps = 0, count;

    random_init(&random, seed);
    count = (uint32_t)random_below(&random, TASKS_MAX + 1);
    model.plan = task_plan_create((uint32_t)random_below(&random, 3), &model_ops, &model);
    for (uint32_t i = 0; i < count; i++) {
        model.slots[i] = random_below(&random, 5) == 0 ? 1 + (uint32_t)random_below(&random, 3) : 1;
        model.after[i] = random_below(&random, 3) == 0 ? (uint32_t)random_below(&random, i + 1) : i;
        task_plan_add(model.plan, model.slots[i], &model.after[i], model.after[i] != i, 0);
    }
    task_plan_close(model.plan);
    for (uint32_t i = 0; i < WORKERS_MAX; i++)
        (void)task_plan_worker(model.plan, i, 1 + i / 4);
    task_plan_expect(model.plan, WORKERS_MAX);
    while (!task_plan_is_over(model.plan) && !model.wrong && steps++ < 100000) {
        task_plan_step(model.plan);
        check_slots(&model);
        random_event(&model, &random);
    }
    model.wrong |=
        !task_plan_is_over(model.plan) || task_plan_count(model.plan, TASK_SUCCEEDED) +
                                                  task_plan_count(model.plan, TASK_FAILED) +
                                                  task_plan_count(model.plan, TASK_SKIPPED) !=
                                              count;
    task_plan_destroy(model.plan);
    return !model.wrong;
}

int main(void)
{
    uint64_t seed = 1;

    test_order();
    test_ahead();
    test_recall();
    test_after();
    test_retries();
    test_losses();
    test_wide();
    while (seed <= 2000 && random_world(seed))
        seed++;
    is_uint(seed, 2001, "random lists come to their end, by seed");
    task_plan_destroy(NULL);
    buffer_fini(&trace);
    return done_testing();
}
