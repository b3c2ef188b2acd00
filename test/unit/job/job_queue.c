/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that wait for slots that others have: in which order they start, who overtakes whom and how often, and how
 * waiting ends otherwise.  launch/job/job_queue.c.
 */
#include "config.h"

#include "launch/job/instance.h"

#include <string.h>

#include "launch/job/instance_state.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

static struct job_world *world_of(uint32_t nodes, uint32_t slots)
{
    struct job_world *world = job_world_create_with(nodes, slots, INSTANCE_STAYS);

    world->may_wait = 1;
    job_world_complete(world);
    return world;
}

/* "1r 3w 4r": jobs and whether they wait or run (or start). */
static void is_like(const struct job_world *world, const char *expected, const char *what)
{
    const struct instance *instance = world->places[0].instance;
    struct ranges numbers = {0};
    struct buffer text = {0};
    uint32_t number = 0;

    instance_job_numbers(instance, &numbers);
    for (; ranges_next(&numbers, number, &number); number++)
        buffer_printf(&text, "%s%u%c", text.length_bytes > 0 ? " " : "", number,
                      instance_job_state(instance, number) == INSTANCE_JOB_WAITING ? 'w' : 'r');
    is_string(buffer_string(&text), expected, "%s", what);
    buffer_fini(&text);
    ranges_fini(&numbers);
}

/* On the nodes that live. */
static void ends(struct job_world *world, uint32_t job)
{
    for (uint32_t place = 1; place <= world->nodes; place++) {
        if (world->places[place].instance != NULL)
            job_world_part_starts(world, place, job);
    }
    for (uint32_t place = 1; place <= world->nodes; place++) {
        if (world->places[place].instance != NULL)
            job_world_part_ends(world, place, job);
    }
}

static void withdraw(struct job_world *world, uint32_t job)
{
    struct control_end end = {.status = 130, .reason = "interrupted"};

    job_world_event(world, 0, (struct job_event){.kind = JOB_EVENT_END, .job = job, .end = &end});
}

static void test_order(void)
{
    struct job_world *world = world_of(2, 2);

    job_world_run(world, 3);
    job_world_run(world, 4);
    job_world_run(world, 2);
    is_like(world, "1r 2w 3w", "what does not fit waits");
    job_world_run(world, 1);
    is_like(world, "1r 2w 3w 4r", "what fits is started before them");
    ends(world, 4);
    is_like(world, "1r 2w 3w", "one free slot is not enough for either");
    ends(world, 1);
    is_like(world, "2r 3w", "the first that waits is the first to start");
    is_uint(world->reports, 2, "nobody was refused");
    ends(world, 2);
    is_like(world, "3r", "then the second");
    ends(world, 3);
    is_like(world, "", "nothing is left");
    is_uint(world->reports, 4, "each job has its report");
    job_world_destroy(world);
}

static void test_words(void)
{
    struct job_world *world = world_of(2, 2);

    job_world_run(world, 3);
    (void)job_world_trace(world);
    job_world_run(world, 2);
    job_world_run(world, 4);
    is_string(
        job_world_trace(world),
        "root: say that job 2 waits for 2 slots; other jobs have 3 of the instance's 4 (job 2)\n"
        "root: say that job 3 waits for 4 slots; other jobs have 3 of the instance's 4, and 1 "
        "waits before it (job 3)\n",
        "each user hears once for what its job waits");
    withdraw(world, 2);
    is_string(job_world_trace(world), "root: report 130: interrupted (job 2)\n",
              "a job that waits is withdrawn at once");
    job_world_event(world, 0, (struct job_event){.kind = JOB_EVENT_SIGNAL, .job = 3, .number = 10});
    is_like(world, "1r 3w", "a signal to one that waits has nobody to reach");
    job_world_destroy(world);
}

static void test_refused(void)
{
    struct job_world *world = world_of(2, 2);

    job_world_run(world, 5);
    is_uint(world->end.status, 125, "what never fits is refused");
    job_world_run(world, 3);
    job_world_run(world, 5);
    is_uint(world->reports, 2, "also while others run");
    is_uint(world->end.status, 125, "with the same status");
    world->may_wait = 0;
    job_world_run(world, 2);
    is_uint(world->reports, 3, "what may not wait is refused");
    ok(strstr(world->end.text, "other jobs of this instance have 3 of its 4 slots"),
       "and is told why");
    is_like(world, "2r", "none of them waits");
    job_world_destroy(world);
}

/* The first is not overtaken for ever, and what is held may not start even if it fits. */
static void test_overtaken(void)
{
    struct job_world *world = world_of(1, 4);
    uint32_t last = 2;

    job_world_run(world, 3);
    job_world_run(world, 2);
    for (uint32_t i = 0; i < JOB_OVERTAKEN_MAX; i++) {
        job_world_run(world, 1);
        ends(world, ++last);
    }
    is_uint(world->reports, JOB_OVERTAKEN_MAX, "so many overtake the first that waits");
    job_world_run(world, 1);
    is_like(world, "1r 2w 103w", "the next is held, although a slot is free");
    world->may_wait = 0;
    job_world_run(world, 1);
    is_string(world->end.text, "job 2 waits for slots, and 100 later jobs have overtaken it",
              "who may not wait is told");
    world->may_wait = 1;
    job_world_spawn(world, 1, 1, 1);
    is_like(world, "1r 2w 103w 105r", "a job that is spawned is not held");
    ends(world, 1);
    is_like(world, "2r 103r 105r", "then the first starts, and who was held by it");
    job_world_destroy(world);
}

static void test_withdrawn(void)
{
    struct job_world *world = world_of(1, 4);
    uint32_t last = 2;

    job_world_run(world, 3);
    job_world_run(world, 2);
    for (uint32_t i = 0; i < JOB_OVERTAKEN_MAX; i++) {
        job_world_run(world, 1);
        ends(world, ++last);
    }
    job_world_run(world, 1);
    withdraw(world, 2);
    is_like(world, "1r 103r", "one that is withdrawn holds nobody");
    job_world_destroy(world);
}

/* A node dies: what then never fits is refused, and what fits on the others is started. */
static void test_lost(void)
{
    struct job_world *world = world_of(2, 2);

    job_world_run(world, 3);
    job_world_run(world, 4);
    job_world_run(world, 2);
    is_like(world, "1r 2w 3w", "two wait");
    for (uint32_t place = 1; place <= 2; place++)
        job_world_part_starts(world, place, 1);
    job_world_kill(world, 2);
    job_world_pass(world, 100); /* in which more failures are gathered */
    job_world_part_ends(world, 1, 1);
    job_world_pass(world, 1000);
    is_like(world, "3r", "one of them is started where it still fits");
    is_uint(world->reports, 2, "the other is refused");
    job_world_destroy(world);
}

static void test_leave(void)
{
    struct job_world *world = world_of(1, 1);

    job_world_run(world, 1);
    job_world_run(world, 1);
    job_world_leave(world, "the instance was ended");
    is_uint(world->reports, 1, "an instance that ends withdraws what waits");
    is_like(world, "1r", "and starts nothing");
    job_world_destroy(world);
}

/* Cores can be scarcer than slots, and of nodes that were never asked nothing is known. */
static void test_cores(void)
{
    struct job_world *world = job_world_create_with(1, 4, INSTANCE_STAYS);

    world->may_wait = 1;
    world->cores = 3;
    world->rule = (struct placement_rule){.policy = PLACEMENT_BY_OBJECT,
                                          .level = TOPOLOGY_CORE,
                                          .bind = PLACEMENT_BIND_LEVEL,
                                          .bind_level = TOPOLOGY_CORE};
    job_world_complete(world);
    job_world_run(world, 2);
    job_world_run(world, 2);
    is_like(world, "1r 2w", "a bound job waits for cores");
    job_world_run(world, 4);
    is_uint(world->end.status, 125, "more than there are is refused");
    is_uint(world->reports, 1, "alone");
    job_world_run(world, 1);
    is_like(world, "1r 2w 4r", "the last core overtakes");
    ends(world, 1);
    is_like(world, "2r 4r", "cores that were given back start it");
    job_world_destroy(world);
}

int main(void)
{
    test_order();
    test_words();
    test_refused();
    test_overtaken();
    test_withdrawn();
    test_lost();
    test_leave();
    test_cores();
    return done_testing();
}
