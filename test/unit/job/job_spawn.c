/* SPDX-License-Identifier: BSD-3-Clause */
/* The job logic by hand: jobs that processes of others have spawned. */
#include "config.h"

#include "launch/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */

/* Job 1 has a process on n1; the other nodes have a free slot each. */
static struct job_world *running(uint32_t nodes)
{
    struct job_world *world = job_world_create(nodes, 1);

    job_world_run(world, 1);
    job_world_complete(world);
    job_world_started(world, 1, 0);
    job_world_trace(world);
    return world;
}

/* Signal 9 is ours. */
static void exits(struct job_world *world, uint32_t place, uint32_t job, int wait_status)
{
    job_world_event(
        world, place,
        (struct job_event){
            .kind = JOB_EVENT_EXITED, .job = job, .number = wait_status, .flag = wait_status == 9});
    job_world_event(world, place, (struct job_event){.kind = JOB_EVENT_GROUP_EMPTY, .job = job});
    job_world_event(world, place, (struct job_event){.kind = JOB_EVENT_DRAINED, .job = job});
}

static void test_started(void)
{
    struct job_world *world = running(3);

    job_world_spawn(world, 1, 7, 2);
    job_world_part_starts(world, 2, 2);
    is_int(strstr(job_world_trace(world), "reply") != NULL, 0,
           "who asks is not answered before all processes have been started");
    job_world_part_starts(world, 3, 2);
    job_world_happens(world,
                      "n3: contribute to LAUNCHED 1 of 2-3: 1 processes (job 2)\n"
                      "root: started 2 processes on 2 nodes (job 2)\n"
                      "root: reply to 1 that 2 processes run (job 2)\n",
                      "then it is");
    job_world_spawn(world, 1, 7, 2);
    is_string(job_world_trace(world), "root: reply to 1 that 2 processes run (job 2)\n",
              "a request that is repeated is answered again, and spawns nothing");
    job_world_part_ends(world, 1, 1);
    is_uint(world->reports, 1, "the job that has spawned it ends");
    is_uint(world->leaves, 0, "and the instance waits for the other");
    job_world_part_ends(world, 2, 2);
    job_world_part_ends(world, 3, 2);
    is_uint(world->leaves, 1, "until it has ended, too");
    job_world_destroy(world);
}

/* At how many places, when all processes of a job wait in PMIx_Init. */
static uint32_t notified(const struct job_world *world, uint32_t job)
{
    struct ranges places = {0};
    struct buffer notice = {0};
    uint32_t count;

    instance_stop_notice(world->places[0].instance, job, PMI_STOP_INIT, &places, &notice);
    count = (uint32_t)ranges_count(&places);
    ok((count > 0) == (notice.length_bytes > 0), "with a notice, if there is anybody");
    ranges_fini(&places);
    buffer_fini(&notice);
    return count;
}

/* Before their first instruction, which the root knows; the rest is the processes' own affair. */
static void test_stopped(void)
{
    struct job_world *world = running(3);

    world->stop = PMI_STOP_EXEC;
    job_world_spawn(world, 1, 7, 2);
    job_world_part_starts(world, 2, 2);
    is_int(strstr(job_world_trace(world), "debugger") != NULL, 0,
           "nothing is said before all have been started and are stopped");
    job_world_part_starts(world, 3, 2);
    has_string(job_world_trace(world),
               "root: reply to 1 that 2 processes run (job 2)\n"
               "root: say all 2 processes of job 2 wait for a debugger before their first "
               "instruction, until SIGCONT (job 2)\n"
               "root: broadcast NOTICE to 1 (job 2)\n",
               "then the user and who has spawned them are notified");
    world->stop = PMI_STOP_INIT;
    job_world_part_ends(world, 2, 2);
    job_world_part_ends(world, 3, 2);
    job_world_spawn(world, 1, 8, 2);
    job_world_part_starts(world, 2, 3);
    job_world_part_starts(world, 3, 3);
    is_int(strstr(job_world_trace(world), "debugger") != NULL, 0,
           "of those that stop later the root says nothing");
    is_uint(notified(world, 3), 1, "but who has spawned them is notified when all wait");
    is_uint(notified(world, 1), 0, "nobody has spawned the first job");
    is_uint(notified(world, 9), 0, "nor one that does not exist");
    job_world_destroy(world);
}

/* By a tool, which is connected to a node of the parent. */
static void test_tool(void)
{
    struct job_world *world = running(3);

    world->tool = "debugger";
    job_world_spawn(world, 1, 7, 2);
    job_world_part_starts(world, 2, 2);
    job_world_part_starts(world, 3, 2);
    job_world_part_ends(world, 2, 2);
    job_world_trace(world);
    job_world_part_ends(world, 3, 2);
    has_string(job_world_trace(world), "root: broadcast NOTICE to 1 (job 2)\n",
               "a tool is notified where it is connected");
    job_world_spawn(world, 1, 8, 2);
    job_world_part_starts(world, 2, 3);
    job_world_part_starts(world, 3, 3);
    job_world_part_ends(world, 1, 1);
    job_world_part_ends(world, 2, 3);
    job_world_trace(world);
    job_world_part_ends(world, 3, 3);
    is_int(strstr(job_world_trace(world), "NOTICE") != NULL, 0,
           "not any more when the job has ended through which it has spawned");
    job_world_destroy(world);
}

static void test_not_started(void)
{
    struct job_world *world = running(3);

    job_world_spawn(world, 1, 1, 3);
    is_string(job_world_trace(world),
              "root: add a job that job 1 has spawned (job 2)\n"
              "root: reply to 1, failure 2: 3 processes requested, but there are 3 slots on 3 "
              "nodes, of which 2 are free; use -n 2 or fewer, or --oversubscribe; other jobs of "
              "this instance have 1 of its 3 slots\n"
              "root: say job 2, which rank 0 of job 1 has spawned, does not run: 3 processes "
              "requested, but there are 3 slots on 3 nodes, of which 2 are free; use -n 2 or "
              "fewer, or --oversubscribe; other jobs of this instance have 1 of its 3 slots (job "
              "2)\n"
              "root: report 0 (job 2)\n",
              "one that does not fit is refused, and no failure of the run");
    world->on_failure = JOB_ON_FAILURE_CONTINUE;
    job_world_spawn(world, 1, 2, 2);
    job_world_part_starts(world, 2, 3);
    job_world_event(world, 3,
                    (struct job_event){.kind = JOB_EVENT_START_FAILED,
                                       .job = 3,
                                       .number = -ENOENT,
                                       .step = START_STEP_EXEC,
                                       .text = ""});
    ok(world->places[2].end_grace_ms >= 0,
       "all or none: one that cannot be started ends the others");
    job_world_trace(world);
    job_world_event(world, 3, (struct job_event){.kind = JOB_EVENT_DRAINED, .job = 3});
    exits(world, 2, 3, 9);
    has_string(job_world_trace(world), "root: reply to 1, failure 3: cannot run ./app on n3",
               "and the answer says which");
    is_uint(world->end.status, 0, "it is no failure of the run either");
    is_uint(world->leaves, 0, "which goes on");
    job_world_part_ends(world, 1, 1);
    is_uint(world->leaves, 1, "until its job ends");
    job_world_destroy(world);
}

/* A process that fails at once, before another has been started. */
static void test_quick_failure(void)
{
    struct job_world *world = running(3);

    job_world_spawn(world, 1, 1, 2);
    job_world_part_starts(world, 2, 2);
    exits(world, 2, 2, EXITED(3));
    job_world_trace(world);
    job_world_part_starts(world, 3, 2);
    exits(world, 3, 2, 9);
    has_string(job_world_trace(world),
               "root: reply to 1, failure 6: rank 0 on n2 exited with status 3",
               "the answer says that it has ended");
    is_uint(world->end.status, 3, "and the run has failed");
    job_world_destroy(world);
}

/* A node is lost before all have been started. */
static void test_node_lost(void)
{
    struct job_world *world = running(3);

    world->on_failure = JOB_ON_FAILURE_CONTINUE;
    job_world_spawn(world, 1, 1, 2);
    job_world_part_starts(world, 2, 2);
    job_world_kill(world, 2);
    ok(world->places[3].end_grace_ms >= 0, "the job is ended on the other, whatever its policy");
    job_world_trace(world);
    job_world_part_starts(world, 3, 2);
    exits(world, 3, 2, 9);
    job_world_pass(world, 5000); /* for output that may have been lost */
    has_string(job_world_trace(world), "root: reply to 1, failure 6: lost node n2",
               "the answer says that it has lost a node");
    is_uint(world->end.status, 0, "which is no failure of the run: the caller decides");
    has_string(world->text, "does not run: lost node n2", "but the user reads it");
    job_world_destroy(world);
}

/* Of three generations the first fails, after the second has ended well. */
static void test_orphans(void)
{
    struct job_world *world = running(4);

    job_world_spawn(world, 1, 1, 1);
    job_world_part_starts(world, 2, 2);
    job_world_spawn(world, 2, 2, 1);
    job_world_part_starts(world, 3, 3);
    job_world_part_ends(world, 2, 2);
    is_int(world->places[3].end_grace_ms, -1, "a job that ends well leaves its children alone");
    job_world_trace(world);
    exits(world, 1, 1, EXITED(5));
    ok(world->places[3].end_grace_ms >= 0, "one that fails ends theirs, too");
    exits(world, 3, 3, 9);
    is_uint(world->end.status, 0, "which is no failure of theirs");
    is_string(world->end.text, "the job that has spawned it was ended", "as the report says");
    is_uint(world->leaves, 1, "nothing is left");
    job_world_destroy(world);
}

static void test_too_late(void)
{
    struct job_world *world = running(2);

    exits(world, 1, 1, EXITED(5));
    job_world_trace(world);
    job_world_spawn(world, 1, 1, 1);
    is_string(job_world_trace(world), "root: reply to 1, failure 6: the instance is ending\n",
              "a job that has failed spawns nothing");
    job_world_destroy(world);
    world = running(2);
    job_world_spawn(world, 9, 1, 1);
    has_string(job_world_trace(world), "failure 6: the job that spawns it is ending",
               "nor does one that is not known");
    job_world_destroy(world);
}

/* All or none, in time. */
static void test_start_limit(void)
{
    struct job_world *world = running(3);

    world->start_timeout_s = 5;
    job_world_spawn(world, 1, 7, 2);
    job_world_part_starts(world, 2, 2);
    job_world_pass(world, 4999);
    is_int(world->places[2].end_grace_ms, -1, "there is time");
    job_world_pass(world, 1);
    ok(world->places[2].end_grace_ms >= 0 && world->places[3].end_grace_ms >= 0,
       "then a job that has not been started everywhere is ended everywhere");
    job_world_trace(world);
    job_world_part_starts(world, 3, 2);
    exits(world, 2, 2, 9);
    is_int(strstr(job_world_trace(world), "reply") != NULL, 0, "who asks waits until it has ended");
    exits(world, 3, 2, 9);
    has_string(job_world_trace(world),
               "root: reply to 1, failure 7: not all of its processes were started within 5 s",
               "and learns why");
    has_string(world->text, "has spawned, does not run: not all of its processes", "as users do");
    is_uint(world->end.status, 0, "it is no failure of the run");
    job_world_spawn(world, 1, 8, 2);
    job_world_part_starts(world, 2, 3);
    job_world_part_starts(world, 3, 3);
    has_string(job_world_trace(world), "reply to 1 that 2 processes run", "one is started in time");
    job_world_pass(world, 3600 * 1000);
    is_string(job_world_trace(world), "", "and may run for any time");
    job_world_destroy(world);
}

/* A node that does not answer is not waited for for ever. */
static void test_start_limit_silence(void)
{
    struct job_world *world = running(3);

    world->start_timeout_s = 1;
    job_world_spawn(world, 1, 7, 2);
    job_world_part_starts(world, 2, 2);
    job_world_pass(world, 1000);
    exits(world, 2, 2, 9);
    job_world_trace(world);
    job_world_pass(world, 60000);
    has_string(job_world_trace(world), "root: reply to 1, failure 7", "it is answered without it");
    job_world_part_starts(world, 3, 2);
    exits(world, 3, 2, 9);
    job_world_part_ends(world, 1, 1);
    is_uint(world->leaves, 1, "and nothing is left when it has come back");
    job_world_destroy(world);
}

static void test_run_limit(void)
{
    struct job_world *world = running(3);

    world->start_timeout_s = 20;
    world->run_timeout_s = 10;
    job_world_spawn(world, 1, 7, 2);
    job_world_part_starts(world, 2, 2);
    job_world_part_starts(world, 3, 2);
    job_world_pass(world, 9999);
    is_int(world->places[2].end_grace_ms, -1, "it runs as long as it may");
    job_world_pass(world, 1);
    exits(world, 2, 2, 9);
    exits(world, 3, 2, 9);
    is_uint(world->end.status, 124, "then it is ended, like a run with a time limit");
    is_string(world->end.text, "timed out after 10 s", "for this reason");
    job_world_trace(world);
    job_world_spawn(world, 1, 8, 2);
    job_world_part_starts(world, 2, 3);
    job_world_pass(world, 10000);
    exits(world, 2, 3, 9);
    job_world_part_starts(world, 3, 3);
    exits(world, 3, 3, 9);
    has_string(job_world_trace(world), "root: reply to 1, failure 7: timed out after 10 s",
               "one that has not been started by then has not been");
    job_world_destroy(world);
}

int main(void)
{
    test_started();
    test_stopped();
    test_tool();
    test_not_started();
    test_quick_failure();
    test_node_lost();
    test_orphans();
    test_too_late();
    test_start_limit();
    test_start_limit_silence();
    test_run_limit();
    return done_testing();
}
