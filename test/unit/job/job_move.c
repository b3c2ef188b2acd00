/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of a lost node that are started again on a spare (launch/job/job_move.c), by hand. */
#include "config.h"

#include "launch/job/job.h"

#include <stdio.h>
#include <string.h>

#include "launch/job/instance_state.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */

/* A job with so many processes on each node that is no spare. */
static struct job_world *running(uint32_t nodes, uint32_t slots, uint32_t spares,
                                 uint32_t restarts_max)
{
    struct job_world *world =
        job_world_create_spares(nodes, slots, spares, INSTANCE_LEAVES_WITH_JOB);

    world->on_failure = JOB_ON_FAILURE_RESTART;
    world->restarts_max = restarts_max;
    job_world_run(world, (nodes - spares) * slots);
    job_world_complete(world);
    for (uint32_t place = 1; place <= nodes - spares; place++)
        job_world_part_starts(world, place, 1);
    job_world_trace(world);
    return world;
}

static void joins(struct job_world *world, uint32_t place)
{
    job_world_event(world, place, (struct job_event){.kind = JOB_EVENT_JOINED, .job = 1});
}

static void ends_well(struct job_world *world, uint32_t place, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++)
        job_world_exited(world, place, i, 0, 0);
    job_world_gone(world, place, 0);
}

static const struct job *job_of(const struct job_world *world)
{
    return instance_find_job(world->places[0].instance, 1);
}

static void test_well(void)
{
    struct job_world *world = running(4, 1, 1, 3);

    job_world_kill(world, 2);
    job_world_happens(
        world,
        "root: say spare node n4 takes the place of n2, which is lost; 0 left\n"
        "root: say lost node n2: its daemon closed the connection; rank 1 there: restart 1 of 3 on the spare n4 in 1 s\n"
        "root: broadcast MOVED to 1,3\n"
        "root: broadcast RELAUNCH to 4\n"
        "n4: open\n",
        "the ranks of a lost node go to its spare");
    is_uint(world->places[4].starts, 0, "they wait");
    is_int(world->places[1].end_grace_ms, -1, "nobody is ended");
    job_world_pass(world, 1000);
    job_world_happens(world, "n4: start 1 process\n", "then they are started");
    is_uint(instance_part_restart_count(world->places[4].instance, 1, 0), 1,
            "and know that they were before");
    job_world_started(world, 4, 0);
    is_string(job_world_trace(world), "", "the root knows that the job runs");
    ends_well(world, 1, 1);
    ends_well(world, 3, 1);
    is_uint(world->reports, 0, "the others wait for the spare");
    job_world_trace(world);
    ends_well(world, 4, 1);
    has_string(job_world_trace(world),
               "n4: contribute to ENDED 2 of 1,3-4: 1 processes, status 0, 0 bytes",
               "its part ends like theirs");
    job_world_pass(world, 200);
    job_world_reported(world, 0, "", "all end well");
}

/* Each rank has its own number, also of restarts where it was. */
static void test_counts(void)
{
    struct job_world *world = running(3, 2, 1, 3);
    struct instance *spare = world->places[3].instance;

    job_world_exited(world, 2, 1, EXITED(7), 0);
    job_world_pass(world, 1000);
    job_world_started(world, 2, 1);
    job_world_kill(world, 2);
    has_string(world->text, "ranks 2-3 there: restart 2 of 3 on the spare n3 in 2 s",
               "the user reads the highest number");
    is_uint(instance_part_restart_count(spare, 1, 0), 1, "one is started for the second time");
    is_uint(instance_part_restart_count(spare, 1, 1), 2, "the other for the third");
    job_world_pass(world, 1000);
    is_uint(world->places[3].starts, 1, "each after its own pause");
    job_world_pass(world, 1000);
    is_uint(world->places[3].starts, 2, "as before");
    job_world_started(world, 3, 0);
    job_world_started(world, 3, 1);
    job_world_exited(world, 3, 1, EXITED(7), 0);
    job_world_pass(world, 4000);
    is_uint(world->places[3].starts, 3, "they are restarted there, too");
    job_world_started(world, 3, 1);
    job_world_exited(world, 3, 1, EXITED(7), 0);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms, "up to the same limit");
    job_world_destroy(world);
}

/* Slots and nodes are counted as they are. */
static void test_slots(void)
{
    struct job_world *world = running(3, 2, 1, 3);
    struct ranges places = {0};

    job_world_kill(world, 1);
    instance_job_places(world->places[0].instance, 1, 0, &places);
    ok(ranges_contains(&places, 3), "the root finds a rank where it is");
    ranges_fini(&places);
    is_uint(job_of(world)->shares.count, 1, "the job has its slots");
    is_uint(job_of(world)->shares.items[0].nodes.last, 2, "there");
    is_uint(job_of(world)->spec.stdin_rank, UINT32_MAX, "a rank that reads input has its end");
    job_world_destroy(world);
}

static void test_next(void)
{
    struct job_world *world = running(4, 1, 2, 3);

    job_world_kill(world, 1);
    job_world_pass(world, 1000);
    job_world_started(world, 3, 0);
    job_world_kill(world, 3);
    has_string(world->text,
               "lost node n3: its daemon closed the connection; rank 0 there: restart 2 of 3 on "
               "the spare n4 in 2 s",
               "ranks go on to the next spare");
    job_world_pass(world, 2000);
    job_world_started(world, 4, 0);
    ends_well(world, 2, 1);
    ends_well(world, 4, 1);
    job_world_pass(world, 200);
    job_world_reported(world, 0, "", "all end well on the second one");
}

static void refused(struct job_world *world, const char *why, const char *what)
{
    char text[256];

    snprintf(text, sizeof(text),
             "lost node n2: its daemon closed the connection; %s; the job was ended", why);
    job_world_kill(world, 2);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms, "%s: the job is ended",
           what);
    job_world_exited(world, 1, 0, 15, 1);
    job_world_gone(world, 1, 0);
    if (world->places[3].starts > 0) {
        job_world_exited(world, 3, 0, 15, 1);
        job_world_gone(world, 3, 0);
    }
    job_world_pass(world, 200);
    job_world_reported(world, 125, text, what);
}

static void test_refused(void)
{
    struct job_world *world = running(3, 1, 1, 3);

    job_world_kill(world, 3);
    refused(world, "no spare is left", "the spare is lost");
    world = running(3, 1, 1, 3);
    joins(world, 1);
    has_string(job_world_trace(world), "n1: send SPOKEN", "a node says that a rank uses PMI");
    joins(world, 1);
    is_string(job_world_trace(world), "", "once");
    refused(world, "ranks had connected to PMI, so none is restarted on a spare", "PMI");
    world = running(3, 1, 1, 1);
    job_world_exited(world, 2, 0, EXITED(1), 0);
    job_world_pass(world, 1000);
    job_world_started(world, 2, 0);
    refused(world, "its ranks have been restarted as often as they may be", "the limit");
}

/* A PMIx server that starts before the ranks has registered where they are. */
static void test_early(void)
{
    for (int is_large = 0; is_large <= 1; is_large++) {
        struct job_world *world =
            job_world_create_spares(3, is_large ? 65 : 64, 1, INSTANCE_LEAVES_WITH_JOB);

        world->on_failure = JOB_ON_FAILURE_RESTART;
        world->restarts_max = 3;
        world->mpi = JOB_MPI_PMIX;
        job_world_run(world, is_large ? 130 : 128);
        job_world_complete(world);
        job_world_part_starts(world, 1, 1);
        job_world_part_starts(world, 2, 1);
        job_world_kill(world, 2);
        is_int(world->places[1].end_grace_ms, is_large ? (int)world->instance.kill_grace_ms : -1,
               is_large ? "a large job is ended" : "a smaller one goes on");
        job_world_destroy(world);
    }
}

/* It is lost on its way, or crosses the message that ranks have moved. */
static void test_late(void)
{
    struct job_world *world = running(3, 1, 1, 3);

    world->hold = HOLD_MESSAGES;
    joins(world, 1);
    job_world_kill(world, 2);
    has_string(job_world_trace(world), "broadcast MOVED", "the root does not know of PMI yet");
    world->hold = 0;
    job_world_release(world);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "a node refuses, and the job is ended");
    job_world_drained(world, 3, 0);
    job_world_exited(world, 1, 0, 15, 1);
    job_world_gone(world, 1, 0);
    job_world_pass(world, 200);
    job_world_reported(world, 125,
                       "cannot serve the ranks on n1: they had connected to PMI when ranks of a "
                       "lost node were to move to a spare",
                       "the user reads why");
}

/* The job is ended while ranks wait for their start on the spare. */
static void test_ended(void)
{
    struct job_world *world = running(3, 2, 1, 3);

    job_world_kill(world, 2);
    job_world_end(world, 130, 0, "interrupted");
    is_uint(world->places[3].starts, 0, "none is started any more");
    is_int(world->places[3].cut, 1, "the part ends at once");
    job_world_drained(world, 3, 0);
    job_world_exited(world, 1, 0, 15, 1);
    job_world_exited(world, 1, 1, 15, 1);
    job_world_gone(world, 1, 0);
    job_world_pass(world, 2000);
    job_world_reported(world, 130, "interrupted", "and the job with it");
}

/* What LAUNCHED would have said comes by itself. */
static void test_starting(void)
{
    struct job_world *world = job_world_create_spares(4, 1, 1, INSTANCE_LEAVES_WITH_JOB);
    struct job_event fails = {.kind = JOB_EVENT_START_FAILED,
                              .job = 1,
                              .number = -2,
                              .step = START_STEP_EXEC,
                              .text = ""};

    world->on_failure = JOB_ON_FAILURE_RESTART;
    world->restarts_max = 3;
    job_world_run(world, 3);
    job_world_complete(world);
    job_world_part_starts(world, 1, 1);
    job_world_kill(world, 2);
    is_uint(world->started, 1, "ranks move while the others start");
    job_world_event(world, 3, fails);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "one that cannot be started ends the job");
    job_world_destroy(world);

    world = job_world_create_spares(4, 1, 1, INSTANCE_LEAVES_WITH_JOB);
    world->on_failure = JOB_ON_FAILURE_RESTART;
    world->restarts_max = 3;
    job_world_run(world, 3);
    job_world_complete(world);
    job_world_event(world, 3, fails);
    job_world_kill(world, 2);
    job_world_pass(world, 1000);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "also if it has failed before");
    job_world_destroy(world);
}

static void test_cannot_start(void)
{
    struct job_world *world = running(3, 1, 1, 3);

    job_world_kill(world, 2);
    job_world_pass(world, 1000);
    job_world_event(world, 3,
                    (struct job_event){.kind = JOB_EVENT_START_FAILED,
                                       .job = 1,
                                       .number = -2,
                                       .step = START_STEP_EXEC,
                                       .text = ""});
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "a program that is not on the spare ends the job");
    job_world_drained(world, 3, 0);
    job_world_exited(world, 1, 0, 15, 1);
    job_world_gone(world, 1, 0);
    job_world_pass(world, 200);
    is_uint(world->end.status, 127, "with the status of a program that was not found");
    job_world_destroy(world);
}

int main(void)
{
    test_well();
    test_counts();
    test_slots();
    test_next();
    test_refused();
    test_early();
    test_late();
    test_ended();
    test_starting();
    test_cannot_start();
    return done_testing();
}
