/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/job.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "launch/proto/doctor_report.h"
#include "launch/job/job_engine.h"
#include "launch/proto/survey.h"
#include "overlay/tree.h"

static void concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

node_merge_function *const job_merges[JOB_MERGE_COUNT] = {
    [JOB_MERGE_CONCATENATE] = concatenate,   [JOB_MERGE_LAUNCHED] = job_launched_merge,
    [JOB_MERGE_ENDED] = job_ended_merge,     [JOB_MERGE_SURVEY] = survey_merge,
    [JOB_MERGE_DOCTOR] = doctor_report_fold,
};

void job_actions_init(struct job_actions *actions)
{
    *actions = (struct job_actions){0};
}

void job_actions_clear(struct job_actions *actions)
{
    for (uint32_t i = 0; i < actions->count; i++) {
        ranges_fini(&actions->items[i].places);
        message_release(actions->items[i].message);
    }
    actions->count = 0;
}

void job_actions_fini(struct job_actions *actions)
{
    job_actions_clear(actions);
    free(actions->items);
    job_actions_init(actions);
}

struct job_action *job_actions_add(struct job_actions *actions, enum job_action_kind kind,
                                   uint32_t job)
{
    if (actions->count == actions->capacity) {
        actions->capacity = actions->capacity ? 2 * actions->capacity : 8;
        actions->items = memory_resize(actions->items, actions->capacity * sizeof *actions->items);
    }
    struct job_action *action = &actions->items[actions->count++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    action->job = job;
    return action;
}

void job_actions_broadcast(struct job_actions *actions, const struct ranges *places,
                           struct buffer *payload)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_BROADCAST, 0);

    if (places)
        ranges_copy(&action->places, places);
    action->message = message_from_buffer(payload);
    buffer_fini(payload);
}

uint64_t job_set_id(uint32_t number, enum job_operation operation)
{
    return hash_mix(((uint64_t)operation << 32) | number);
}

struct node_key job_key(uint32_t number, enum job_operation operation, uint32_t generation)
{
    static const uint8_t merges[] = {
        [JOB_OPERATION_LAUNCHED] = JOB_MERGE_LAUNCHED, [JOB_OPERATION_ENDED] = JOB_MERGE_ENDED,
        [JOB_OPERATION_PMI1] = JOB_MERGE_CONCATENATE,  [JOB_OPERATION_PMIX] = JOB_MERGE_CONCATENATE,
        [JOB_OPERATION_SURVEY] = JOB_MERGE_SURVEY,
    };
    int gather = operation != JOB_OPERATION_PMI1 && operation != JOB_OPERATION_PMIX;
    uint64_t set_id = job_set_id(number, operation);

    if (operation == JOB_OPERATION_ENDED)
        set_id = hash_mix(set_id + generation); /* after a loss it is another set */
    return (struct node_key){
        .set_id = set_id,
        .owner = number,
        .generation = generation,
        .kind = (uint8_t)operation,
        .merge = merges[operation],
        .target = gather ? NODE_TARGET_ROOT : NODE_TARGET_ALL,
    };
}

struct job_engine *job_engine_create(const struct instance_spec *instance, uint32_t place,
                                     const struct allocation *allocation)
{
    struct job_engine *engine = memory_allocate_zeroed(sizeof *engine);

    engine->instance = instance;
    engine->place = place;
    engine->allocation = allocation;
    allocation_init(&engine->roster);
    if (place == 0)
        engine->root = job_root_create(instance);
    return engine;
}

void job_engine_destroy(struct job_engine *engine)
{
    if (!engine)
        return;
    job_node_destroy(engine->node);
    job_root_destroy(engine->root);
    allocation_fini(&engine->roster);
    ranges_fini(&engine->survey_places);
    free(engine);
}

const struct job_local *job_engine_local(const struct job_engine *engine, uint32_t number)
{
    return engine->node && engine->node->local.number == number ? &engine->node->local : NULL;
}

const struct job_spec *job_engine_spec(const struct job_engine *engine)
{
    return engine->root && engine->root->spec.apps_count > 0 ? &engine->root->spec : NULL;
}

const struct node_pool *job_engine_book(const struct job_engine *engine)
{
    return engine->root ? engine->root->book : NULL;
}

const struct place_map *job_engine_map(const struct job_engine *engine)
{
    assert(engine->root);
    return &engine->root->map;
}

int job_engine_find(const struct job_engine *engine, uint32_t rank, uint32_t *ret_node)
{
    uint32_t local_index;

    if (!engine->root || rank >= engine->root->map.processes)
        return -ENOENT;
    place_map_find(&engine->root->map, rank, ret_node, &local_index);
    return 0;
}

const struct allocation *job_engine_allocation(const struct job_engine *engine)
{
    return engine->allocation;
}

uint32_t job_engine_rank(const struct job_engine *engine, uint32_t number, uint32_t index)
{
    const struct job_local *local = job_engine_local(engine, number);

    assert(local && index < local->count);
    return place_map_rank(&local->map, engine->place - 1, index);
}

int job_engine_has_ended(const struct job_engine *engine, uint32_t number, uint32_t index)
{
    assert(job_engine_local(engine, number));
    return engine->node->rank_states[index] == RANK_ENDED;
}

/* The root keeps the allocation that it was given: the roster is made from it. */
static void roster_arrived(struct job_engine *engine, struct wire_reader *reader)
{
    struct allocation roster;

    if (engine->allocation)
        return;
    if (allocation_decode(&roster, reader) < 0 || allocation_nodes(&roster) < engine->place) {
        log_error("the root sent a roster that cannot be read");
        allocation_fini(&roster);
        return;
    }
    allocation_fini(&engine->roster);
    engine->roster = roster;
    engine->allocation = &engine->roster;
}

static void broadcast_arrived(struct job_engine *engine, const struct job_event *event,
                              struct job_actions *actions)
{
    struct wire_reader reader;
    struct job_action *action;

    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    switch (wire_get_u8(&reader)) {
    case JOB_MESSAGE_ROSTER:
        roster_arrived(engine, &reader);
        break;
    case JOB_MESSAGE_SURVEY:
        job_survey_asked(engine, &reader, actions);
        break;
    case JOB_MESSAGE_LAUNCH:
        job_local_launch(engine, &reader, actions);
        break;
    case JOB_MESSAGE_END:
        job_local_end(engine, &reader, actions);
        break;
    case JOB_MESSAGE_SIGNAL:
        action = job_actions_add(actions, JOB_ACTION_SIGNAL, wire_get_u32(&reader));
        action->number = wire_get_u32(&reader);
        break;
    default:
        log_error("the root sent a broadcast of an unknown kind");
    }
}

/* A relay hands what concerns the root up; the root takes it itself. */
static void place_failed(struct job_engine *engine, const struct job_event *event,
                         struct job_actions *actions)
{
    char text[START_FAILURE_TEXT_BYTES];
    struct buffer payload = {0};
    struct job_action *action;

    if (engine->root) {
        job_root_step(engine, event, actions);
        return;
    }
    wire_put_u8(&payload, JOB_MESSAGE_PLACE_FAILED);
    wire_put_u32(&payload, event->place);
    snprintf(text, sizeof text, "%s", event->text);
    wire_put_string(&payload, text);
    action = job_actions_add(actions, JOB_ACTION_SEND, 0);
    action->message = message_from_buffer(&payload);
    buffer_fini(&payload);
}

void job_step(struct job_engine *engine, const struct job_event *event, struct job_actions *actions)
{
    assert(event->kind < JOB_EVENT_KIND_COUNT);
    switch (event->kind) {
    case JOB_EVENT_BROADCAST:
        broadcast_arrived(engine, event, actions);
        break;
    case JOB_EVENT_RESULT:
        job_local_result(engine, event, actions);
        if (engine->root)
            job_root_step(engine, event, actions);
        break;
    case JOB_EVENT_SURVEYED:
        job_survey_answer(engine, event, actions);
        break;
    case JOB_EVENT_PLACE_FAILED:
        place_failed(engine, event, actions);
        break;
    case JOB_EVENT_STARTED:
    case JOB_EVENT_START_FAILED:
    case JOB_EVENT_EXITED:
    case JOB_EVENT_DRAINED:
    case JOB_EVENT_ABNORMAL:
    case JOB_EVENT_ABORT:
    case JOB_EVENT_MISSED:
    case JOB_EVENT_GROUP_EMPTY:
        job_local_step(engine, event, actions);
        break;
    case JOB_EVENT_LOST:
        job_local_lost(engine, actions);
        if (engine->root)
            job_root_step(engine, event, actions);
        break;
    default:
        if (engine->root)
            job_root_step(engine, event, actions);
    }
}
