/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/instance_state.h"
#include "launch/job/job_report.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/log.h"
#include "launch/proto/job_moved.h"

/* How long output may stay open (by a process that escaped) after the last process has ended. */
#define CUT_OUTPUT_MS 500

void job_local_fini(struct job_local *local)
{
    placement_bindings_fini(&local->bindings);
    placement_map_fini(&local->map);
    job_spec_fini(&local->spec);
    ranges_fini(&local->places);
}

/* ---- reports to the root ---- */

static void tell_failure(const struct job_failure *failure, struct job_actions *actions)
{
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_RANK_FAILED);
    job_failure_encode(failure, &payload);
    job_actions_add(actions, JOB_ACTION_SEND, failure->number)->message =
        message_from_buffer(&payload);
    buffer_fini(&payload);
}

static void contribute_payload(const struct job_part *part, enum job_operation operation,
                               uint32_t generation, const struct ranges *places,
                               struct buffer *payload, struct job_actions *actions)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_CONTRIBUTE, part->local.number);

    action->key = job_key(part->local.number, operation, generation);
    ranges_copy(&action->places, places);
    action->message = message_from_buffer(payload);
    buffer_fini(payload);
}

static void contribute_launched(struct job_part *part, struct job_actions *actions)
{
    struct job_launched launched = {.processes = part->local.count};
    struct buffer payload = {0};

    launched.hash = placement_map_hash_node(&part->local.map, part->instance->place - 1);
    if (part->start_failure != NULL)
        launched.failure = *part->start_failure;
    job_launched_encode(&launched, &payload);
    contribute_payload(part, JOB_OPERATION_LAUNCHED, 1, &part->local.places, &payload, actions);
}

/* Once nothing of the job is left here and all its output is on its way; again for every new
 * generation that the root asks for after a loss. */
static void contribute_ended(struct job_part *part, struct job_actions *actions)
{
    struct buffer payload = {0}, profile = {0};

    if (part->phase != JOB_PART_ENDED || part->ended_contributed == part->ended_generation)
        return;
    part->ended_contributed = part->ended_generation;
    part->summary.processes = part->local.count;
    if (part->local.spec.profile)
        job_profile_make(part, &profile);
    part->summary.profile =
        (struct wire_bytes){.data = profile.data, .length_bytes = profile.length_bytes};
    job_ended_encode(&part->summary, &payload);
    part->summary.profile = (struct wire_bytes){.data = NULL};
    buffer_fini(&profile);
    contribute_payload(part, JOB_OPERATION_ENDED, part->ended_generation, &part->ended_places,
                       &payload, actions);
}

static void cut_output(const struct job_part *part, struct job_actions *actions)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_CUT_OUTPUT, part->local.number);

    action->cut.within_ms = CUT_OUTPUT_MS;
    action->cut.discard = part->discard;
}

/* Every local rank has been started or has failed to; every process has ended.  If none was
 * started, nothing else reports that the group is empty. */
static void advance_part(struct job_part *part, struct job_actions *actions)
{
    if (part->phase == JOB_PART_STARTING && part->reported == part->local.count) {
        part->phase = JOB_PART_RUNNING;
        part->started_ns = part->instance->now_ns;
        part->is_gone |= part->started == 0;
        if (!part->is_moved)
            contribute_launched(part, actions);
        else if (part->start_failure != NULL)
            tell_failure(part->start_failure, actions);
    }
    if (part->restarts != NULL && part->ended == part->local.count && !part->is_sealed) {
        part->is_sealed = 1;
        job_actions_add(actions, JOB_ACTION_SEAL, part->local.number);
    }
    if (part->phase == JOB_PART_RUNNING && part->is_gone && part->ended == part->local.count) {
        part->phase = JOB_PART_DRAINING;
        part->gone_ns = part->instance->now_ns;
        cut_output(part, actions);
    }
    job_part_check(part);
}

/* ---- the launch ---- */

static int part_fill(struct job_part *part, struct wire_reader *reader,
                     const struct job_moved *moved)
{
    struct job_local *local = &part->local;
    uint32_t node = part->instance->place - 1;

    if (job_map_read(part->instance, reader, local) < 0 ||
        (moved != NULL &&
         placement_map_move_all(&local->map, moved->moves.items, moved->moves.count) < 0) ||
        placement_map_count(&local->map, node) == 0 ||
        (moved != NULL && (moved->restarts_count != placement_map_count(&local->map, node) ||
                           local->spec.on_failure != JOB_ON_FAILURE_RESTART)) ||
        (local->map.has_topology &&
         placement_bindings_make(&local->bindings, &local->map, node, NULL) < 0))
        return -EBADMSG;
    local->count = placement_map_count(&local->map, node);
    placement_map_places(&local->map, &local->places);
    local->nodes = (uint32_t)ranges_count(&local->places);
    ranges_copy(&part->ended_places, &local->places);
    part->rank_states = memory_allocate_zeroed(local->count);
    part->abnormal = memory_allocate_zeroed(local->count);
    job_restart_open(part);
    return 0;
}

/* Without processes of the job this node has nothing to contribute: it reports that at once, and
 * the root ends the job, which here has then already ended. */
static void refuse_launch(struct job_part *part, struct job_actions *actions)
{
    struct job_failure failure = {.number = part->local.number,
                                  .kind = JOB_FAILURE_START,
                                  .place = part->instance->place,
                                  .code = -EBADMSG,
                                  .step = START_STEP_MESSAGE};

    part->phase = JOB_PART_ENDED;
    part->is_gone = 1;
    part->ended_contributed = part->ended_generation;
    tell_failure(&failure, actions);
}

void job_local_launch(struct instance *instance, struct wire_reader *reader,
                      struct job_actions *actions)
{
    uint32_t number = wire_get_u32(reader);
    struct job_action *action;
    struct job_part *part;

    if (instance->place == 0 || instance_find_part(instance, number)) {
        log_error("the root sent a launch that is not for this node");
        return;
    }
    part = job_part_create(instance, number);
    part->launched_ns = instance->now_ns;
    if (part_fill(part, reader, NULL) < 0) {
        refuse_launch(part, actions);
    } else {
        job_actions_add(actions, JOB_ACTION_OPEN, number);
        action = job_actions_add(actions, JOB_ACTION_START, number);
        action->start.first = 0;
        action->start.count = part->local.count;
    }
    job_part_check(part);
}

/* Ranks of a lost node, all of which wait to be started. */
static void take_part(struct instance *instance, struct job_moved *message,
                      struct wire_reader *reader, struct job_actions *actions)
{
    struct job_part *part = job_part_create(instance, message->number);

    part->launched_ns = instance->now_ns;
    part->is_moved = 1;
    if (part_fill(part, reader, message) < 0) {
        refuse_launch(part, actions);
    } else {
        ranges_move(&part->ended_places, &message->places);
        part->ended_generation = message->generation;
        job_actions_add(actions, JOB_ACTION_OPEN, message->number);
        job_restart_take(part, message->restarts, instance->now_ns, actions);
    }
    job_part_check(part);
}

void job_local_relaunch(struct instance *instance, struct wire_reader *reader,
                        struct job_actions *actions)
{
    struct job_moved message;

    if (job_moved_decode(&message, reader) < 0) {
        log_error("cannot decode ranks of a lost node from the root");
        return;
    }
    if (instance->place == 0 || instance_find_part(instance, message.number) != NULL)
        log_error("the root sent ranks of a lost node that are not for this node");
    else
        take_part(instance, &message, reader, actions);
    job_moved_fini(&message);
}

/* ---- the end ---- */

/* The sum of all nodes does not match the root's: it looks for the one that differs. */
static void tell_placement(const struct job_part *part, struct job_actions *actions)
{
    uint32_t place = part->instance->place;
    struct buffer payload = {0};

    wire_put_u8(&payload, JOB_MESSAGE_PLACED);
    wire_put_u32(&payload, part->local.number);
    wire_put_u32(&payload, place);
    wire_put_u64(&payload, placement_map_hash_node(&part->local.map, place - 1));
    job_actions_add(actions, JOB_ACTION_SEND, part->local.number)->message =
        message_from_buffer(&payload);
    buffer_fini(&payload);
}

static void end_part(struct job_part *part, struct job_end_message *message,
                     struct job_actions *actions)
{
    int discards_now = message->discard && !part->discard;

    if (message->generation <= part->ended_generation ||
        !ranges_contains(&message->places, part->instance->place))
        return;
    part->discard |= message->discard;
    part->ended_generation = message->generation;
    part->is_ending |= !message->goes_on;
    if (message->tell && part->local.count > 0)
        tell_placement(part, actions);
    ranges_move(&part->ended_places, &message->places);
    if (part->is_ending)
        job_restart_cancel(part, actions);
    if (part->is_moved && part->is_ending && part->phase == JOB_PART_STARTING)
        advance_part(part, actions); /* none of those that have waited was ever started here */
    if (part->phase < JOB_PART_DRAINING && !message->goes_on)
        job_actions_add(actions, JOB_ACTION_END_GROUP, message->number)->grace_ms =
            message->grace_ms;
    else if (part->phase == JOB_PART_DRAINING && discards_now)
        cut_output(part, actions);
    contribute_ended(part, actions);
    job_part_check(part);
}

void job_local_end(struct instance *instance, struct wire_reader *reader,
                   struct job_actions *actions)
{
    struct job_end_message message;
    struct job_part *part;

    if (job_end_message_decode(&message, reader) < 0) {
        log_error("cannot decode the end message from the root");
        return;
    }
    part = instance_find_part(instance, message.number);
    if (part)
        end_part(part, &message, actions);
    ranges_fini(&message.places);
}

/* Closes the part once the root knows that all have ended, in any generation: no further one is
 * needed.  If the answer is lost with a relay, the root's FORGET of the job serves instead. */
void job_local_result(struct instance *instance, const struct job_event *event,
                      struct job_actions *actions)
{
    struct job_part *part = instance_find_part(instance, event->key->owner);

    if (!part || event->key->kind != JOB_OPERATION_ENDED || part->phase != JOB_PART_ENDED ||
        (event->status < 0 && event->status != -ECANCELED))
        return;
    (void)hash_map_remove_u64(instance->parts_by_number, part->local.number);
    list_remove(&part->node);
    job_actions_add(actions, JOB_ACTION_CLOSE, part->local.number)->part = part;
}

/* ---- parts of lost nodes ---- */

static void refuse_move(struct job_part *part, struct job_actions *actions)
{
    struct job_failure failure = {
        .number = part->local.number,
        .kind = JOB_FAILURE_SERVICES,
        .place = part->instance->place,
        .code = -EBUSY,
        .detail = "they had connected to PMI when ranks of a lost node were to move to a spare"};

    tell_failure(&failure, actions);
}

/* As long as no rank has connected to PMI nobody has asked where the others are. */
static void take_moves(struct job_part *part, struct job_moved *message,
                       struct job_actions *actions)
{
    struct job_local *local = &part->local;
    struct job_end_message goes_on = {
        .number = message->number, .generation = message->generation, .goes_on = 1};

    if (message->generation <= part->ended_generation)
        return;
    if (part->has_joined)
        refuse_move(part, actions);
    if (!part->is_moved && part->phase > JOB_PART_STARTING && part->start_failure != NULL)
        tell_failure(part->start_failure, actions); /* the gather has failed with the lost node */
    part->is_moved = 1;
    if (placement_map_move_all(&local->map, message->moves.items, message->moves.count) < 0)
        log_error("the root has moved ranks that are not where it says");
    placement_map_places(&local->map, &local->places);
    ranges_move(&goes_on.places, &message->places);
    end_part(part, &goes_on, actions);
    ranges_fini(&goes_on.places);
}

void job_local_moved(struct instance *instance, struct wire_reader *reader,
                     struct job_actions *actions)
{
    struct job_moved message;
    struct job_part *part;

    if (job_moved_decode(&message, reader) < 0) {
        log_error("cannot decode from the root where ranks are");
        return;
    }
    part = instance_find_part(instance, message.number);
    if (part != NULL && part->local.count > 0)
        take_moves(part, &message, actions);
    job_moved_fini(&message);
}

/* ---- failures ---- */

/* Only the first failure of a node is sent at once: the others are in the summary. */
static void failure_found(struct job_part *part, struct job_failure *failure,
                          struct job_actions *actions)
{
    failure->number = part->local.number;
    failure->place = part->instance->place;
    job_failure_merge(&part->summary.failure, failure);
    if (part->failure_sent)
        return;
    part->failure_sent = 1;
    tell_failure(failure, actions);
}

/* A relay that died may have lost the report of our failure, so that nothing would end the job. */
void job_local_lost(struct instance *instance, struct job_actions *actions)
{
    struct list_link *node, *spare;

    list_for_each(&instance->parts, node, spare)
    {
        const struct job_part *part = list_entry(node, struct job_part, node);

        if (part->failure_sent && !part->is_ending)
            tell_failure(&part->summary.failure, actions);
    }
}

static void status_count(struct job_part *part, struct job_failure *failure)
{
    uint32_t status = job_report_status(failure);

    failure->number = part->local.number;
    failure->place = part->instance->place;
    if (status <= part->summary.status)
        return;
    part->summary.status = status;
    part->summary.highest = *failure;
}

/* A process that cannot be started ends the job, unless its policy is to continue: the remaining
 * starts are then cancelled. */
static void start_refused(struct job_part *part, const struct job_event *event,
                          struct job_actions *actions)
{
    struct job_failure failure = {.number = part->local.number,
                                  .kind = JOB_FAILURE_START,
                                  .rank = job_part_rank(part, event->index),
                                  .place = part->instance->place,
                                  .code = (int32_t)event->number,
                                  .step = (uint8_t)event->step};

    strncpy(failure.detail, event->text ? event->text : "", sizeof(failure.detail) - 1);
    if (part->start_failure == NULL)
        part->start_failure = memory_allocate_zeroed(sizeof(*part->start_failure));
    job_failure_merge(part->start_failure, &failure);
    if (job_restart_count(part, event->index) > 0) {
        failure_found(part, &failure, actions);
        return;
    }
    job_failure_merge(&part->summary.failure, &failure);
    if (part->local.spec.on_failure != JOB_ON_FAILURE_CONTINUE && !part->starts_cancelled &&
        part->reported < part->local.count) {
        part->starts_cancelled = 1;
        job_actions_add(actions, JOB_ACTION_CANCEL_STARTS, part->local.number);
    }
}

/* ---- events of processes ---- */

static void rank_started(struct job_part *part, const struct job_event *event,
                         struct job_actions *actions)
{
    assert(part->rank_states[event->index] == RANK_STARTING);
    part->rank_states[event->index] = RANK_RUNNING;
    if (!job_restart_was_here(part, event->index)) {
        part->reported++;
        part->started++;
    }
    advance_part(part, actions);
}

static void start_failed(struct job_part *part, const struct job_event *event,
                         struct job_actions *actions)
{
    assert(part->rank_states[event->index] == RANK_STARTING);
    part->rank_states[event->index] = RANK_ENDED;
    part->reported += !job_restart_was_here(part, event->index);
    part->ended++;
    if (event->number != -ECANCELED)
        start_refused(part, event, actions);
    advance_part(part, actions);
}

void job_local_end_text(int wait_status, char *text, size_t text_bytes)
{
    if (WIFSIGNALED(wait_status))
        snprintf(text, text_bytes, "was killed by signal %d", WTERMSIG(wait_status));
    else
        snprintf(text, text_bytes, "exited with status %d", WEXITSTATUS(wait_status));
}

static enum job_failure_kind end_of(const struct job_part *part, uint32_t index, int wait_status,
                                    int32_t *ret_code)
{
    *ret_code = 0;
    if (WIFSIGNALED(wait_status)) {
        *ret_code = WTERMSIG(wait_status);
        return JOB_FAILURE_SIGNAL;
    }
    if (WEXITSTATUS(wait_status) != 0) {
        *ret_code = WEXITSTATUS(wait_status);
        return JOB_FAILURE_EXIT;
    }
    return part->abnormal[index] ? JOB_FAILURE_ABNORMAL : JOB_FAILURE_NONE;
}

/* For good. */
static void rank_ended(struct job_part *part, uint32_t index, struct job_failure *failure,
                       struct job_actions *actions)
{
    part->rank_states[index] = RANK_ENDED;
    part->ended++;
    if (failure->kind != JOB_FAILURE_NONE) {
        job_restart_explain(part, index, failure);
        status_count(part, failure);
        failure_found(part, failure, actions);
    }
    advance_part(part, actions);
}

/* Of the last process of a rank. */
static void add_usage(struct job_part *part, const struct job_event *event)
{
    struct usage_rank what;
    struct wire_reader reader;

    if (!part->local.spec.stats || event->message == NULL)
        return;
    wire_reader_init(&reader, event->message->data, event->message->length_bytes);
    usage_rank_decode(&reader, &what);
    assert(wire_finish(&reader) == 0); /* this node's helper has measured it */
    if (part->summary.usage == NULL)
        part->summary.usage = memory_allocate_zeroed(sizeof(*part->summary.usage));
    usage_add(part->summary.usage, job_part_rank(part, event->index), &what);
}

static void rank_exited(struct job_part *part, const struct job_event *event,
                        struct job_actions *actions)
{
    struct job_failure failure = {.rank = job_part_rank(part, event->index)};
    int wait_status = (int)event->number;

    if (part->rank_states[event->index] != RANK_RUNNING)
        return;
    if (!event->flag || !part->is_ending) /* or killed by us, but not in order to end the job */
        failure.kind = (uint8_t)end_of(part, event->index, wait_status, &failure.code);
    if (failure.kind == JOB_FAILURE_SIGNAL && event->text != NULL)
        strncpy(failure.detail, event->text, sizeof(failure.detail) - 1);
    if (job_restart_is_due(part, event->index, wait_status, event->flag)) {
        job_restart_wait(part, event->index, &failure, event->now_ns, actions);
    } else {
        add_usage(part, event);
        rank_ended(part, event->index, &failure, actions);
    }
    job_part_check(part);
}

static void rank_joined(struct job_part *part, const struct job_event *event,
                        struct job_actions *actions)
{
    struct job_failure failure = {0};
    struct buffer payload = {0};

    if (part->restarts != NULL && !part->has_joined && part->instance->spec->spares > 0) {
        wire_put_u8(&payload, JOB_MESSAGE_SPOKEN);
        wire_put_u32(&payload, part->local.number);
        job_actions_add(actions, JOB_ACTION_SEND, part->local.number)->message =
            message_from_buffer(&payload);
        buffer_fini(&payload);
    }
    part->has_joined |= part->restarts != NULL;
    if (job_restart_joined(part, event->index, &failure))
        rank_ended(part, event->index, &failure, actions);
}

static void part_timer(struct job_part *part, const struct job_event *event,
                       struct job_actions *actions)
{
    job_restart_time(part, event->now_ns, actions);
    job_part_check(part);
}

static void part_drained(struct job_part *part, const struct job_event *event,
                         struct job_actions *actions)
{
    assert(part->phase == JOB_PART_DRAINING);
    part->phase = JOB_PART_ENDED;
    part->summary.output_bytes = (uint64_t)event->number;
    contribute_ended(part, actions);
    job_part_check(part);
}

static void rank_abnormal(struct job_part *part, const struct job_event *event,
                          struct job_actions *actions)
{
    (void)actions;
    part->abnormal[event->index] = 1;
}

static void rank_aborted(struct job_part *part, const struct job_event *event,
                         struct job_actions *actions)
{
    struct job_failure failure = {.kind = event->flag ? JOB_FAILURE_SERVICES : JOB_FAILURE_ABORT,
                                  .rank = job_part_rank(part, event->index),
                                  .code = (int32_t)event->number,
                                  .step = (uint8_t)event->step};

    strncpy(failure.detail, event->text ? event->text : "", sizeof(failure.detail) - 1);
    status_count(part, &failure);
    if (job_failure_outweighs(&failure, &part->summary.failure))
        part->failure_sent = 0; /* the first abort is reported: it determines the status */
    failure_found(part, &failure, actions);
}

/* Reported once: it ends the job, or the node's ranks are stood in for from now on. */
static void collective_missed(struct job_part *part, const struct job_event *event,
                              struct job_actions *actions)
{
    struct job_failure failure = {.kind = JOB_FAILURE_MISSED, .rank = job_part_rank(part, 0)};

    if (part->missed || part->is_ending)
        return;
    part->missed = 1;
    strncpy(failure.detail, event->text, sizeof(failure.detail) - 1);
    status_count(part, &failure);
    failure_found(part, &failure, actions);
}

static void group_empty(struct job_part *part, const struct job_event *event,
                        struct job_actions *actions)
{
    (void)event;
    part->is_gone = 1;
    advance_part(part, actions);
}

typedef void part_handler(struct job_part *part, const struct job_event *event,
                          struct job_actions *actions);

void job_local_step(struct instance *instance, const struct job_event *event,
                    struct job_actions *actions)
{
    static part_handler *const handlers[JOB_EVENT_KIND_COUNT] = {
        [JOB_EVENT_STARTED] = rank_started,     [JOB_EVENT_START_FAILED] = start_failed,
        [JOB_EVENT_EXITED] = rank_exited,       [JOB_EVENT_DRAINED] = part_drained,
        [JOB_EVENT_ABNORMAL] = rank_abnormal,   [JOB_EVENT_ABORT] = rank_aborted,
        [JOB_EVENT_MISSED] = collective_missed, [JOB_EVENT_GROUP_EMPTY] = group_empty,
        [JOB_EVENT_JOINED] = rank_joined,       [JOB_EVENT_TIMER] = part_timer,
    };
    struct job_part *part = instance_find_part(instance, event->job);

    assert(handlers[event->kind] != NULL);
    if (part == NULL || part->local.count == 0)
        return; /* it has ended here, or was refused */
    assert(event->index < part->local.count);
    handlers[event->kind](part, event, actions);
}
