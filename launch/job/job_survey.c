/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The survey of the nodes before a launch that places processes on cores or requires facts that
 * only the nodes know: one broadcast, and a gather in which equal answers are merged on the way, so
 * that the root gets each kind once however many nodes there are.  Jobs placed by slot or node,
 * without binding, need none.
 */
#include "config.h"

#include "launch/job/job_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/place_require.h"
#include "base/log.h"
#include "launch/proto/survey.h"

/* ---- The root ---- */

static int wants_devices(const struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement->rules[i].gpus > 0 || placement->rules[i].policy == MAP_BY_DISTANCE ||
            placement->rules[i].policy == MAP_BY_DEVICE)
            return 1;
    }
    return 0;
}

/* Places of the nodes that may take part. */
static void candidates(const struct job *job, struct ranges *ret_places)
{
    const struct ranges *excluded = &job->spec.placement.excluded;
    uint32_t place = 1;

    ranges_clear(ret_places);
    for (uint32_t i = 0; i < job->instance->allocation->runs_count; i++) {
        const struct slots_run *run = &job->instance->allocation->runs[i];

        if (run->slots > 0)
            ranges_add(ret_places, place, place + run->nodes - 1);
        place += run->nodes;
    }
    for (uint32_t i = 0; i < excluded->count; i++)
        ranges_remove(ret_places, excluded->items[i].first + 1, excluded->items[i].last + 1);
    if (job->instance->root->policy == INSTANCE_STAYS)
        ranges_remove_all(ret_places, &job->instance->root->dead);
}

/* Bits of what must be known. */
static unsigned int wanted(const struct job *job)
{
    const struct placement *placement = &job->spec.placement;
    unsigned int want = 0;

    if (placement_wants_topology(placement) && placement->machines.kinds_count == 0)
        want |= SURVEY_TOPOLOGY;
    if (want != 0 && wants_devices(placement))
        want |= SURVEY_DEVICES;
    if (place_require_open(placement, job->instance->allocation))
        want |= SURVEY_FACTS;
    return want;
}

int job_survey_wanted(struct job *job)
{
    candidates(job, &job->places);
    return wanted(job) != 0 && !ranges_is_empty(&job->places);
}

void job_survey_ask(struct job *job, struct job_actions *actions)
{
    struct buffer payload = {0}, require = {0};

    if (wanted(job) & SURVEY_FACTS)
        place_require_all(&job->spec.placement, &require);
    ranges_add_all(&job->concerned, &job->places);
    wire_put_u8(&payload, JOB_MESSAGE_SURVEY);
    wire_put_u32(&payload, job->number);
    wire_put_u8(&payload, (uint8_t)wanted(job));
    wire_put_string(&payload, buffer_string(&require));
    ranges_encode(&job->places, &payload);
    job_actions_broadcast(actions, job->number, &job->places, &payload);
    buffer_fini(&require);
}

static int say_failed(const struct job *job, const struct survey *survey, struct error *error)
{
    struct buffer names = {0};
    struct ranges places = {0};

    for (uint32_t i = 0; i < survey->failed.count; i++)
        ranges_add(&places, survey->failed.items[i].first + 1, survey->failed.items[i].last + 1);
    job_report_places(job->instance, &places, &names);
    error_set(error, -EIO, "cannot inspect %s: %s", buffer_string(&names), survey->why);
    ranges_fini(&places);
    buffer_fini(&names);
    return -EIO;
}

int job_survey_take(struct job *job, const struct job_event *event, struct error *error)
{
    struct placement *placement = &job->spec.placement;
    struct survey survey;
    struct wire_reader reader;
    int rc = -EBADMSG;

    if (event->message) {
        wire_reader_init(&reader, event->message->data, event->message->length_bytes);
        rc = survey_decode(&survey, &reader);
    }
    if (rc < 0)
        return error_set(error, rc, "cannot decode the nodes' descriptions of their machines");
    if (!ranges_is_empty(&survey.failed)) {
        rc = say_failed(job, &survey, error);
    } else {
        place_machines_merge(&placement->machines, &survey.machines);
        facts_table_merge(&placement->facts, &survey.facts);
    }
    survey_fini(&survey);
    return rc;
}

/* ---- A node ---- */

static void asked_free(struct job_asked *asked)
{
    list_remove(&asked->node);
    ranges_fini(&asked->places);
    free(asked);
}

void job_survey_close(struct instance *instance)
{
    struct list_node *node;

    while ((node = list_first(&instance->asked)) != NULL)
        asked_free(list_entry(node, struct job_asked, node));
}

void job_survey_asked(struct instance *instance, struct wire_reader *reader,
                      struct job_actions *actions)
{
    struct job_asked *asked = memory_allocate_zeroed(sizeof(*asked));
    struct job_action *action;
    struct buffer request = {0};
    uint8_t want;
    char *require;

    asked->number = wire_get_u32(reader);
    want = wire_get_u8(reader);
    require = wire_get_string(reader, SURVEY_REQUIRE_BYTES_MAX);
    ranges_decode(reader, UINT32_MAX, &asked->places);
    list_append(&instance->asked, &asked->node);
    if (wire_finish(reader) < 0 || !ranges_contains(&asked->places, instance->place)) {
        log_error("cannot decode the survey from the root");
        asked_free(asked);
    } else {
        action = job_actions_add(actions, JOB_ACTION_SURVEY, asked->number);
        action->want = want;
        buffer_append(&request, require, strlen(require) + 1);
        action->message = message_from_buffer(&request);
    }
    buffer_fini(&request);
    free(require);
}

void job_survey_answer(struct instance *instance, const struct job_event *event,
                       struct job_actions *actions)
{
    struct list_node *node, *spare;
    struct job_action *action;

    list_for_each(&instance->asked, node, spare)
    {
        struct job_asked *asked = list_entry(node, struct job_asked, node);

        if (asked->number != event->job)
            continue;
        action = job_actions_add(actions, JOB_ACTION_CONTRIBUTE, event->job);
        action->key = job_key(event->job, JOB_OPERATION_SURVEY, 1);
        ranges_move(&action->places, &asked->places);
        action->message = message_reference(event->message);
        asked_free(asked);
        return;
    }
}
