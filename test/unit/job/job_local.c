/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's part on a node, event by event: what the root is told at once, what with the end, and when. */
#include "config.h"

#include "launch/job/job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "launch/job/instance_state.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

#define EXITED(status) ((status) << 8) /* as of waitpid */

/* One node with so many processes, none of which has been started. */
static struct job_world *world_of(uint32_t processes)
{
    struct job_world *world = job_world_create(1, processes);

    job_world_run(world, processes);
    job_world_complete(world);
    job_world_trace(world);
    return world;
}

static void happens(struct job_world *world, enum job_event_kind kind, uint32_t index,
                    int64_t number)
{
    job_world_event(world, 1,
                    (struct job_event){.kind = kind,
                                       .job = 1,
                                       .index = index,
                                       .number = number,
                                       .step = START_STEP_EXEC,
                                       .text = "why"});
}

static void is_trace(struct job_world *world, const char *expected, const char *what)
{
    is_string(job_world_trace(world), expected, "%s", what);
}

static enum job_part_phase phase_of(const struct job_world *world)
{
    const struct job_part *part = instance_find_part(world->places[1].instance, 1);

    return part != NULL ? part->phase : JOB_PART_PHASE_COUNT;
}

static void test_phases(void)
{
    struct job_world *world = world_of(2);

    is_int(phase_of(world), JOB_PART_STARTING, "a launch");
    happens(world, JOB_EVENT_STARTED, 0, 100);
    happens(world, JOB_EVENT_EXITED, 0, 0);
    is_int(phase_of(world), JOB_PART_STARTING, "a process may end before the last is started");
    is_trace(world, "", "and nothing is told");
    happens(world, JOB_EVENT_STARTED, 1, 101);
    is_int(phase_of(world), JOB_PART_RUNNING, "all have been started");
    job_world_trace(world);
    happens(world, JOB_EVENT_GROUP_EMPTY, 0, 0);
    is_int(phase_of(world), JOB_PART_RUNNING, "the group is empty, but a rank's end is not known");
    happens(world, JOB_EVENT_EXITED, 1, 0);
    is_int(phase_of(world), JOB_PART_DRAINING, "all have ended");
    is_trace(world, "n1: last output\n", "the last output is under way");
    world->hold = HOLD_RESULTS;
    happens(world, JOB_EVENT_DRAINED, 0, 77);
    is_int(phase_of(world), JOB_PART_ENDED, "and is there");
    is_trace(world, "n1: contribute to ENDED 1 of 1: 2 processes, status 0, 77 bytes\n",
             "which is told");
    world->hold = 0;
    job_world_release(world);
    is_int(phase_of(world), JOB_PART_PHASE_COUNT, "the root knows: the part is gone");
    job_world_destroy(world);
}

/* What the root hears before the end: a row is one event after another of a started node of three. */
static void test_told(void)
{
    static const struct {
        const char *what;
        struct {
            enum job_event_kind kind;
            uint32_t index;
            int64_t number;
        } events[3];
        uint32_t told;
    } rows[] = {
        {"an exit of 0", {{JOB_EVENT_EXITED, 0, 0}}, 0},
        {"a failure", {{JOB_EVENT_EXITED, 0, EXITED(3)}}, 1},
        {"a second failure of the node",
         {{JOB_EVENT_EXITED, 0, EXITED(3)}, {JOB_EVENT_EXITED, 1, 9}},
         1},
        {"an abort", {{JOB_EVENT_ABORT, 1, 3}}, 1},
        {"an abort after a failure",
         {{JOB_EVENT_EXITED, 0, EXITED(3)}, {JOB_EVENT_ABORT, 1, 3}},
         2},
        {"a second abort", {{JOB_EVENT_ABORT, 0, 3}, {JOB_EVENT_ABORT, 1, 4}}, 1},
        {"no finalize", {{JOB_EVENT_ABNORMAL, 0, 0}, {JOB_EVENT_EXITED, 0, 0}}, 1},
        {"no finalize, and still there", {{JOB_EVENT_ABNORMAL, 0, 0}}, 0},
        {"an operation without the node, twice",
         {{JOB_EVENT_MISSED, 0, 0}, {JOB_EVENT_MISSED, 0, 0}},
         1},
        {"an exit told twice",
         {{JOB_EVENT_EXITED, 0, EXITED(3)}, {JOB_EVENT_EXITED, 0, EXITED(4)}},
         1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job_world *world = world_of(3);
        uint32_t told = 0;
        const char *trace;

        for (uint32_t index = 0; index < 3; index++)
            happens(world, JOB_EVENT_STARTED, index, 100 + index);
        job_world_trace(world);
        world->hold = HOLD_MESSAGES;
        for (size_t j = 0; j < 3 && rows[i].events[j].kind != JOB_EVENT_BROADCAST; j++)
            happens(world, rows[i].events[j].kind, rows[i].events[j].index,
                    rows[i].events[j].number);
        for (trace = job_world_trace(world); (trace = strstr(trace, "send RANK_FAILED")); trace++)
            told++;
        is_uint(told, rows[i].told, "%s", rows[i].what);
        job_world_drop_held(world);
        job_world_destroy(world);
    }
}

/* A rank that cannot be started stops the others that have not been, unless the job goes on. */
static void test_refused(void)
{
    for (int goes_on = 0; goes_on < 2; goes_on++) {
        struct job_world *world = job_world_create(1, 3);

        world->on_failure = goes_on ? JOB_ON_FAILURE_CONTINUE : JOB_ON_FAILURE_ABORT;
        job_world_run(world, 3);
        job_world_complete(world);
        happens(world, JOB_EVENT_STARTED, 0, 100);
        happens(world, JOB_EVENT_START_FAILED, 1, -ENOENT);
        is_uint(world->places[1].cancelled_starts, goes_on ? 0 : 1, "the rest is %s",
                goes_on ? "started" : "not started");
        happens(world, JOB_EVENT_START_FAILED, 2, goes_on ? -ENOENT : -ECANCELED);
        is_uint(world->places[1].cancelled_starts, goes_on ? 0 : 1, "said once");
        happens(world, JOB_EVENT_EXITED, 0, 0);
        job_world_gone(world, 1, 0);
        job_world_reported(world, 127, "cannot run ./app on n1 (rank 1): No such file or directory",
                           "a rank that cannot be started");
    }
}

/* None could be started: the helper has nothing to say. */
static void test_none_started(void)
{
    struct job_world *world = world_of(1);

    happens(world, JOB_EVENT_START_FAILED, 0, -EACCES);
    is_int(phase_of(world), JOB_PART_DRAINING, "a part without processes has ended");
    job_world_drained(world, 1, 0);
    job_world_reported(world, 126, "cannot run ./app on n1 (rank 0): Permission denied",
                       "no process at all");
}

/* After a loss the root may not have heard of a failure. */
static void test_told_again(void)
{
    struct job_world *world = job_world_create(2, 1);

    job_world_run(world, 1);
    job_world_complete(world);
    happens(world, JOB_EVENT_STARTED, 0, 100);
    world->hold = HOLD_MESSAGES;
    happens(world, JOB_EVENT_EXITED, 0, EXITED(3));
    job_world_drop_held(world);
    job_world_trace(world);
    job_world_kill(world, 2);
    is_trace(world, "n1: send RANK_FAILED\n", "a failure is told again after a loss");
    world->hold = 0;
    job_world_release(world);
    job_world_trace(world);
    job_world_gone(world, 1, 0);
    job_world_reported(world, 3, "rank 0 on n1 exited with status 3", "and counts once");
}

int main(void)
{
    test_phases();
    test_told();
    test_refused();
    test_none_started();
    test_told_again();
    return done_testing();
}
