/* SPDX-License-Identifier: BSD-3-Clause */
/* The job logic by hand: a job that starts ranks again when they fail. */
#include "config.h"

#include "launch/job/job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "launch/job/instance_state.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */

/* So many nodes with so many processes each. */
static struct job_world *running(uint32_t nodes, uint32_t slots, uint32_t restarts_max)
{
    struct job_world *world = job_world_create(nodes, slots);

    world->on_failure = JOB_ON_FAILURE_RESTART;
    world->restarts_max = restarts_max;
    job_world_run(world, nodes * slots);
    job_world_complete(world);
    for (uint32_t place = 1; place <= nodes; place++)
        job_world_part_starts(world, place, 1);
    job_world_trace(world);
    return world;
}

static void happens(struct job_world *world, uint32_t place, enum job_event_kind kind,
                    uint32_t index, int64_t number)
{
    job_world_event(
        world, place,
        (struct job_event){.kind = kind, .job = 1, .index = index, .number = number, .text = ""});
}

static void test_well(void)
{
    struct job_world *world = running(2, 1, 3);

    job_world_exited(world, 2, 0, EXITED(7), 0);
    job_world_pass(world, 999);
    job_world_happens(world,
                      "n2: send RESTARTED\n"
                      "root: say rank 1 on n2 exited with status 7; restart 1 of 3 in 1 s\n",
                      "a rank fails: the user is told");
    is_int(world->places[1].end_grace_ms, -1, "nobody is ended");
    ok(!instance_part_has_ended(world->places[2].instance, 1, 0),
       "and it has not ended for others");
    job_world_pass(world, 1);
    job_world_happens(world, "n2: start 1 process\n", "then it is started again");
    job_world_started(world, 2, 0);
    is_uint(instance_part_restart_count(world->places[2].instance, 1, 0), 1,
            "and knows that it was");
    job_world_exited(world, 2, 0, 0, 0);
    job_world_gone(world, 2, 4);
    job_world_output(world, 4);
    job_world_happens(world,
                      "n2: no restart any more\n"
                      "n2: last output\n"
                      "n2: contribute to ENDED 1 of 1-2: 1 processes, status 0, 4 bytes\n",
                      "the part ends with the last process that ends well");
    job_world_exited(world, 1, 0, 0, 0);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 0, "", "all end well at last");
}

static void test_limit(void)
{
    static const uint32_t pauses_ms[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct job_world *world = running(2, 1, 7);

    for (uint32_t i = 0; i < 7; i++) {
        uint32_t starts = world->places[2].starts;

        job_world_exited(world, 2, 0, SIGSEGV, 0);
        job_world_pass(world, pauses_ms[i] - 1);
        is_uint(world->places[2].starts, starts, "restart %u is not too early", i + 1);
        job_world_pass(world, 1);
        is_uint(world->places[2].starts, starts + 1, "nor too late");
        job_world_started(world, 2, 0);
    }
    is_int(world->places[1].end_grace_ms, -1, "all the time nobody is ended");
    job_world_exited(world, 2, 0, SIGSEGV, 0);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "the next failure ends the job");
    job_world_gone(world, 2, 0);
    job_world_exited(world, 1, 0, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 139,
                       "rank 1 on n2 was killed by signal 11 (Segmentation fault) after 7 restarts",
                       "the limit");
}

/* Each has its own number and pause. */
static void test_many(void)
{
    struct job_world *world = running(1, 4, 3);

    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_pass(world, 1000);
    job_world_started(world, 1, 0);
    job_world_trace(world);
    job_world_exited(world, 1, 2, EXITED(5), 0);
    job_world_pass(world, 50);
    job_world_exited(world, 1, 0, EXITED(2), 0);
    job_world_exited(world, 1, 3, SIGKILL, 0);
    job_world_pass(world, 50);
    is_string(
        world->text,
        "rank 2 on n1 exited with status 5, and ranks 0,3 there failed as well; restart 1 of 3 in 1 s",
        "failures within a moment share a line");
    job_world_pass(world, 900);
    is_uint(world->places[1].start_first, 2, "each is started in its turn");
    job_world_pass(world, 50);
    is_uint(world->places[1].start_first, 3, "after its own pause");
    job_world_pass(world, 1000);
    is_uint(world->places[1].start_first, 0, "the second is longer");
    for (uint32_t index = 0; index < 4; index++) {
        if (index != 1)
            job_world_started(world, 1, index);
        job_world_exited(world, 1, index, 0, 0);
        is_uint(world->places[1].seals, index == 3, "more may follow until all have ended");
    }
    job_world_gone(world, 1, 0);
    job_world_reported(world, 0, "", "many that fail");
}

/* The user reads a bounded number of lines. */
static void test_many_lines(void)
{
    struct job_world *world = running(1, 1, 1000);
    uint32_t lines = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        world->text[0] = '\0';
        job_world_exited(world, 1, 0, EXITED(1), 0);
        job_world_pass(world, 30000);
        lines += world->text[0] != '\0';
        job_world_started(world, 1, 0);
        job_world_trace(world);
        if (i == 31)
            is_string(
                world->text,
                "rank 0 on n1 exited with status 1; restart 32 of 1000 in 30 s (32 restarts so far; most are not reported)",
                "after 16 lines, one when the number has doubled");
    }
    is_uint(lines, 16 + 5, "of 1,000 restarts");
    job_world_exited(world, 1, 0, 0, 0);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 0, "", "a rank that is restarted 1,000 times");
}

/* Why a rank is not restarted, and what the report says of that. */
static void test_not(void)
{
    static const struct {
        const char *name;
        enum job_event_kind before; /* JOB_EVENT_KIND_COUNT: none */
        int wait_status;
        int by_us;
        uint32_t status;
        const char *report;
    } cases[] = {
        {"it has connected to PMI", JOB_EVENT_JOINED, EXITED(3), 0, 3,
         "rank 0 on n1 exited with status 3; it had connected to PMI, so it is not restarted"},
        {"it exits with 0, but without finalize", JOB_EVENT_ABNORMAL, 0, 0, 1,
         "rank 0 on n1 exited with status 0 but without MPI_Finalize or PMIx_Finalize"},
        {"it has called abort", JOB_EVENT_ABORT, EXITED(3), 0, 3,
         "rank 0 on n1 called abort with status 3"},
        {"it is ended by the user", JOB_EVENT_KIND_COUNT, SIGTERM, 1, 143,
         "rank 0 on n1 was killed by signal 15 (Terminated)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct job_world *world = running(1, 1, 3);

        if (cases[i].before != JOB_EVENT_KIND_COUNT)
            happens(world, 1, cases[i].before, 0, 3);
        job_world_exited(world, 1, 0, cases[i].wait_status, cases[i].by_us);
        job_world_pass(world, 1000);
        is_uint(world->places[1].starts, 1, "it is not restarted: %s", cases[i].name);
        job_world_gone(world, 1, 0);
        job_world_reported(world, cases[i].status, cases[i].report, cases[i].name);
    }
}

/* The node hears of its connection only when it has ended. */
static void test_joined_late(void)
{
    struct job_world *world = running(1, 1, 3);

    job_world_exited(world, 1, 0, EXITED(3), 0);
    happens(world, 1, JOB_EVENT_JOINED, 0, 0);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms, "the job is ended");
    job_world_pass(world, 2000);
    is_uint(world->places[1].starts, 1, "and the rank is not started again");
    job_world_gone(world, 1, 0);
    job_world_reported(
        world, 3,
        "rank 0 on n1 exited with status 3; it had connected to PMI, so it is not restarted",
        "a connection that becomes known late");
}

static void test_cannot_start(void)
{
    struct job_world *world = running(2, 1, 3);

    job_world_exited(world, 2, 0, EXITED(3), 0);
    job_world_pass(world, 1000);
    job_world_event(
        world, 2,
        (struct job_event){
            .kind = JOB_EVENT_START_FAILED, .job = 1, .number = -ENOENT, .step = START_STEP_EXEC});
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "a rank that cannot be started again ends the job");
    job_world_gone(world, 2, 0);
    job_world_exited(world, 1, 0, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 127, "cannot run ./app on n2 (rank 1): No such file or directory",
                       "a restart that fails");
}

/* A rank fails before the last of its node has been started. */
static void test_in_launch(void)
{
    struct job_world *world = job_world_create(1, 2);

    world->on_failure = JOB_ON_FAILURE_RESTART;
    world->restarts_max = 1;
    job_world_run(world, 2);
    job_world_complete(world);
    job_world_started(world, 1, 0);
    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_pass(world, 1000);
    job_world_started(world, 1, 0);
    is_uint(world->started, 0, "a restart is not counted as a start");
    job_world_started(world, 1, 1);
    is_uint(world->started, 1, "the job is started when all are");
    job_world_exited(world, 1, 0, 0, 0);
    job_world_exited(world, 1, 1, 0, 0);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 0, "", "a restart in the launch");
}

static void test_ended(void)
{
    struct job_world *world = running(1, 2, 3);

    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_end(world, 130, 0, "interrupted");
    is_uint(world->places[1].deadline_ns, UINT64_MAX, "the end of the job is that of the wait");
    job_world_pass(world, 2000);
    is_uint(world->places[1].starts, 2, "nothing is started again");
    is_string(world->text, "", "nor said");
    job_world_exited(world, 1, 1, SIGTERM, 1);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 130, "interrupted", "an interrupt");
}

/* A lost node cannot restart what it had. */
static void test_node_lost(void)
{
    struct job_world *world = running(2, 1, 3);

    job_world_exited(world, 1, 0, EXITED(1), 0);
    job_world_kill(world, 2);
    is_int(world->places[1].end_grace_ms, world->instance.kill_grace_ms,
           "a lost node ends the job");
    job_world_gone(world, 1, 0);
    job_world_pass(world, 2000);
    job_world_reported(world, 125,
                       "lost node n2: its daemon closed the connection; the job was ended",
                       "a node lost while a rank waits");
}

int main(void)
{
    test_well();
    test_limit();
    test_many();
    test_many_lines();
    test_not();
    test_joined_late();
    test_cannot_start();
    test_in_launch();
    test_ended();
    test_node_lost();
    return done_testing();
}
