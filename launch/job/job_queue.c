/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that wait at the root for what other jobs have of the nodes.  They start in the order of their numbers; one
 * that fits starts before an earlier one that does not (back-fill), but none is overtaken by more than
 * JOB_OVERTAKEN_MAX others: then no other starts before it has.  Jobs that processes have spawned neither wait nor
 * are held, since who has spawned them may hold what others wait for.
 *
 * Cost: when a job has given back its slots or nodes are lost, at most JOB_QUEUE_LOOKS maps are tried.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/job/instance_state.h"

int job_queue_has(const struct job *job)
{
    return job->waits && (job->phase == JOB_WAITING || job->phase == JOB_SURVEYING);
}

/* Jobs are listed in the order of their numbers. */
static struct job *first_waiting(const struct instance_root *root)
{
    struct list_link *node, *spare;

    list_for_each(&root->jobs, node, spare)
    {
        struct job *job = list_entry(node, struct job, node);

        if (job_queue_has(job))
            return job;
    }
    return NULL;
}

/* The one that must start before this one, or NULL. */
static const struct job *held_by(const struct job *job)
{
    const struct job *first = first_waiting(job->instance->root);

    return first != NULL && job->spec.parent == 0 && first->number < job->number &&
                   first->overtaken >= JOB_OVERTAKEN_MAX
               ? first
               : NULL;
}

int job_queue_hold(const struct job *job, struct error *error)
{
    const struct job *first = held_by(job);

    if (first == NULL)
        return 0;
    return error_set(error, -EBUSY, "job %u waits for slots, and %u later jobs have overtaken it",
                     first->number, first->overtaken);
}

void job_queue_started(const struct job *job)
{
    struct job *first = first_waiting(job->instance->root);

    assert(job->shares.count > 0);
    if (first != NULL && first->number < job->number && job->spec.parent == 0)
        first->overtaken++;
}

static uint64_t slots_of(const struct job *job)
{
    uint64_t slots = 0;

    for (uint32_t i = 0; i < job->shares.count; i++)
        slots += job->shares.items[i].slots *
                 (job->shares.items[i].nodes.last - job->shares.items[i].nodes.first + 1ull);
    return slots;
}

uint64_t job_queue_slots_used(const struct instance_root *root)
{
    struct list_link *node, *spare;
    uint64_t used = 0;

    list_for_each(&root->jobs, node, spare) used += slots_of(list_entry(node, struct job, node));
    return used;
}

void job_queue_count(const struct instance_root *root, uint64_t *ret_used, uint64_t *ret_slots)
{
    struct list_link *node, *spare;
    struct job_view view;

    job_view_init(&view, &root->usable.allocation);
    list_for_each(&root->jobs, node, spare)
        job_view_take(&view, &list_entry(node, struct job, node)->shares);
    job_view_make(&view);
    *ret_used = *ret_slots = 0;
    for (uint32_t i = 0; i < view.allocation.runs_count; i++) {
        *ret_used += (uint64_t)view.allocation.runs[i].nodes * view.allocation.runs[i].used;
        *ret_slots += (uint64_t)view.allocation.runs[i].nodes * view.allocation.runs[i].slots;
    }
    assert(*ret_used <= *ret_slots);
    job_view_fini(&view);
}

static uint32_t count_waiting_before(const struct job *job)
{
    struct list_link *node, *spare;
    uint32_t count = 0;

    list_for_each(&job->instance->root->jobs, node, spare)
    {
        const struct job *other = list_entry(node, struct job, node);

        if (other == job)
            break;
        count += job_queue_has(other) != 0;
    }
    return count;
}

/* Once, for its user. */
static void tell_user(const struct job *job, struct job_actions *actions)
{
    const struct instance_root *root = job->instance->root;
    uint32_t processes = placement_processes(&job->spec.placement);
    uint32_t before = count_waiting_before(job);
    struct buffer text = {0};
    uint64_t used, slots;

    job_queue_count(root, &used, &slots);
    if (processes > 0)
        buffer_printf(&text, "job %u waits for %u slot%s", job->number, processes,
                      processes > 1 ? "s" : "");
    else
        buffer_printf(&text, "job %u waits for slots", job->number);
    buffer_printf(&text, "; other jobs have %llu of the instance's %llu", (unsigned long long)used,
                  (unsigned long long)slots);
    if (before > 0)
        buffer_printf(&text, ", and %u wait%s before it", before, before > 1 ? "" : "s");
    (void)buffer_string(&text);
    job_actions_add(actions, JOB_ACTION_WAITS, job->number)->text.words = buffer_take(&text, NULL);
}

/* It is asked again when slots are free, so nobody waits for what does not come: nothing is used, and no other job
 * must start before it. */
int job_queue_add(struct job *job, struct job_actions *actions)
{
    if (!job->may_wait ||
        (held_by(job) == NULL &&
         (job_queue_slots_used(job->instance->root) == 0 || !job_map_fits_alone(job))))
        return 0;
    assert(job->shares.count == 0 && job->spec.parent == 0);
    if (!job->waits)
        tell_user(job, actions);
    job->waits = 1;
    return 1;
}

uint32_t job_queue_list(const struct instance_root *root, uint32_t *numbers)
{
    struct list_link *node, *spare;
    uint32_t count = 0;

    list_for_each(&root->jobs, node, spare)
    {
        const struct job *job = list_entry(node, struct job, node);

        if (job->phase == JOB_WAITING)
            numbers[count++] = job->number;
        if (count == JOB_QUEUE_LOOKS)
            break;
    }
    return count;
}
