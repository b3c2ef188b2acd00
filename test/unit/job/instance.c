/* SPDX-License-Identifier: BSD-3-Clause */
/* Several jobs in one instance, by hand. */
#include "config.h"

#include "launch/job/instance.h"

#include <signal.h>
#include <string.h>

#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */

static struct job_world *staying(uint32_t nodes, uint32_t slots)
{
    struct job_world *world = job_world_create_with(nodes, slots, INSTANCE_STAYS);

    job_world_complete(world);
    return world;
}

static void happens_at(struct job_world *world, uint32_t place, enum job_event_kind kind,
                       uint32_t job, int64_t number)
{
    job_world_event(world, place, (struct job_event){.kind = kind, .job = job, .number = number});
}

/* The one process that a job has there ends, and nothing is left of it. */
static void part_ends(struct job_world *world, uint32_t place, uint32_t job, int wait_status)
{
    happens_at(world, place, JOB_EVENT_EXITED, job, wait_status);
    happens_at(world, place, JOB_EVENT_GROUP_EMPTY, job, 0);
    happens_at(world, place, JOB_EVENT_DRAINED, job, 0);
}

static void nothing_is_kept(struct job_world *world, const char *what)
{
    uint32_t kept = instance_kept_jobs(world->places[0].instance);

    for (uint32_t place = 1; place <= world->nodes; place++)
        kept += world->places[place].instance ? instance_parts(world->places[place].instance) : 0;
    is_uint(kept, 0, "%s: nothing is kept", what);
}

static void test_two_jobs(void)
{
    struct job_world *world = staying(3, 1);

    job_world_trace(world);
    job_world_run(world, 2);
    job_world_run(world, 1);
    happens_at(world, 1, JOB_EVENT_STARTED, 1, 100);
    happens_at(world, 3, JOB_EVENT_STARTED, 2, 100);
    happens_at(world, 2, JOB_EVENT_STARTED, 1, 100);
    part_ends(world, 3, 2, 0);
    part_ends(world, 1, 1, 0);
    part_ends(world, 2, 1, 0);
    job_world_happens(world,
                      "root: broadcast LAUNCH to 1-2\n"
                      "n1: open\n"
                      "n1: start 1 process\n"
                      "n2: open\n"
                      "n2: start 1 process\n"
                      "root: broadcast LAUNCH to 3 (job 2)\n"
                      "n3: open (job 2)\n"
                      "n3: start 1 process (job 2)\n"
                      "n1: contribute to LAUNCHED 1 of 1-2: 1 processes\n"
                      "n3: contribute to LAUNCHED 1 of 3: 1 processes (job 2)\n"
                      "root: started 1 processes on 1 nodes (job 2)\n"
                      "n2: contribute to LAUNCHED 1 of 1-2: 1 processes\n"
                      "root: started 2 processes on 2 nodes\n"
                      "n3: last output (job 2)\n"
                      "n3: contribute to ENDED 1 of 3: 1 processes, status 0, 0 bytes (job 2)\n"
                      "n3: close (job 2)\n"
                      "root: forget the job at 3 (job 2)\n"
                      "root: report 0 (job 2)\n"
                      "n1: last output\n"
                      "n1: contribute to ENDED 1 of 1-2: 1 processes, status 0, 0 bytes\n"
                      "n2: last output\n"
                      "n2: contribute to ENDED 1 of 1-2: 1 processes, status 0, 0 bytes\n"
                      "n1: close\n"
                      "n2: close\n"
                      "root: forget the job at 1-2\n"
                      "root: report 0\n",
                      "two jobs at once, each on nodes of its own");
    is_uint(world->leaves, 0, "the instance stays");
    nothing_is_kept(world, "two jobs");
    job_world_leave(world, "ended");
    is_uint(world->leaves, 1, "until it is asked to leave");
    job_world_destroy(world);
}

static void test_failure_beside(void)
{
    struct job_world *world = staying(2, 2);

    job_world_run(world, 1);
    job_world_run(world, 3);
    happens_at(world, 1, JOB_EVENT_STARTED, 1, 100);
    happens_at(world, 1, JOB_EVENT_STARTED, 2, 101);
    for (uint32_t index = 0; index < 2; index++)
        job_world_event(world, 2,
                        (struct job_event){.kind = JOB_EVENT_STARTED, .job = 2, .index = index});
    job_world_trace(world);
    happens_at(world, 1, JOB_EVENT_EXITED, 2, EXITED(3));
    job_world_happens(world,
                      "n1: send RANK_FAILED (job 2)\n"
                      "root: broadcast END to 1-2 (job 2)\n"
                      "n1: end the processes, grace 2000 ms (job 2)\n"
                      "n2: end the processes, grace 2000 ms (job 2)\n",
                      "a job that fails beside one that lives");
    happens_at(world, 1, JOB_EVENT_GROUP_EMPTY, 2, 0);
    happens_at(world, 1, JOB_EVENT_DRAINED, 2, 0);
    for (uint32_t index = 0; index < 2; index++)
        job_world_event(
            world, 2,
            (struct job_event){
                .kind = JOB_EVENT_EXITED, .job = 2, .index = index, .number = SIGTERM, .flag = 1});
    happens_at(world, 2, JOB_EVENT_GROUP_EMPTY, 2, 0);
    happens_at(world, 2, JOB_EVENT_DRAINED, 2, 0);
    is_uint(world->reports, 1, "it is reported");
    is_uint(world->end.status, 3, "with its own status");
    part_ends(world, 1, 1, 0);
    is_uint(world->reports, 2, "and the other when it ends");
    is_uint(world->end.status, 0, "well");
    nothing_is_kept(world, "a failure");
    job_world_destroy(world);
}

/* A node that is lost has processes of one job only. */
static void test_loss_beside(void)
{
    struct job_world *world = staying(2, 1);

    job_world_run(world, 1);
    job_world_run(world, 1);
    happens_at(world, 1, JOB_EVENT_STARTED, 1, 100);
    happens_at(world, 2, JOB_EVENT_STARTED, 2, 100);
    job_world_kill(world, 2);
    is_uint(world->reports, 1, "the job of a lost node is reported");
    is_string(world->end.text, "lost node n2: its daemon closed the connection; the job was ended",
              "as lost");
    job_world_run(world, 1);
    is_uint(world->end.status, 125, "a job that no node is left for is refused");
    part_ends(world, 1, 1, 0);
    is_uint(world->end.status, 0, "the job of the other node ends well");
    job_world_run(world, 1);
    is_uint(world->places[1].opened, 2, "and what it had is free for the next");
    job_world_destroy(world);
}

/* The root gives up waiting for a node: the job is reported, but keeps its slots until the node says
 * that it is rid of it. */
static void test_lingering(void)
{
    struct job_world *world = staying(1, 1);

    job_world_run(world, 1);
    happens_at(world, 1, JOB_EVENT_STARTED, 1, 100);
    job_world_end(world, 143, 0, "the front end went away");
    job_world_pass(world, 60 * 1000);
    is_uint(world->reports, 1, "a job whose node does not answer is reported");
    is_uint(instance_jobs(world->places[0].instance), 0, "to its client it is over");
    job_world_run(world, 1);
    is_uint(world->end.status, 125, "what it has is not given to another");
    part_ends(world, 1, 1, SIGKILL);
    nothing_is_kept(world, "a job that lingers");
    job_world_run(world, 1);
    is_uint(world->places[1].opened, 2, "until the node is rid of it");
    job_world_destroy(world);
}

static void test_leave(void)
{
    struct job_world *world = staying(2, 1);

    job_world_run(world, 1);
    job_world_run(world, 1);
    happens_at(world, 1, JOB_EVENT_STARTED, 1, 100);
    happens_at(world, 2, JOB_EVENT_STARTED, 2, 100);
    job_world_leave(world, "the instance was ended");
    is_uint(world->leaves, 0, "jobs are ended first");
    part_ends(world, 1, 1, SIGTERM);
    part_ends(world, 2, 2, SIGTERM);
    is_uint(world->reports, 2, "each is reported");
    is_string(world->end.text, "the instance was ended", "with the reason");
    is_uint(world->leaves, 1, "then all leave");
    job_world_run(world, 1);
    is_string(world->end.text, "the instance is ending", "and no other job is taken");
    job_world_destroy(world);
}

/* Slots come and go a thousand times: nothing stays behind, and numbers are never used again. */
static void test_many(void)
{
    struct job_world *world = staying(2, 2);

    for (uint32_t job = 1; job <= 10; job++) {
        job_world_run(world, 1);
        happens_at(world, 1, JOB_EVENT_STARTED, job, 100);
        part_ends(world, 1, job, 0);
    }
    is_uint(world->reports, 10, "ten jobs one after the other");
    nothing_is_kept(world, "ten jobs");
    job_world_destroy(world);
}

int main(void)
{
    test_two_jobs();
    test_failure_beside();
    test_loss_beside();
    test_lingering();
    test_leave();
    test_many();
    return done_testing();
}
