/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/job_engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"

/* How long output may stay open (by a process that escaped) after the last process has ended. */
#define CUT_OUTPUT_MS 500

void job_node_destroy(struct job_node *node)
{
    if (!node)
        return;
    place_seats_fini(&node->local.seats);
    place_map_fini(&node->local.map);
    job_spec_fini(&node->local.spec);
    ranges_fini(&node->local.places);
    ranges_fini(&node->ended_places);
    free(node->rank_states);
    free(node->abnormal);
    free(node);
}

static uint32_t node_rank(const struct job_engine *engine, uint32_t index)
{
    return place_map_rank(&engine->node->local.map, engine->place - 1, index);
}

static void tell_failure(const struct job_failure *failure, struct job_actions *actions)
{
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_RANK_FAILED);
    job_failure_encode(failure, &payload);
    job_actions_add(actions, JOB_ACTION_SEND, failure->number)->message =
        message_from_buffer(&payload);
    buffer_fini(&payload);
}

static void contribute(struct job_actions *actions, uint32_t number, struct node_key key,
                       const struct ranges *places, struct buffer *payload)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_CONTRIBUTE, number);

    action->key = key;
    ranges_copy(&action->places, places);
    action->message = message_from_buffer(payload);
    buffer_fini(payload);
}

/* Once every local rank has been started or has failed to. */
static void contribute_launched(struct job_engine *engine, struct job_actions *actions)
{
    struct job_node *node = engine->node;
    struct buffer payload = {0};

    if (node->reported < node->local.count)
        return;
    node->launched.processes = node->local.count;
    node->launched.hash = place_map_hash_node(&node->local.map, engine->place - 1);
    job_launched_encode(&node->launched, &payload);
    contribute(actions, node->local.number, job_key(node->local.number, JOB_OPERATION_LAUNCHED, 1),
               &node->local.places, &payload);
}

/* Once nothing of the job is left here and all its output is on its way; again for every new
 * generation that the root asks for after a loss. */
static void contribute_ended(struct job_engine *engine, struct job_actions *actions)
{
    struct job_node *node = engine->node;
    struct buffer payload = {0};

    if (node->reported < node->local.count || node->ended < node->local.count ||
        !node->group_empty || !node->drained || node->ended_contributed >= node->ended_generation)
        return;
    node->ended_contributed = node->ended_generation;
    node->summary.processes = node->local.count;
    job_ended_encode(&node->summary, &payload);
    contribute(actions, node->local.number,
               job_key(node->local.number, JOB_OPERATION_ENDED, node->ended_generation),
               &node->ended_places, &payload);
}

static void cut_output(const struct job_node *node, struct job_actions *actions)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_CUT_OUTPUT, node->local.number);

    action->number = CUT_OUTPUT_MS;
    action->index = node->discard;
}

/* NULL if this node has no part in the job; the spec is taken then, too. */
static struct job_node *job_node_create(struct job_engine *engine, uint32_t number,
                                        struct job_spec *spec)
{
    struct job_node *node = memory_allocate_zeroed(sizeof *node);

    node->local.number = number;
    node->local.spec = *spec;
    if (place_map_make(&node->local.map, &node->local.spec.placement, engine->allocation, NULL) <
            0 ||
        place_map_count(&node->local.map, engine->place - 1) == 0 ||
        (node->local.map.has_topology &&
         place_seats_make(&node->local.seats, &node->local.map, engine->place - 1, NULL) < 0)) {
        job_node_destroy(node);
        return NULL;
    }
    node->local.count = place_map_count(&node->local.map, engine->place - 1);
    place_map_places(&node->local.map, &node->local.places);
    node->local.nodes = (uint32_t)ranges_count(&node->local.places);
    ranges_copy(&node->ended_places, &node->local.places);
    node->ended_generation = 1;
    node->rank_states = memory_allocate_zeroed(node->local.count + 1);
    node->abnormal = memory_allocate_zeroed(node->local.count + 1);
    return node;
}

/* Without a part of the job there is nothing that this node could contribute: it says so at once,
 * and the root ends the job. */
static void refuse_launch(const struct job_engine *engine, uint32_t number,
                          struct job_actions *actions)
{
    struct job_failure failure = {.number = number,
                                  .kind = JOB_FAILURE_START,
                                  .place = engine->place,
                                  .code = -EBADMSG,
                                  .step = START_STEP_MESSAGE};

    tell_failure(&failure, actions);
}

void job_local_launch(struct job_engine *engine, struct wire_reader *reader,
                      struct job_actions *actions)
{
    struct job_spec spec;
    struct job_node *node = NULL;
    uint32_t number = wire_get_u32(reader);

    if (engine->allocation && job_spec_decode(&spec, reader) == 0)
        node = job_node_create(engine, number, &spec);
    if (!node) {
        refuse_launch(engine, number, actions);
        return;
    }
    job_node_destroy(engine->node);
    engine->node = node;
    job_actions_add(actions, JOB_ACTION_OPEN, number);
    job_actions_add(actions, JOB_ACTION_START, number)->number = engine->node->local.count;
}

/* The sums of all nodes are not what the root has: it looks for who differs. */
static void tell_placement(const struct job_engine *engine, struct job_actions *actions)
{
    const struct job_local *local = &engine->node->local;
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_PLACED);
    wire_put_u32(&payload, local->number);
    wire_put_u32(&payload, engine->place);
    wire_put_u64(&payload, place_map_hash_node(&local->map, engine->place - 1));
    job_actions_add(actions, JOB_ACTION_SEND, local->number)->message =
        message_from_buffer(&payload);
    buffer_fini(&payload);
}

static void end_part(struct job_engine *engine, struct job_end_message *message,
                     struct job_actions *actions)
{
    struct job_node *node = engine->node;
    int discard = message->discard && !node->discard;

    if (node->closed || message->generation <= node->ended_generation ||
        !ranges_contains(&message->places, engine->place))
        return;
    node->discard |= message->discard;
    node->ended_generation = message->generation;
    node->is_ending |= !message->goes_on;
    if (message->tell)
        tell_placement(engine, actions);
    ranges_move(&node->ended_places, &message->places);
    if (!node->group_empty && !message->goes_on)
        job_actions_add(actions, JOB_ACTION_END_GROUP, message->number)->number = message->grace_ms;
    else if (!node->drained && discard)
        cut_output(node, actions);
    contribute_ended(engine, actions);
}

void job_local_end(struct job_engine *engine, struct wire_reader *reader,
                   struct job_actions *actions)
{
    struct job_end_message message;
    struct job_ended nothing = {0};
    struct buffer payload = {0};

    if (job_end_message_decode(&message, reader) < 0) {
        log_error("the root sent an end message that cannot be read");
        return;
    }
    if (engine->node && engine->node->local.number == message.number) {
        end_part(engine, &message, actions);
    } else if (ranges_contains(&message.places, engine->place)) { /* the launch was refused */
        job_ended_encode(&nothing, &payload);
        contribute(actions, message.number,
                   job_key(message.number, JOB_OPERATION_ENDED, message.generation),
                   &message.places, &payload);
    }
    ranges_fini(&message.places);
}

/* Once the root knows that all have ended, by whichever generation: what was meant to ask again is
 * not needed any more.  Where the answer is lost with a relay, that the root forgets the job says so. */
void job_local_result(struct job_engine *engine, const struct job_event *event,
                      struct job_actions *actions)
{
    struct job_node *node = engine->node;

    if (event->key->kind == JOB_OPERATION_SURVEY) {
        ranges_clear(&engine->survey_places);
        return;
    }
    if (!node || node->closed || event->key->kind != JOB_OPERATION_ENDED ||
        event->key->owner != node->local.number ||
        (event->status < 0 && event->status != -ECANCELED))
        return;
    node->closed = 1;
    job_actions_add(actions, JOB_ACTION_CLOSE, node->local.number);
}

/* Only the first failure of a node travels at once: the rest is in the summary. */
static void failure_found(struct job_engine *engine, struct job_failure *failure,
                          struct job_actions *actions)
{
    struct job_node *node = engine->node;

    failure->number = node->local.number;
    failure->place = engine->place;
    job_failure_merge(&node->summary.failure, failure);
    if (node->failure_sent)
        return;
    node->failure_sent = 1;
    tell_failure(failure, actions);
}

/* A relay that died may have had the news of our failure: nobody would end the job. */
void job_local_lost(struct job_engine *engine, struct job_actions *actions)
{
    struct job_node *node = engine->node;

    if (node && node->failure_sent && !node->is_ending && !node->closed)
        tell_failure(&node->summary.failure, actions);
}

static void status_count(const struct job_engine *engine, struct job_failure *failure)
{
    struct job_node *node = engine->node;
    uint32_t status = job_report_status(failure);

    failure->number = node->local.number;
    failure->place = engine->place;
    if (status <= node->summary.status)
        return;
    node->summary.status = status;
    node->summary.highest = *failure;
}

/* Nothing was started here: nobody else will say that the group is empty. */
static void check_nothing_left(struct job_engine *engine, struct job_actions *actions)
{
    struct job_node *node = engine->node;

    if (node->reported < node->local.count || node->started > 0)
        return;
    node->group_empty = 1;
    cut_output(node, actions);
}

/* One that cannot be started ends the job, unless that is to go on: then the rest need not be. */
static void start_refused(struct job_engine *engine, const struct job_event *event,
                          struct job_actions *actions)
{
    struct job_node *node = engine->node;
    struct job_failure failure = {.number = node->local.number,
                                  .kind = JOB_FAILURE_START,
                                  .rank = node_rank(engine, event->index),
                                  .place = engine->place,
                                  .code = (int32_t)event->number,
                                  .step = (uint8_t)event->step};

    strncpy(failure.detail, event->text ? event->text : "", sizeof failure.detail - 1);
    job_failure_merge(&node->launched.failure, &failure);
    job_failure_merge(&node->summary.failure, &failure);
    if (node->local.spec.on_failure != JOB_ON_FAILURE_CONTINUE && !node->starts_cancelled &&
        node->reported < node->local.count) {
        node->starts_cancelled = 1;
        job_actions_add(actions, JOB_ACTION_CANCEL_STARTS, node->local.number);
    }
}

static void start_failed(struct job_engine *engine, const struct job_event *event,
                         struct job_actions *actions)
{
    struct job_node *node = engine->node;

    node->rank_states[event->index] = RANK_ENDED;
    node->reported++;
    node->ended++;
    if (event->number != -ECANCELED)
        start_refused(engine, event, actions);
    contribute_launched(engine, actions);
    check_nothing_left(engine, actions);
    contribute_ended(engine, actions);
}

static void exited(struct job_engine *engine, const struct job_event *event,
                   struct job_actions *actions)
{
    struct job_node *node = engine->node;
    int wait_status = (int)event->number;
    struct job_failure failure = {.rank = node_rank(engine, event->index)};

    if (node->rank_states[event->index] != RANK_RUNNING)
        return;
    node->rank_states[event->index] = RANK_ENDED;
    node->ended++;
    if (!event->flag || !node->is_ending) { /* or by us, but not because it was to end */
        if (WIFSIGNALED(wait_status)) {
            failure.kind = JOB_FAILURE_SIGNAL;
            failure.code = WTERMSIG(wait_status);
        } else if (WEXITSTATUS(wait_status) != 0) {
            failure.kind = JOB_FAILURE_EXIT;
            failure.code = WEXITSTATUS(wait_status);
        } else if (node->abnormal[event->index]) {
            failure.kind = JOB_FAILURE_ABNORMAL;
        }
        if (failure.kind != JOB_FAILURE_NONE) {
            status_count(engine, &failure);
            failure_found(engine, &failure, actions);
        }
    }
    contribute_ended(engine, actions);
}

static void aborted(struct job_engine *engine, const struct job_event *event,
                    struct job_actions *actions)
{
    struct job_failure failure = {.kind = event->flag ? JOB_FAILURE_SERVICES : JOB_FAILURE_ABORT,
                                  .rank = node_rank(engine, event->index),
                                  .code = (int32_t)event->number,
                                  .step = (uint8_t)event->step};

    strncpy(failure.detail, event->text ? event->text : "", sizeof failure.detail - 1);
    status_count(engine, &failure);
    if (job_failure_outweighs(&failure, &engine->node->summary.failure))
        engine->node->failure_sent = 0; /* the first abort is told: it decides the status */
    failure_found(engine, &failure, actions);
}

/* Told once: the job ends by it, or somebody stands in for the node from now on. */
static void missed(struct job_engine *engine, const struct job_event *event,
                   struct job_actions *actions)
{
    struct job_failure failure = {.kind = JOB_FAILURE_MISSED, .rank = node_rank(engine, 0)};

    if (engine->node->missed || engine->node->is_ending)
        return;
    engine->node->missed = 1;
    strncpy(failure.detail, event->text, sizeof failure.detail - 1);
    status_count(engine, &failure);
    failure_found(engine, &failure, actions);
}

static void group_empty(struct job_engine *engine, struct job_actions *actions)
{
    engine->node->group_empty = 1;
    cut_output(engine->node, actions);
    contribute_ended(engine, actions);
}

void job_local_step(struct job_engine *engine, const struct job_event *event,
                    struct job_actions *actions)
{
    struct job_node *node = engine->node;

    if (!node || node->local.number != event->job)
        return;
    switch (event->kind) {
    case JOB_EVENT_STARTED:
        node->rank_states[event->index] = RANK_RUNNING;
        node->reported++;
        node->started++;
        contribute_launched(engine, actions);
        break;
    case JOB_EVENT_START_FAILED:
        start_failed(engine, event, actions);
        break;
    case JOB_EVENT_EXITED:
        exited(engine, event, actions);
        break;
    case JOB_EVENT_DRAINED:
        node->drained = 1;
        node->summary.output_bytes = (uint64_t)event->number;
        contribute_ended(engine, actions);
        break;
    case JOB_EVENT_ABNORMAL:
        node->abnormal[event->index] = 1;
        break;
    case JOB_EVENT_ABORT:
        aborted(engine, event, actions);
        break;
    case JOB_EVENT_MISSED:
        missed(engine, event, actions);
        break;
    case JOB_EVENT_GROUP_EMPTY:
        group_empty(engine, actions);
        break;
    default:
        assert(!"an event of the node's part");
    }
}
