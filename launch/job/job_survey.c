/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the nodes are like, asked before a launch that places processes on cores or requires what only
 * the nodes know: one broadcast, and a gather in which equal answers become one on the way, so that
 * the root gets each kind once however many nodes there are.  Jobs by slot or node, bound to nothing,
 * ask nobody, and nobody is asked twice for its machine (job_machines.h).
 */
#include "config.h"

#include "launch/job/instance_state.h"
#include "launch/job/job_report.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/placement_require.h"
#include "base/log.h"
#include "launch/proto/survey.h"

/* ---- The root ---- */

/* Bits of what must be asked. */
static unsigned int survey_bits(const struct job *job)
{
    const struct placement *placement = &job->spec.placement;
    unsigned int want = 0;

    if (placement_wants_topology(placement))
        want |= SURVEY_TOPOLOGY;
    if (want != 0 && placement_wants_devices(placement))
        want |= SURVEY_DEVICES;
    if (placement_require_open(placement, job->instance->allocation))
        want |= SURVEY_FACTS;
    return want;
}

/* Facts decide who takes part, so they are asked of all who may. */
unsigned int job_survey_wanted(struct job *job, int all)
{
    struct ranges nodes = {0}, unknown = {0};
    unsigned int want = survey_bits(job);

    ranges_clear(&job->places);
    if (want == 0)
        return 0;
    if (all || want & SURVEY_FACTS)
        job_map_candidates(job, &nodes);
    else
        job_map_guess(job, &nodes);
    job_map_unknown(job, &nodes, &unknown);
    if (ranges_is_empty(&unknown))
        want &= SURVEY_FACTS;
    if (!(want & SURVEY_FACTS))
        ranges_move(&nodes, &unknown);
    for (uint32_t i = 0; i < nodes.count; i++)
        ranges_add(&job->places, nodes.items[i].first + 1, nodes.items[i].last + 1);
    ranges_fini(&nodes);
    ranges_fini(&unknown);
    return ranges_is_empty(&job->places) ? 0 : want;
}

void job_survey_ask(struct job *job, unsigned int want, struct job_actions *actions)
{
    struct survey_request request = {.number = job->number, .want = (uint8_t)want};
    struct buffer payload = {0}, require = {0};

    assert(want != 0 && !ranges_is_empty(&job->places));
    if (want & SURVEY_FACTS)
        placement_require_all(&job->spec.placement, &require);
    ranges_add_all(&job->concerned, &job->places);
    request.generation = ++job->surveys;
    (void)buffer_string(&require);
    request.require = buffer_take(&require, NULL);
    ranges_copy(&request.places, &job->places);
    survey_request_encode(&request, &payload);
    survey_request_fini(&request);
    job_actions_broadcast(actions, job->number, &job->places, &payload);
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
    job_machines_learn(&job->instance->root->machines, &survey.machines,
                       placement_wants_devices(placement));
    facts_table_merge(&placement->facts, &survey.facts);
    if (!ranges_is_empty(&survey.failed))
        rc = say_failed(job, &survey, error);
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
    struct list_link *node;

    while ((node = list_first(&instance->asked)) != NULL)
        asked_free(list_entry(node, struct job_asked, node));
}

void job_survey_asked(struct instance *instance, struct wire_reader *reader,
                      struct job_actions *actions)
{
    struct survey_request request;
    struct job_action *action;
    struct job_asked *asked;

    if (survey_request_decode(&request, reader) < 0 ||
        !ranges_contains(&request.places, instance->place)) {
        log_error("cannot decode the survey from the root");
    } else {
        asked = memory_allocate_zeroed(sizeof(*asked));
        asked->number = request.number;
        asked->generation = request.generation;
        ranges_move(&asked->places, &request.places);
        list_append(&instance->asked, &asked->node);
        action = job_actions_add(actions, JOB_ACTION_SURVEY, request.number);
        action->want = request.want;
        action->message = message_create(request.require, strlen(request.require) + 1);
    }
    survey_request_fini(&request);
}

void job_survey_answer(struct instance *instance, const struct job_event *event,
                       struct job_actions *actions)
{
    struct list_link *node, *spare;
    struct job_action *action;

    list_for_each(&instance->asked, node, spare)
    {
        struct job_asked *asked = list_entry(node, struct job_asked, node);

        if (asked->number != event->job)
            continue;
        action = job_actions_add(actions, JOB_ACTION_CONTRIBUTE, event->job);
        action->key = job_key(event->job, JOB_OPERATION_SURVEY, asked->generation);
        ranges_move(&action->places, &asked->places);
        action->message = message_reference(event->message);
        asked_free(asked);
        return;
    }
}
