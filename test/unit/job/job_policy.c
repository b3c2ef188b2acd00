/* SPDX-License-Identifier: BSD-3-Clause */
/* The job logic by hand: a job that goes on when ranks fail and nodes are lost. */
#include "config.h"

#include "launch/job/job.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */

/* One process on each node. */
static struct job_world *running(uint32_t nodes)
{
    struct job_world *world = job_world_create(nodes, 1);

    world->on_failure = JOB_ON_FAILURE_CONTINUE;
    job_world_run(world, nodes);
    job_world_complete(world);
    for (uint32_t place = 1; place <= nodes; place++)
        job_world_started(world, place, 0);
    job_world_trace(world);
    return world;
}

static void node_ends(struct job_world *world, uint32_t place, int wait_status)
{
    job_world_exited(world, place, 0, wait_status, 0);
    job_world_gone(world, place, 0);
}

static void test_rank_fails(void)
{
    struct job_world *world = running(3);

    job_world_exited(world, 2, 0, EXITED(7), 0);
    is_int(world->places[1].end_grace_ms, -1, "nobody is ended when a rank fails");
    is_string(world->text, "rank 1 on n2 exited with status 7; the job goes on", "it is told");
    job_world_gone(world, 2, 0);
    node_ends(world, 1, 0);
    is_uint(world->reports, 0, "the others are waited for");
    node_ends(world, 3, 0);
    ok(!world->end.banyan_failed, "it is the program's own failure");
    job_world_reported(world, 7, "rank 1 on n2 exited with status 7", "a rank that fails");
}

static void test_node_lost(void)
{
    struct job_world *world = running(4);

    node_ends(world, 1, 0);
    job_world_trace(world);
    job_world_kill(world, 2);
    job_world_happens(
        world,
        "root: say lost node n2: its daemon closed the connection; the job goes on without "
        "rank 1\n"
        "root: broadcast END to 1,3-4\n"
        "n1: contribute to ENDED 2 of 1,3-4: 1 processes, status 0, 0 bytes\n",
        "who is left is asked to count without the dead, and goes on");
    is_int(world->places[3].end_grace_ms, -1, "and is not ended");
    job_world_kill(world, 4);
    node_ends(world, 3, EXITED(1));
    job_world_pass(world, 200);
    job_world_reported(world, 137,
                       "lost node n2: its daemon closed the connection; the job went on without it",
                       "nodes lost in the run");
}

/* The next failure is one of a job that goes on, not of one that ends. */
static void test_failure_after_loss(void)
{
    struct job_world *world = running(3);

    job_world_kill(world, 2);
    job_world_exited(world, 1, 0, EXITED(200), 0);
    is_string(world->text, "rank 0 on n1 exited with status 200; the job goes on", "it is told");
    job_world_gone(world, 1, 0);
    node_ends(world, 3, 0);
    job_world_pass(world, 200);
    job_world_reported(world, 200,
                       "lost node n2: its daemon closed the connection; the job went on without it",
                       "a rank that fails after a loss");
}

static void test_all_lost(void)
{
    struct job_world *world = running(2);

    job_world_kill(world, 2);
    job_world_kill(world, 1);
    job_world_reported(world, 137,
                       "lost node n2: its daemon closed the connection; the job went on without it",
                       "all nodes lost");
}

static void test_abort(void)
{
    struct job_world *world = running(2);

    job_world_event(world, 1,
                    (struct job_event){.kind = JOB_EVENT_ABORT, .job = 1, .number = 3, .text = ""});
    is_int(world->places[2].end_grace_ms, world->instance.kill_grace_ms,
           "a rank that calls abort ends the job all the same");
    node_ends(world, 1, SIGTERM);
    node_ends(world, 2, SIGTERM);
    job_world_reported(world, 3, "rank 0 on n1 called abort with status 3", "an abort");
}

static void test_lost_in_launch(void)
{
    struct job_world *world = job_world_create(3, 1);

    world->on_failure = JOB_ON_FAILURE_CONTINUE;
    job_world_run(world, 3);
    job_world_complete(world);
    job_world_started(world, 1, 0);
    job_world_kill(world, 2);
    is_int(world->places[1].end_grace_ms, -1, "a job that loses a node while launching goes on");
    job_world_started(world, 3, 0);
    node_ends(world, 3, 0);
    node_ends(world, 1, 0);
    job_world_pass(world, 200);
    job_world_reported(world, 137,
                       "lost node n2: its daemon closed the connection; the job went on without it",
                       "a node lost while launching");
}

static void test_start_fails(void)
{
    struct job_world *world = job_world_create(2, 1);

    world->on_failure = JOB_ON_FAILURE_CONTINUE;
    job_world_run(world, 2);
    job_world_complete(world);
    job_world_started(world, 1, 0);
    job_world_event(
        world, 2,
        (struct job_event){
            .kind = JOB_EVENT_START_FAILED, .job = 1, .number = -2, .step = START_STEP_EXEC});
    is_int(world->places[1].end_grace_ms, -1, "who was started goes on without who was not");
    job_world_gone(world, 2, 0);
    node_ends(world, 1, 0);
    job_world_reported(world, 127, "cannot run ./app on n2 (rank 1): No such file or directory",
                       "a rank that cannot be started");
}

/* Who has ended well may be waited for by others. */
static void test_missed(void)
{
    struct job_event missed = {.kind = JOB_EVENT_MISSED, .job = 1, .text = "barrier 2 of job 1"};
    struct job_world *world = running(2);

    node_ends(world, 2, 0);
    job_world_event(world, 2, missed);
    is_int(world->places[1].end_grace_ms, -1, "it ends nothing");
    is_string(
        world->text,
        "rank 1 on n2 ended without joining barrier 2 of job 1, in which other ranks are waiting; the "
        "job goes on",
        "it is told");
    job_world_event(world, 2, missed);
    node_ends(world, 1, 0);
    job_world_reported(
        world, 1,
        "rank 1 on n2 ended without joining barrier 2 of job 1, in which other ranks are waiting",
        "a rank that others wait for");
    world = job_world_create(2, 1);
    job_world_run(world, 2);
    job_world_complete(world);
    job_world_started(world, 1, 0);
    job_world_started(world, 2, 0);
    node_ends(world, 2, 0);
    job_world_event(world, 2, missed);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "by the other policy it ends the job");
    job_world_destroy(world);
}

/* The user's wish is stronger. */
static void test_interrupted(void)
{
    struct job_world *world = running(2);

    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_end(world, 130, 0, "interrupted");
    is_int(world->places[2].end_grace_ms, world->instance.kill_grace_ms, "Ctrl-C ends it");
    job_world_gone(world, 1, 0);
    node_ends(world, 2, SIGTERM);
    job_world_reported(world, 130, "interrupted", "an interrupt");
}

int main(void)
{
    test_rank_fails();
    test_node_lost();
    test_failure_after_loss();
    test_all_lost();
    test_abort();
    test_lost_in_launch();
    test_start_fails();
    test_missed();
    test_interrupted();
    return done_testing();
}
