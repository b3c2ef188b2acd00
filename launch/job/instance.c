/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/instance.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "launch/job/instance_state.h"
#include "launch/proto/run_trace.h"

struct instance *instance_create(const struct instance_spec *spec, uint32_t place,
                                 const struct allocation *allocation, enum instance_policy policy)
{
    struct instance *instance = memory_allocate_zeroed(sizeof(*instance));

    assert((place == 0) == (allocation != NULL));
    instance->spec = spec;
    instance->place = place;
    if (place == 0)
        allocation_copy(&instance->own_roster, allocation);
    else
        allocation_init(&instance->own_roster);
    list_init(&instance->parts);
    list_init(&instance->asked);
    if (place == 0) {
        instance->allocation = &instance->own_roster;
        instance->root = instance_root_create(allocation, policy);
        instance_spares_keep(instance);
        instance_nodes_changed(instance);
    }
    return instance;
}

void instance_destroy(struct instance *instance)
{
    struct list_link *node, *spare;

    if (instance == NULL)
        return;
    list_for_each(&instance->parts, node, spare)
        job_part_destroy(list_entry(node, struct job_part, node));
    hash_map_destroy(instance->parts_by_number);
    job_survey_close(instance);
    instance_root_destroy(instance->root);
    allocation_fini(&instance->own_roster);
    free(instance);
}

/* ---- facts ---- */

const struct job_local *instance_part(const struct instance *instance, uint32_t number)
{
    const struct job_part *part = instance_find_part(instance, number);

    return part ? &part->local : NULL;
}

uint32_t instance_part_rank(const struct instance *instance, const struct job_local *local,
                            uint32_t index)
{
    assert(index < local->count);
    return placement_map_rank(&local->map, instance->place - 1, index);
}

void instance_part_times(const struct instance *instance, uint32_t number, uint64_t *times)
{
    const struct job_part *part = instance_find_part(instance, number);

    assert(part != NULL);
    times[RUN_TRACE_BEGUN] = number == 1 ? instance->begun_ns : 0;
    times[RUN_TRACE_JOINED] = number == 1 ? instance->joined_ns : 0;
    times[RUN_TRACE_LAUNCHED] = part->launched_ns;
    times[RUN_TRACE_STARTED] = part->started_ns;
    times[RUN_TRACE_GONE] = part->gone_ns;
}

int instance_part_is_starting(const struct instance *instance, uint32_t number, uint32_t index)
{
    const struct job_part *part = instance_find_part(instance, number);

    assert(part && index < part->local.count);
    return part->rank_states[index] == RANK_STARTING;
}

void instance_lost_places(const struct instance *instance, struct ranges *places)
{
    assert(instance->root != NULL);
    ranges_add_all(places, &instance->root->absent);
    ranges_add_all(places, &instance->root->dead);
}

int instance_part_has_ended(const struct instance *instance, uint32_t number, uint32_t index)
{
    const struct job_part *part = instance_find_part(instance, number);

    assert(part && index < part->local.count);
    return part->rank_states[index] == RANK_ENDED;
}

int instance_part_restarts(const struct instance *instance, uint32_t number, uint32_t index,
                           int wait_status, int by_us)
{
    const struct job_part *part = instance_find_part(instance, number);

    return part != NULL && part->rank_states[index] == RANK_RUNNING &&
           job_restart_is_due(part, index, wait_status, by_us);
}

uint32_t instance_part_restart_count(const struct instance *instance, uint32_t number,
                                     uint32_t index)
{
    const struct job_part *part = instance_find_part(instance, number);

    assert(part != NULL);
    return job_restart_count(part, index);
}

const struct allocation *instance_roster(const struct instance *instance)
{
    return instance->allocation;
}

const struct job_spec *instance_job_spec(const struct instance *instance, uint32_t number)
{
    const struct job *job = instance_find_job(instance, number);

    return job ? &job->spec : NULL;
}

const struct placement_map *instance_job_map(const struct instance *instance, uint32_t number)
{
    const struct job *job = instance_find_job(instance, number);

    return job ? &job->map : NULL;
}

int instance_job_find(const struct instance *instance, uint32_t number, uint32_t rank,
                      uint32_t *ret_node)
{
    const struct job *job = instance_find_job(instance, number);
    uint32_t local_index;

    if (!job || rank >= job->map.processes)
        return -ENOENT;
    placement_map_find(&job->map, rank, ret_node, &local_index);
    return 0;
}

void instance_job_places(const struct instance *instance, uint32_t number, uint32_t rank,
                         struct ranges *places)
{
    const struct job *job = instance_find_job(instance, number);
    uint32_t node;

    if (!job)
        return;
    if (rank == UINT32_MAX)
        ranges_add_all(places, &job->places);
    else if (instance_job_find(instance, number, rank, &node) == 0)
        ranges_add(places, node + 1, node + 1);
    ranges_remove_all(places, &instance->root->dead);
}

const struct node_pool *instance_book(const struct instance *instance)
{
    return instance->root ? instance->root->book : NULL;
}

int instance_job_is_running(const struct instance *instance, uint32_t number)
{
    const struct job *job = instance_find_job(instance, number);

    return job != NULL && (job->phase == JOB_LAUNCHING || job->phase == JOB_RUNNING);
}

void instance_stop_notice(const struct instance *instance, uint32_t number, enum pmi_stop stop,
                          struct ranges *ret_places, struct buffer *ret_notice)
{
    const struct job *job = instance_find_job(instance, number);

    assert(instance->root != NULL && stop != PMI_STOP_NONE);
    if (job != NULL && job->spec.parent > 0 && instance_job_is_running(instance, number))
        job_spawn_notice(job, 0, stop, ret_places, ret_notice);
}

enum instance_job_state instance_job_state(const struct instance *instance, uint32_t number)
{
    static const enum instance_job_state states[JOB_PHASE_COUNT] = {
        [JOB_QUEUED] = INSTANCE_JOB_WAITING,  [JOB_SURVEYING] = INSTANCE_JOB_WAITING,
        [JOB_WAITING] = INSTANCE_JOB_WAITING, [JOB_LAUNCHING] = INSTANCE_JOB_STARTING,
        [JOB_RUNNING] = INSTANCE_JOB_RUNNING, [JOB_ENDING] = INSTANCE_JOB_ENDING,
        [JOB_FLUSHING] = INSTANCE_JOB_ENDED,  [JOB_LINGERING] = INSTANCE_JOB_ENDED,
        [JOB_OVER] = INSTANCE_JOB_ENDED,
    };
    const struct job *job = instance_find_job(instance, number);

    assert(job != NULL);
    return states[job->phase];
}

void instance_part_numbers(const struct instance *instance, struct ranges *ret_numbers)
{
    struct list_link *node, *spare;

    list_for_each(&instance->parts, node, spare)
    {
        uint32_t number = list_entry(node, struct job_part, node)->local.number;

        ranges_add(ret_numbers, number, number);
    }
}

void instance_job_numbers(const struct instance *instance, struct ranges *ret_numbers)
{
    struct list_link *node, *spare;

    if (instance->root == NULL)
        return;
    list_for_each(&instance->root->jobs, node, spare)
    {
        uint32_t number = list_entry(node, struct job, node)->number;

        ranges_add(ret_numbers, number, number);
    }
}

uint32_t instance_jobs(const struct instance *instance)
{
    return instance->root ? instance->root->unreported : 0;
}

uint32_t instance_kept_jobs(const struct instance *instance)
{
    return instance->root ? (uint32_t)hash_map_count(instance->root->jobs_by_number) : 0;
}

uint32_t instance_parts(const struct instance *instance)
{
    return instance->parts_by_number ? (uint32_t)hash_map_count(instance->parts_by_number) : 0;
}

enum instance_policy instance_policy(const struct instance *instance)
{
    assert(instance->root);
    return instance->root->policy;
}

int instance_job_tell(struct instance *instance, uint32_t number, uint32_t place,
                      struct buffer *out)
{
    struct job *job = instance_find_job(instance, number);

    if (job == NULL || job->map.apps_count == 0)
        return -ENOENT;
    ranges_add(&job->concerned, place, place);
    job_map_tell(job, out);
    return 0;
}

/* ---- steps ---- */

/* The root keeps its allocation, from which the roster was made. */
static void roster_arrived(struct instance *instance, struct wire_reader *reader)
{
    struct allocation roster;
    uint32_t version = wire_get_u32(reader);

    if (instance->root || version <= instance->roster_version)
        return;
    if (allocation_decode(&roster, reader) < 0 || allocation_nodes(&roster) < instance->place) {
        log_error("cannot decode the roster from the root");
        allocation_fini(&roster);
        return;
    }
    allocation_fini(&instance->own_roster);
    instance->own_roster = roster;
    instance->allocation = &instance->own_roster;
    instance->roster_version = version;
}

static void signal_arrived(struct instance *instance, struct wire_reader *reader,
                           struct job_actions *actions)
{
    struct job_action *action;
    uint32_t number, signal;
    struct ranges ranks;

    if (job_signal_decode(reader, &number, &signal, &ranks) < 0)
        return;
    if (instance_find_part(instance, number) != NULL) {
        action = job_actions_add(actions, JOB_ACTION_SIGNAL, number);
        action->signal = (int)signal;
        ranges_move(&action->places, &ranks);
    }
    ranges_fini(&ranks);
}

static void broadcast_arrived(struct instance *instance, const struct job_event *event,
                              struct job_actions *actions)
{
    struct wire_reader reader;

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    switch (wire_get_u8(&reader)) {
    case JOB_MESSAGE_ROSTER:
        roster_arrived(instance, &reader);
        break;
    case JOB_MESSAGE_SURVEY:
        job_survey_asked(instance, &reader, actions);
        break;
    case JOB_MESSAGE_LAUNCH:
        job_local_launch(instance, &reader, actions);
        break;
    case JOB_MESSAGE_RELAUNCH:
        job_local_relaunch(instance, &reader, actions);
        break;
    case JOB_MESSAGE_MOVED:
        job_local_moved(instance, &reader, actions);
        break;
    case JOB_MESSAGE_END:
        job_local_end(instance, &reader, actions);
        break;
    case JOB_MESSAGE_SIGNAL:
        signal_arrived(instance, &reader, actions);
        break;
    default:
        log_error("the root sent a broadcast of an unknown kind");
    }
}

/* A relay passes it up to the root; the root handles it. */
static void place_failed(struct instance *instance, const struct job_event *event,
                         struct job_actions *actions)
{
    char text[START_FAILURE_TEXT_BYTES];
    struct buffer payload = {0};

    if (instance->root) {
        instance_root_step(instance, event, actions);
        return;
    }
    wire_put_u8(&payload, JOB_MESSAGE_PLACE_FAILED);
    wire_put_u32(&payload, event->place);
    snprintf(text, sizeof(text), "%s", event->text);
    wire_put_string(&payload, text);
    job_actions_add(actions, JOB_ACTION_SEND, 0)->message = message_from_buffer(&payload);
    buffer_fini(&payload);
}

void instance_joined(struct instance *instance, uint64_t begun_ns, uint64_t now_ns)
{
    assert(instance->place > 0 && begun_ns <= now_ns);
    instance->begun_ns = begun_ns;
    instance->joined_ns = now_ns;
}

void instance_step(struct instance *instance, const struct job_event *event,
                   struct job_actions *actions)
{
    assert(event->kind < JOB_EVENT_KIND_COUNT);
    instance->now_ns = event->now_ns;
    switch (event->kind) {
    case JOB_EVENT_BROADCAST:
        broadcast_arrived(instance, event, actions);
        break;
    case JOB_EVENT_RESULT:
        job_local_result(instance, event, actions);
        if (instance->root)
            instance_root_step(instance, event, actions);
        break;
    case JOB_EVENT_SURVEYED:
        job_survey_answer(instance, event, actions);
        break;
    case JOB_EVENT_PLACE_FAILED:
        place_failed(instance, event, actions);
        break;
    case JOB_EVENT_STARTED:
    case JOB_EVENT_START_FAILED:
    case JOB_EVENT_EXITED:
    case JOB_EVENT_DRAINED:
    case JOB_EVENT_ABNORMAL:
    case JOB_EVENT_ABORT:
    case JOB_EVENT_MISSED:
    case JOB_EVENT_GROUP_EMPTY:
    case JOB_EVENT_JOINED:
        job_local_step(instance, event, actions);
        break;
    case JOB_EVENT_TIMER:
        if (instance->root)
            instance_root_step(instance, event, actions);
        else
            job_local_step(instance, event, actions);
        break;
    case JOB_EVENT_LOST:
        job_local_lost(instance, actions);
        if (instance->root)
            instance_root_step(instance, event, actions);
        break;
    default:
        if (instance->root)
            instance_root_step(instance, event, actions);
    }
}
