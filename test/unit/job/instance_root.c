/* SPDX-License-Identifier: BSD-3-Clause */
/* The instance at its root, phase by phase: a start that succeeds or fails, what is taken when, the end. */
#include "config.h"

#include "launch/job/instance.h"

#include <string.h>

#include "base/wire.h"
#include "launch/job/instance_state.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

static enum instance_phase phase_of(const struct job_world *world)
{
    return world->places[0].instance->root->phase;
}

static void place_fails(struct job_world *world, uint32_t place, const char *text)
{
    job_world_event(
        world, 0, (struct job_event){.kind = JOB_EVENT_PLACE_FAILED, .place = place, .text = text});
}

static void cancel(struct job_world *world, uint32_t place, uint32_t signal, const char *sender)
{
    struct buffer payload = {0};
    struct job_event event = {.kind = JOB_EVENT_RECEIVED, .place = place};

    wire_put_u8(&payload, JOB_MESSAGE_CANCEL);
    wire_put_u32(&payload, signal);
    wire_put_string(&payload, sender);
    event.message = message_from_buffer(&payload);
    job_world_event(world, 0, event);
    message_release(event.message);
    buffer_fini(&payload);
}

/* The phases in which an instance may be, and how one gets there. */
static struct job_world *world_in(enum instance_phase phase)
{
    struct job_world *world = job_world_create_with(2, 1, INSTANCE_STAYS);

    if (phase >= INSTANCE_UP)
        job_world_complete(world);
    if (phase == INSTANCE_ENDING)
        job_world_run(world, 1);
    if (phase >= INSTANCE_ENDING)
        job_world_leave(world, "the instance was ended");
    is_int(phase_of(world), phase, "an instance in phase %d", phase);
    return world;
}

/* Each event in each phase: where it leads, and how many jobs have been reported then. */
static void test_phases(void)
{
    enum { RUN, LEAVE, CANCEL, FAIL, EVENTS };
    static const struct {
        enum instance_phase phase;
        uint32_t reports;
    } table[EVENTS][INSTANCE_PHASE_COUNT] = {
        [RUN] = {{INSTANCE_STARTING, 0},
                 {INSTANCE_UP, 0},
                 {INSTANCE_ENDING, 1},
                 {INSTANCE_LEAVING, 1}},
        [LEAVE] = {{INSTANCE_LEAVING, 0},
                   {INSTANCE_LEAVING, 0},
                   {INSTANCE_ENDING, 0},
                   {INSTANCE_LEAVING, 0}},
        [CANCEL] = {{INSTANCE_LEAVING, 0},
                    {INSTANCE_LEAVING, 0},
                    {INSTANCE_ENDING, 0},
                    {INSTANCE_LEAVING, 0}},
        [FAIL] = {{INSTANCE_STARTING, 0},
                  {INSTANCE_UP, 0},
                  {INSTANCE_ENDING, 0},
                  {INSTANCE_LEAVING, 0}},
    };

    for (int event = 0; event < EVENTS; event++) {
        for (enum instance_phase phase = 0; phase < INSTANCE_PHASE_COUNT; phase++) {
            struct job_world *world = world_in(phase);

            if (event == RUN)
                job_world_run(world, 1);
            else if (event == LEAVE)
                job_world_leave(world, "the user said so");
            else if (event == CANCEL)
                cancel(world, 1, 15, "Slurm");
            else
                place_fails(world, 1, "ssh exited 255");
            is_int(phase_of(world), table[event][phase].phase, "event %d in phase %d", event,
                   phase);
            is_uint(world->reports, table[event][phase].reports, "and the reports");
            is_uint(world->leaves, table[event][phase].phase == INSTANCE_LEAVING,
                    "who leaves is asked to once");
            job_world_destroy(world);
        }
    }
}

static void test_start_fails(void)
{
    struct job_world *world = job_world_create(4, 1);

    job_world_run(world, 4);
    place_fails(world, 2, "ssh exited 255");
    is_uint(world->reports, 0, "what else fails in a moment joins the line");
    place_fails(world, 3, "ssh exited 255");
    place_fails(world, 3, "a second reason of the same node");
    job_world_pass(world, 299);
    is_uint(world->reports, 0, "for 0.3 s");
    job_world_pass(world, 1);
    job_world_reported(world, 125, "cannot start daemons on n[2-3] (2 nodes): ssh exited 255",
                       "a start that fails");
}

/* A daemon that was up and dies before all are is a start that fails, too; a starter knows more. */
static void test_start_loses(void)
{
    struct job_world *world = job_world_create(2, 1);

    job_world_run(world, 2);
    job_world_kill(world, 2);
    place_fails(world, 2, "banyand was killed");
    job_world_complete(world);
    is_int(phase_of(world), INSTANCE_STARTING,
           "a tree without a node that failed is none to run on");
    job_world_pass(world, 300);
    job_world_reported(world, 125, "cannot start the daemon on n2: banyand was killed",
                       "a daemon that dies before the tree is complete");
}

static void test_start_hangs(void)
{
    struct job_world *world = job_world_create(4, 1);

    world->instance.start_timeout_s = 10;
    ranges_add(&world->missing, 2, 3);
    job_world_run(world, 4);
    job_world_pass(world, 5000);
    is_string(world->text, "waiting for the daemons of n[2-3] to join; 2 of 4 have",
              "after 5 s it is said who is missing");
    job_world_pass(world, 60000);
    job_world_reported(world, 125, "no daemon has joined from n[2-3] within 10 s (--start-timeout)",
                       "a start that takes too long");
}

static void test_cancel(void)
{
    static const struct {
        uint32_t place, signal;
        const char *sender, *text;
    } rows[] = {
        {2, 15, "Slurm", "cancelled by Slurm (signal 15 to the daemon on n2)"},
        {0, 2, "", "cancelled (signal 2 to the root of this run)"},
        {1, 0, "Slurm", NULL},
        {1, 65, "Slurm", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job_world *world = job_world_create(2, 1);

        job_world_run(world, 2);
        cancel(world, rows[i].place, rows[i].signal, rows[i].sender);
        if (rows[i].text != NULL) {
            job_world_reported(world, 128 + rows[i].signal, rows[i].text,
                               "a run that is cancelled");
            continue;
        }
        is_uint(world->reports, 0, "%u is no signal", rows[i].signal);
        job_world_destroy(world);
    }
}

/* Messages that nobody has sent do no harm. */
static void test_nonsense(void)
{
    struct job_world *world = world_in(INSTANCE_UP);

    for (uint32_t kind = 0; kind < 256; kind++) {
        struct buffer payload = {0};
        struct job_event event = {.kind = JOB_EVENT_RECEIVED, .place = 1};

        wire_put_u8(&payload, (uint8_t)kind);
        wire_put_u32(&payload, kind);
        event.message = message_from_buffer(&payload);
        job_world_event(world, 0, event);
        message_release(event.message);
        buffer_fini(&payload);
    }
    is_int(phase_of(world), INSTANCE_UP, "messages cut short change nothing");
    job_world_destroy(world);
}

int main(void)
{
    test_phases();
    test_start_fails();
    test_start_loses();
    test_start_hangs();
    test_cancel();
    test_nonsense();
    return done_testing();
}
