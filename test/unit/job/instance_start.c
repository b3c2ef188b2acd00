/* SPDX-License-Identifier: BSD-3-Clause */
/* Daemons that do not start (launch/job/instance_start.c): nodes that are left out, and when they are too many. */
#include "config.h"

#include "launch/job/instance.h"

#include <string.h>

#include "base/wire.h"
#include "launch/job/instance_state.h"
#include "launch/job/job_ledger.h"
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

/* Four nodes of which two are enough, and a job that waits for them. */
static struct job_world *open_world(uint32_t processes)
{
    struct job_world *world = job_world_create(4, 1);

    world->instance.nodes_min = 2;
    job_world_run(world, processes);
    return world;
}

static void test_left_out(void)
{
    struct job_world *world = open_world(3);

    place_fails(world, 2, "ssh exited 255");
    job_world_pass(world, 1000);
    is_uint(world->reports, 0, "a node less than all is no end");
    job_world_kill(world, 2);
    job_world_complete(world);
    is_int(phase_of(world), INSTANCE_UP, "the others are enough");
    is_string(world->text, "continuing with 3 of 4 nodes (--min-nodes 2)", "the user is told");
    is_uint(world->places[1].starts, 1, "the first node has a process");
    is_uint(world->places[3].starts, 1, "and the third");
    is_uint(world->places[4].starts, 1, "and the fourth, instead of the one that is left out");
    job_world_destroy(world);
}

/* The tree says that a place is gone, and is complete, before its starter says why. */
static void test_reasons(void)
{
    struct job_world *world = open_world(2);

    job_world_kill(world, 2);
    job_world_kill(world, 3);
    job_world_complete(world);
    is_int(phase_of(world), INSTANCE_STARTING, "the reasons may be on their way");
    place_fails(world, 2, "ssh exited 255");
    is_int(phase_of(world), INSTANCE_STARTING, "one is missing");
    place_fails(world, 3, "ssh exited 255");
    is_int(phase_of(world), INSTANCE_UP, "all are known");
    has_string(job_world_trace(world),
               "say cannot start daemons on n[2-3] (2 nodes): ssh exited 255", "they are told");
    job_world_destroy(world);
    world = open_world(2);
    job_world_kill(world, 2);
    job_world_complete(world);
    job_world_pass(world, 300);
    is_int(phase_of(world), INSTANCE_UP, "a reason that does not come is not waited for");
    has_string(job_world_trace(world),
               "say cannot start the daemon on n2: it exited before the tree was complete",
               "what is known is told");
    job_world_destroy(world);
}

static void test_too_few(void)
{
    struct job_world *world = open_world(2);

    place_fails(world, 2, "ssh exited 255");
    place_fails(world, 3, "ssh exited 255");
    job_world_pass(world, 1000);
    is_uint(world->reports, 0, "two are enough");
    place_fails(world, 4, "no room");
    job_world_pass(world, 299);
    is_uint(world->reports, 0, "further failures are gathered");
    job_world_pass(world, 1);
    is_string(world->text, "cannot start the daemon on n4: no room", "each reason is a line");
    job_world_reported(world, 125, "at most 1 of 4 nodes can be used; --min-nodes is 2",
                       "one is not enough");
}

static void test_missing(void)
{
    struct job_world *world = open_world(2);

    world->instance.start_timeout_s = 10;
    ranges_add(&world->missing, 3, 3);
    job_world_pass(world, 60000);
    has_string(job_world_trace(world), "leave out 3", "who has not joined in time is left out");
    is_int(phase_of(world), INSTANCE_STARTING, "when the tree knows");
    job_world_kill(world, 3);
    ranges_remove(&world->missing, 3, 3);
    job_world_complete(world);
    is_int(phase_of(world), INSTANCE_UP, "the others go on");
    has_string(job_world_trace(world),
               "say cannot start the daemon on n3: it has not joined within 10 s (--start-timeout)",
               "and the user knows why");
    job_world_destroy(world);
    world = open_world(2);
    ranges_add(&world->missing, 1, 3);
    job_world_pass(world, 60000);
    job_world_reported(world, 125, "at most 1 of 4 nodes can be used; --min-nodes is 2",
                       "too many that have not joined");
}

/* What is kept of failures does not depend on how often they are reported. */
static void test_noted(void)
{
    struct job_world *world = open_world(2);
    struct instance_root *root = world->places[0].instance->root;

    is_int(instance_start_failed(root, 1, ""), 1, "a place is absent");
    is_int(instance_start_knows_reasons(root), 0, "for an unknown reason");
    is_int(instance_start_failed(root, 1, "full"), 0, "it was absent before");
    is_int(instance_start_knows_reasons(root), 1, "but why was not known");
    is_int(instance_start_failed(root, 1, "never mind"), 0, "the first reason counts");
    is_string(root->start_failures[0].text, "full", "and is kept");
    is_uint(root->start_failures_count, 1, "once");
    is_int(instance_start_is_enough(world->places[0].instance), 1, "three are enough");
    job_world_destroy(world);
}

/* Guests of an instance see no slots where there is no daemon. */
static void test_view(void)
{
    struct job_world *world = open_world(2);
    struct ranges places = {0};
    struct job_view view;

    ranges_add(&places, 2, 3);
    job_view_without(&view, &world->allocation, &places);
    is_uint(allocation_nodes(&view.allocation), 4, "all nodes");
    is_uint(allocation_slots(&view.allocation), 2, "but the slots of two");
    is_uint(view.allocation.runs_count, 3, "in runs");
    job_view_fini(&view);
    ranges_fini(&places);
    job_world_destroy(world);
}

int main(void)
{
    test_left_out();
    test_reasons();
    test_too_few();
    test_missing();
    test_noted();
    test_view();
    return done_testing();
}
