/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The map of a job from the slots it can get of the instance's nodes.  The only job of an instance
 * has the whole roster, which its launch need not repeat.  If others run, too, the root makes the
 * map from the slots that they have left, and the launch has the slots of the job's nodes, as runs
 * over all nodes; so root and nodes make the same map from the same slots, and a job of one process
 * costs one run among thousands of nodes.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "alloc/place_cpus.h"
#include "alloc/place_require.h"
#include "launch/job/job_state.h"

/* Whether slots are used, or nodes lost. */
static int is_shared(const struct job *job)
{
    const struct instance_root *root = job->instance->root;
    struct list_node *node, *spare;

    if (root->policy == INSTANCE_STAYS && !ranges_is_empty(&root->dead))
        return 1;
    list_for_each(&root->jobs, node,
                  spare) if (list_entry(node, struct job, node)->shares.count > 0) return 1;
    return 0;
}

/* The slots that other jobs have left. */
static void view_left(const struct job *job, struct job_view *ret_view)
{
    const struct instance_root *root = job->instance->root;
    struct list_node *node, *spare;

    job_view_init(ret_view, job->instance->allocation);
    list_for_each(&root->jobs, node, spare)
        job_view_take(ret_view, &list_entry(node, struct job, node)->shares);
    for (uint32_t i = 0; i < root->dead.count; i++)
        job_view_take_nodes(ret_view, root->dead.items[i].first - 1, root->dead.items[i].last - 1);
    job_view_make(ret_view);
}

/* Of those slots the ones on the job's own nodes. */
static void view_own(const struct job *job, const struct allocation *left,
                     struct job_view *ret_view)
{
    uint32_t nodes = allocation_nodes(left), next = 0;

    job_view_init(ret_view, left);
    for (uint32_t i = 0; i < job->places.count; i++) {
        if (job->places.items[i].first - 1 > next)
            job_view_take_nodes(ret_view, next, job->places.items[i].first - 2);
        next = job->places.items[i].last;
    }
    if (next < nodes)
        job_view_take_nodes(ret_view, next, nodes - 1);
    job_view_make(ret_view);
}

static uint64_t slots_used(const struct job *job)
{
    struct list_node *node, *spare;
    uint64_t used = 0;

    list_for_each(&job->instance->root->jobs, node, spare)
    {
        const struct job_shares *shares = &list_entry(node, struct job, node)->shares;

        for (uint32_t i = 0; i < shares->count; i++)
            used += shares->items[i].slots *
                    (shares->items[i].nodes.last - shares->items[i].nodes.first + 1ull);
    }
    return used;
}

/* Why there is no map, and which nodes were excluded. */
static void say_why(const struct job *job, struct error *error)
{
    struct buffer text = {0};
    uint64_t used = slots_used(job);

    place_require_tell(&job->spec.placement, job->instance->allocation, &text);
    if (used > 0)
        buffer_printf(&text, "; other jobs of this instance have %llu of its %llu slots",
                      (unsigned long long)used,
                      (unsigned long long)allocation_slots(job->instance->allocation));
    error_set(error, error->code, "%s%s", error->text, buffer_string(&text));
    buffer_fini(&text);
}

static int make(struct job *job, const struct allocation *slots, struct error *error)
{
    int rc = place_map_make(&job->map, &job->spec.placement, slots, error);

    if (rc == 0)
        rc = place_map_check(&job->map, slots, error);
    if (rc == 0)
        place_map_places(&job->map, &job->places);
    return rc;
}

/* Makes the map from the slots that others have left, then again from only those of the job's
 * nodes, as the nodes will do. */
static int make_shared(struct job *job, struct error *error)
{
    struct job_view left;
    int rc;

    view_left(job, &left);
    rc = make(job, &left.allocation, error);
    if (rc == 0) {
        place_map_resolve(&job->map, &job->spec.placement);
        place_map_fini(&job->map);
        view_own(job, &left.allocation, &job->own);
        rc = make(job, &job->own.allocation, error);
    }
    job_view_fini(&left);
    return rc;
}

int job_map_make(struct job *job, struct error *error)
{
    struct placement *placement = &job->spec.placement;
    const struct allocation *roster = job->instance->allocation;
    int rc = place_require_settle(placement, roster, error);

    if (rc < 0)
        return rc;
    place_cpus_settle(placement, roster);
    ranges_clear(&job->places);
    rc = is_shared(job) ? make_shared(job, error) : make(job, roster, error);
    if (rc < 0) {
        say_why(job, error);
        return rc;
    }
    node_pool_add_facts(job->instance->root->book, &placement->facts);
    place_require_forget(placement);
    place_map_resolve(&job->map, placement);
    job->spec.processes = job->map.processes;
    job_shares_make(&job->map, &job->places, &job->shares);
    return 0;
}

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
    }
    job_spec_encode(&job->spec, out);
}

/* Runs that do not cover the nodes exactly are invalid. */
static int read_runs(struct wire_reader *reader, uint32_t nodes, struct slots_run **ret_runs,
                     uint32_t *ret_count)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, wire_left(reader) / 2);
    struct slots_run *runs = memory_allocate((count + 1) * sizeof(*runs));
    uint32_t left = nodes;

    for (uint32_t i = 0; i < count; i++) {
        runs[i].nodes = (uint32_t)wire_get_varint_max(reader, left);
        runs[i].slots = (uint32_t)wire_get_varint_max(reader, ALLOCATION_SLOTS_MAX);
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
        rc = place_map_make(&local->map, &local->spec.placement, &slots, NULL);
    }
    free(runs);
    return rc;
}
