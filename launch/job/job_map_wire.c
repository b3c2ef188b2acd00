/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LAUNCH: the roster's version, the slots that the job has of it (none: all), its specification.  The root and those
 * who ask later may know a longer roster than the launch was made for: they get the slots in any case, and a node after
 * the last that they cover has none.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "launch/job/instance_state.h"
#include "launch/proto/job_moved.h"

static void put_slots(const struct allocation *own, struct buffer *out)
{
    wire_put_varint(out, own->runs_count);
    for (uint32_t i = 0; i < own->runs_count; i++) {
        wire_put_varint(out, own->runs[i].nodes);
        wire_put_varint(out, own->runs[i].slots);
        if (own->runs[i].slots > 0)
            wire_put_varint(out, own->runs[i].used);
    }
}

void job_map_launch(const struct job *job, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_LAUNCH);
    wire_put_u32(out, job->number);
    job_map_relaunch(job, out);
}

void job_map_relaunch(const struct job *job, struct buffer *out)
{
    wire_put_u32(out, job->instance->roster_version);
    put_slots(&job->own.allocation, out);
    job_spec_encode(&job->spec, out);
}

/* Without environment: it only matters where the processes are. */
void job_map_tell(const struct job *job, struct buffer *out)
{
    char *none[] = {NULL};
    struct job_spec spec = job->spec; /* borrowed */

    spec.preput_count = 0;
    spec.apps = memory_allocate_zeroed(spec.apps_count * sizeof(*spec.apps));
    for (uint32_t i = 0; i < spec.apps_count; i++)
        spec.apps[i] =
            (struct app_spec){.argv = job->spec.apps[i].argv,
                              .set = none,
                              .directory = job->spec.apps[i].directory,
                              .directory_is_template = job->spec.apps[i].directory_is_template};
    job_moved_list_encode(job->map.moves, job->map.moves_count, out);
    put_slots(job->own.allocation.runs_count > 0 ? &job->own.allocation : job->instance->allocation,
              out);
    job_spec_encode(&spec, out);
    free(spec.apps);
}

/* Runs that cover more than the nodes are invalid. */
static int read_runs(struct wire_reader *reader, uint32_t nodes, struct slots_run **ret_runs,
                     uint32_t *ret_count)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, wire_left(reader) / 2);
    struct slots_run *runs = memory_allocate_zeroed((count + 1) * sizeof(*runs));
    uint32_t left = nodes;

    for (uint32_t i = 0; i < count; i++) {
        runs[i].nodes = (uint32_t)wire_get_varint_max(reader, left);
        runs[i].slots = (uint32_t)wire_get_varint_max(reader, ALLOCATION_SLOTS_MAX);
        if (runs[i].slots > 0)
            runs[i].used = (uint32_t)wire_get_varint_max(reader, runs[i].slots);
        left -= runs[i].nodes;
        if (runs[i].nodes == 0)
            wire_fail(reader);
    }
    if (count > 0 && left > 0)
        runs[count++] = (struct slots_run){.nodes = left};
    *ret_runs = runs;
    *ret_count = count;
    return wire_status(reader);
}

/* Of the slots of the roster that the job has. */
static int read_map(const struct allocation *roster, struct wire_reader *reader,
                    struct job_local *local)
{
    struct allocation slots = *roster;
    struct slots_run *runs;
    uint32_t count;
    int rc = -EBADMSG;

    if (read_runs(reader, allocation_nodes(&slots), &runs, &count) == 0 &&
        job_spec_decode(&local->spec, reader) == 0) {
        if (count > 0) {
            slots.runs = runs;
            slots.runs_count = count;
        }
        rc = placement_map_make(&local->map, &local->spec.placement, &slots, NULL);
    }
    free(runs);
    return rc;
}

int job_map_read(const struct instance *instance, struct wire_reader *reader,
                 struct job_local *local)
{
    if (instance->allocation == NULL || wire_get_u32(reader) != instance->roster_version)
        return -EBADMSG;
    return read_map(instance->allocation, reader, local);
}

int job_map_learn(struct job_local *ret_local, const struct allocation *roster, uint32_t number,
                  struct wire_reader *reader)
{
    struct job_moves moves;
    int rc;

    *ret_local = (struct job_local){.number = number};
    job_spec_init(&ret_local->spec);
    job_moved_list_decode(&moves, reader);
    rc = read_map(roster, reader, ret_local);
    if (rc == 0)
        rc = placement_map_move_all(&ret_local->map, moves.items, moves.count);
    free(moves.items);
    if (rc < 0 || wire_finish(reader) < 0) {
        job_local_fini(ret_local);
        return -EBADMSG;
    }
    placement_map_places(&ret_local->map, &ret_local->places);
    ret_local->nodes = (uint32_t)ranges_count(&ret_local->places);
    return 0;
}
