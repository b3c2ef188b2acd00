/* SPDX-License-Identifier: BSD-3-Clause */
/* What usually happens in a world of jobs: daemons join, jobs run, processes end. */
#include "config.h"

#include "test/support/job_world.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/node_pool.h"
#include "base/time.h"
#include "base/wire.h"
#include "launch/proto/survey.h"
#include "test/support/document.h"
#include "test/support/tap.h"

void job_world_complete(struct job_world *world)
{
    job_world_event(world, 0, (struct job_event){.kind = JOB_EVENT_COMPLETE});
}

void job_world_grow(struct job_world *world, const char *names, uint32_t slots, bool have_joined)
{
    struct job_event event = {.kind = JOB_EVENT_GROW, .flag = have_joined};
    struct allocation added;

    allocation_init(&added);
    (void)allocation_parse_hosts(&added, names, NULL);
    allocation_set_slots(&added, slots);
    assert(allocation_nodes(&added) <= JOB_WORLD_NODES_MAX - world->nodes);
    for (uint32_t i = 0; i < allocation_nodes(&added); i++) {
        struct job_world_place *place = &world->places[++world->nodes];

        place->end_grace_ms = place->cut = -1;
        if (have_joined)
            place->instance = instance_create(&world->instance, world->nodes, NULL, INSTANCE_STAYS);
    }
    event.nodes = &added;
    job_world_event(world, 0, event);
    allocation_fini(&added);
}

static void make_spec(struct job_world *world, uint32_t processes, struct job_spec *ret_spec)
{
    job_spec_init(ret_spec);
    world->rule.processes = processes;
    placement_add(&ret_spec->placement, &world->rule);
    ret_spec->apps = memory_allocate_zeroed(sizeof *ret_spec->apps);
    ret_spec->apps_count = 1;
    ret_spec->on_failure = world->on_failure;
    ret_spec->mpi = world->mpi;
    ret_spec->restarts_max = world->restarts_max;
    ret_spec->apps[0].argv = memory_allocate_zeroed(2 * sizeof(char *));
    ret_spec->apps[0].argv[0] = memory_copy_string("./app");
    ret_spec->apps[0].set = memory_allocate_zeroed(sizeof(char *));
    ret_spec->apps[0].directory = memory_copy_string("/home/user");
}

void job_world_run(struct job_world *world, uint32_t processes)
{
    struct job_spec spec;

    make_spec(world, processes, &spec);
    job_world_event(
        world, 0,
        (struct job_event){.kind = JOB_EVENT_RUN, .spec = &spec, .flag = world->may_wait});
    job_spec_fini(&spec);
}

void job_world_spawn(struct job_world *world, uint32_t parent, uint32_t request, uint32_t processes)
{
    struct job_event event = {
        .kind = JOB_EVENT_SPAWN, .job = parent, .place = 1, .number = request};
    struct job_spec spec;

    make_spec(world, processes, &spec);
    spec.parent = parent;
    spec.start_timeout_s = world->start_timeout_s;
    spec.run_timeout_s = world->run_timeout_s;
    spec.stop = world->stop;
    spec.tool = world->tool != NULL ? memory_copy_string(world->tool) : NULL;
    event.spec = &spec;
    job_world_event(world, 0, event);
    job_spec_fini(&spec);
}

void job_world_part_starts(struct job_world *world, uint32_t place, uint32_t job)
{
    const struct job_local *part = instance_part(world->places[place].instance, job);

    for (uint32_t i = 0; part != NULL && i < part->count; i++)
        job_world_event(world, place,
                        (struct job_event){.kind = JOB_EVENT_STARTED, .job = job, .index = i});
}

void job_world_part_ends(struct job_world *world, uint32_t place, uint32_t job)
{
    const struct job_local *part = instance_part(world->places[place].instance, job);
    uint32_t count = part != NULL ? part->count : 0;

    for (uint32_t i = 0; i < count; i++)
        job_world_event(world, place,
                        (struct job_event){.kind = JOB_EVENT_EXITED, .job = job, .index = i});
    if (count > 0) {
        job_world_event(world, place,
                        (struct job_event){.kind = JOB_EVENT_GROUP_EMPTY, .job = job});
        job_world_event(world, place, (struct job_event){.kind = JOB_EVENT_DRAINED, .job = job});
    }
}

void job_world_started(struct job_world *world, uint32_t place, uint32_t index)
{
    job_world_event(
        world, place,
        (struct job_event){
            .kind = JOB_EVENT_STARTED, .job = 1, .index = index, .number = 100 + index});
}

void job_world_exited(struct job_world *world, uint32_t place, uint32_t index, int wait_status,
                      int by_us)
{
    job_world_event(world, place,
                    (struct job_event){.kind = JOB_EVENT_EXITED,
                                       .job = 1,
                                       .index = index,
                                       .number = wait_status,
                                       .flag = by_us});
}

void job_world_gone(struct job_world *world, uint32_t place, uint64_t output_bytes)
{
    job_world_event(world, place, (struct job_event){.kind = JOB_EVENT_GROUP_EMPTY, .job = 1});
    job_world_drained(world, place, output_bytes);
}

void job_world_drained(struct job_world *world, uint32_t place, uint64_t output_bytes)
{
    struct job_event event = {.kind = JOB_EVENT_DRAINED, .job = 1, .number = (int64_t)output_bytes};

    if (world->places[place].cut >= 0) /* only who is asked for his last output tells of it */
        job_world_event(world, place, event);
}

void job_world_output(struct job_world *world, uint64_t bytes)
{
    job_world_event(
        world, 0, (struct job_event){.kind = JOB_EVENT_OUTPUT, .job = 1, .number = (int64_t)bytes});
}

void job_world_end(struct job_world *world, uint32_t status, int at_once, const char *reason)
{
    struct control_end end = {.status = status, .at_once = (uint8_t)at_once};

    strcpy(end.reason, reason);
    job_world_event(world, 0, (struct job_event){.kind = JOB_EVENT_END, .job = 1, .end = &end});
}

void job_world_leave(struct job_world *world, const char *reason)
{
    struct control_end end = {.status = 143};

    strcpy(end.reason, reason);
    job_world_event(world, 0, (struct job_event){.kind = JOB_EVENT_LEAVE, .end = &end});
}

void job_world_reported(struct job_world *world, uint32_t status, const char *text,
                        const char *what)
{
    is_uint(world->reports, 1, "%s: one report", what);
    is_uint(world->leaves, 1, "%s: then all leave", what);
    is_uint(world->end.status, status, "%s: status", what);
    is_string(world->end.text, text, "%s: text", what);
    job_world_destroy(world);
}
