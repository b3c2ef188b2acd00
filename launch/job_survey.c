/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the nodes' machines look like, asked before a launch that places processes on cores: one
 * broadcast, and a gather in which equal machines become one on the way, so that the root gets each
 * kind once however many nodes there are.  Jobs by slot or node, bound to nothing, ask nobody.
 */
#include "config.h"

#include "launch/job_engine.h"

#include <errno.h>

#include "base/log.h"

/* ---- The root ---- */

static int wants_devices(const struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement->rules[i].gpus > 0 || placement->rules[i].policy == MAP_BY_DISTANCE)
            return 1;
    }
    return 0;
}

/* Places of the nodes that may take part. */
static void candidates(const struct job_engine *engine, struct ranges *ret_places)
{
    const struct ranges *excluded = &engine->root->spec.placement.excluded;
    uint32_t place = 1;

    ranges_clear(ret_places);
    for (uint32_t i = 0; i < engine->allocation->runs_count; i++) {
        const struct slots_run *run = &engine->allocation->runs[i];

        if (run->slots > 0)
            ranges_add(ret_places, place, place + run->nodes - 1);
        place += run->nodes;
    }
    for (uint32_t i = 0; i < excluded->count; i++)
        ranges_remove(ret_places, excluded->items[i].first + 1, excluded->items[i].last + 1);
}

int job_survey_wanted(const struct job_engine *engine)
{
    const struct placement *placement = &engine->root->spec.placement;

    candidates(engine, &engine->root->places);
    return placement_wants_topology(placement) && placement->machines.kinds_count == 0 &&
           !ranges_is_empty(&engine->root->places);
}

void job_survey_ask(struct job_engine *engine, struct job_actions *actions)
{
    struct job_root *root = engine->root;
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_SURVEY);
    wire_put_u32(&payload, root->number);
    wire_put_u8(&payload, (uint8_t)wants_devices(&root->spec.placement));
    ranges_encode(&root->places, &payload);
    job_actions_broadcast(actions, &root->places, &payload);
}

int job_survey_take(struct job_engine *engine, const struct job_event *event)
{
    struct place_machines *machines = &engine->root->spec.placement.machines;
    struct wire_reader reader;

    place_machines_fini(machines);
    if (!event->message)
        return -EBADMSG;
    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    return place_machines_decode(machines, &reader);
}

/* ---- A node ---- */

void job_survey_asked(struct job_engine *engine, struct wire_reader *reader,
                      struct job_actions *actions)
{
    struct job_action *action;
    uint32_t number = wire_get_u32(reader);
    uint64_t devices = wire_get_varint_max(reader, 1);

    ranges_decode(reader, UINT32_MAX, &engine->survey_places);
    if (wire_finish(reader) < 0) {
        log_error("the root sent a survey that cannot be read");
        return;
    }
    action = job_actions_add(actions, JOB_ACTION_SURVEY, number);
    action->number = (int64_t)devices;
}

void job_survey_answer(struct job_engine *engine, const struct job_event *event,
                       struct job_actions *actions)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_CONTRIBUTE, event->job);

    action->key = job_key(event->job, JOB_OPERATION_SURVEY, 1);
    ranges_copy(&action->places, &engine->survey_places);
    action->message = message_reference(event->message);
}

/* ---- On the way ---- */

void job_survey_merge(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct place_machines sum = {0}, part = {0};
    struct wire_reader reader;

    if (merged->length_bytes == 0) {
        buffer_append(merged, other, other_bytes);
        return;
    }
    wire_reader_init(&reader, other, other_bytes);
    if (place_machines_decode(&part, &reader) < 0)
        return;
    wire_reader_init(&reader, merged->data, merged->length_bytes);
    (void)place_machines_decode(&sum, &reader);
    place_machines_merge(&sum, &part);
    buffer_clear(merged);
    place_machines_encode(&sum, merged);
    place_machines_fini(&sum);
    place_machines_fini(&part);
}
