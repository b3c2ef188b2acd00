/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LAUNCH: the roster's version, the slots that the job has of it (none: all), its specification.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "launch/job/instance_state.h"

void job_map_launch(const struct job *job, struct buffer *out)
{
    const struct allocation *own = &job->own.allocation;

    wire_put_u8(out, JOB_MESSAGE_LAUNCH);
    wire_put_u32(out, job->number);
    wire_put_u32(out, job->instance->roster_version);
    wire_put_varint(out, own->runs_count);
    for (uint32_t i = 0; i < own->runs_count; i++) {
        wire_put_varint(out, own->runs[i].nodes);
        wire_put_varint(out, own->runs[i].slots);
        if (own->runs[i].slots > 0)
            wire_put_varint(out, own->runs[i].used);
    }
    job_spec_encode(&job->spec, out);
}

/* Runs that do not cover the nodes exactly are invalid. */
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
        wire_fail(reader);
    *ret_runs = runs;
    *ret_count = count;
    return wire_status(reader);
}

int job_map_read(const struct instance *instance, struct wire_reader *reader,
                 struct job_local *local)
{
    struct allocation slots;
    struct slots_run *runs;
    uint32_t count;
    int rc = -EBADMSG;

    if (instance->allocation == NULL || wire_get_u32(reader) != instance->roster_version)
        return -EBADMSG;
    slots = *instance->allocation;
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
