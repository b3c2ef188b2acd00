/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchange and gather.  All operations of one set and kind are a series; they share the covering
 * range Z of the set, whose living head is the meeting point, and the attempt: the number of deaths
 * in Z in the root's order, so that all places of Z agree on the meaning of an attempt.
 *
 * In an attempt every hop waits for itself, if it is a member, and for those child ranges that have
 * living members; then it contributes the merged data to its parent, and the meeting point decides.
 * In the next attempt all members contribute again: one that has seen a decision reports it, and
 * any decision stands.  This gives agreement: a meeting point that decides has first heard, in the
 * same attempt, from all living members that none has seen a decision, and from then on they accept
 * only decisions of this or a later attempt.
 *
 * When members are dead the result is an error, and members that have not called yet are not waited
 * for: they are asked (QUERY) and answer ABSENT.  The same applies when a member stops waiting
 * (collective_cancel.c).
 *
 * A decision is kept until every member has it, as shown by `low` (up) and `stable` (down) of later
 * operations of the series, or until the owner is forgotten (forget.c).
 *
 * Cost per hop: O(radix) per attempt, O(1) per contribution plus its merge.
 */
#include "config.h"

#include "overlay/collective.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/large.h"
#include "overlay/limits.h"
#include "overlay/series.h"
#include "overlay/stream.h"

#define HELD_FROM_BYTES 256 /* a decision of this size is sent only on request */

/* ---- sending ---- */

static struct wire_bytes bytes_of(const struct message *payload)
{
    if (payload == NULL)
        return (struct wire_bytes){NULL, 0};
    return (struct wire_bytes){payload->data, payload->length_bytes};
}

void collective_send_query(struct overlay *overlay, const struct series *series,
                           const struct operation *operation, uint32_t place,
                           enum overlay_want want)
{
    const struct child *child = membership_linked(overlay, place);
    struct overlay_query query = {.key = operation_key(series, operation),
                                  .set = series->set,
                                  .within = {0, ranges_max(&series->set)},
                                  .want = (uint8_t)want,
                                  .lossy = series_has_dead(overlay, series)};
    struct ranges slice = {0};
    struct frame frame;

    if (series->is_long) {
        series_slice(&series->set, child->range, &slice);
        query.set = slice;
        query.within = child->range;
    }
    overlay_encode_query(&query, operation->attempt, &frame);
    overlay_send(overlay, place, &frame);
    ranges_fini(&slice);
}

static void encode_release(const struct series *series, const struct operation *operation,
                           struct frame *ret_frame)
{
    struct overlay_release release = {.key = operation_key(series, operation),
                                      .status = operation->status,
                                      .stable = series->stable,
                                      .lost = operation->lost,
                                      .payload = bytes_of(operation->result)};

    if (series->key.target == ENDPOINT_TARGET_ROOT)
        release.payload = (struct wire_bytes){NULL, 0}; /* members get the status only */
    overlay_encode_release(&release, operation->attempt, ret_frame);
}

/* Answers every part in this attempt that may not know the decision yet. */
static void release_parts(struct overlay *overlay, const struct series *series,
                          struct operation *operation)
{
    struct frame frame = {.payload = NULL};

    for (uint32_t i = 0; i < operation->parts_count; i++) {
        struct part *part = &operation->parts[i];
        const struct child *child = &overlay->children[i];

        if (part->answered || !operation_part_counts(part) || child->state != CHILD_LINKED)
            continue;
        if (frame.payload == NULL)
            encode_release(series, operation, &frame);
        assert(operation_is_decided(operation));
        part->answered = true;
        overlay_send_copy(overlay, child->head, &frame);
    }
    message_release(frame.payload);
}

void collective_release_child(struct overlay *overlay, const struct series *series,
                              struct operation *operation, uint32_t index)
{
    struct frame frame;

    encode_release(series, operation, &frame);
    operation_part(overlay, operation, index)->answered = true;
    overlay_send(overlay, overlay->children[index].head, &frame);
}

bool collective_can_contribute(const struct overlay *overlay, const struct series *series)
{
    return !series_meets_here(overlay, series) && join_has_parent(overlay) &&
           overlay_is_ready(overlay);
}

static void send_decided(struct overlay *overlay, struct series *series,
                         struct operation *operation, bool whole)
{
    struct overlay_contribute contribute = {.key = operation_key(series, operation),
                                            .set = series_set_to_tell(overlay, series),
                                            .state = OVERLAY_PART_DECIDED,
                                            .low = operation->generation,
                                            .status = operation->status,
                                            .lost = operation->lost,
                                            .payload = bytes_of(operation->result)};
    struct frame frame;

    assert(operation->phase == OPERATION_DECIDED); /* large results are not sent this way */
    if (!whole && contribute.payload.length_bytes > HELD_FROM_BYTES) {
        contribute.state = OVERLAY_PART_HELD;
        contribute.payload = (struct wire_bytes){NULL, 0};
    }
    overlay_encode_contribute(&contribute, operation->attempt, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
    operation->sent = operation->attempt;
}

/* ---- merging ---- */

void collective_merge_one(struct overlay *overlay, const struct series *series,
                          struct buffer *merged, struct wire_bytes payload)
{
    if (payload.length_bytes == 0)
        return;
    if (merged->length_bytes == 0)
        buffer_append(merged, payload.data, payload.length_bytes);
    else
        overlay->merges[series->key.merge](merged, payload.data, payload.length_bytes);
}

/* Own first, then the children in ascending order: ascending places.  Returns the status if it were
 * decided now: there is no payload if members are lost or it is too large. */
static uint8_t merge_all(struct overlay *overlay, const struct series *series,
                         const struct operation *operation, struct buffer *merged)
{
    uint8_t status = OVERLAY_STATUS_OK;

    if (series_has_dead(overlay, series))
        return OVERLAY_STATUS_LOST;
    if (operation->cancel != CANCEL_NONE)
        return OVERLAY_STATUS_TIMED_OUT;
    collective_merge_one(overlay, series, merged, bytes_of(operation->own));
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        collective_merge_one(overlay, series, merged, operation->parts[i].payload);
        if (operation->parts[i].status == OVERLAY_STATUS_TOO_LARGE ||
            merged->length_bytes > ENDPOINT_PAYLOAD_BYTES_MAX)
            status = OVERLAY_STATUS_TOO_LARGE;
    }
    if (merged->length_bytes > ENDPOINT_PAYLOAD_BYTES_MAX)
        status = OVERLAY_STATUS_TOO_LARGE;
    if (large_bytes(operation) > STREAM_BYTES_MAX)
        status = OVERLAY_STATUS_TOO_LARGE;
    if (status != OVERLAY_STATUS_OK)
        buffer_clear(merged);
    return status;
}

uint32_t collective_low(const struct overlay *overlay, const struct series *series,
                        const struct operation *operation)
{
    uint32_t low = operation->generation;

    if (series_is_member(overlay, series) && generation_before(series_low(overlay, series), low))
        low = series_low(overlay, series);
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        const struct part *part = &operation->parts[i];

        if (part->state != OVERLAY_PART_NONE && generation_before(part->low, low))
            low = part->low;
    }
    return low;
}

/* ---- deciding and forgetting ---- */

/* Delivers the result once: when it is decided, or when it is called after that. */
static void deliver_result(struct overlay *overlay, const struct series *series,
                           const struct operation *operation)
{
    bool at_root = series->key.target == ENDPOINT_TARGET_ROOT && overlay_is_root(overlay);
    struct overlay_action *action;

    assert(operation_is_decided(operation));
    if (!operation->called && !(at_root && !series_is_member(overlay, series)))
        return;
    overlay->collective.calls -= operation->called;
    action = overlay_act(overlay, OVERLAY_ACTION_RESULT);
    action->key = operation_key(series, operation);
    action->status = overlay_status_errno(operation->status);
    ranges_copy(&action->places, &operation->lost);
    if (operation->stream != NULL)
        action->payload = stream_merge(operation->stream, overlay->merges[series->key.merge]);
    else if (series->key.target == ENDPOINT_TARGET_ALL || at_root)
        action->payload = message_reference(operation->result);
}

void collective_raise_stable(struct overlay *overlay, struct series *series, uint32_t stable)
{
    /* A peer's error must not lose operations that we have yet to hear of. */
    if (series_is_member(overlay, series) && generation_before(series_low(overlay, series), stable))
        stable = series_low(overlay, series);
    if (generation_before(series->stable, stable)) {
        series->stable = stable;
        series_drop_stable(overlay, series);
    }
}

void collective_drop_payloads(struct operation *operation)
{
    for (uint32_t i = 0; i < operation->parts_count && !operation_is_going(operation); i++) {
        struct part *part = &operation->parts[i];

        part->dropped |= part->frame != NULL;
        message_release(part->frame);
        part->frame = NULL;
        part->payload = (struct wire_bytes){NULL, 0};
    }
}

void collective_settle(struct overlay *overlay, struct series *series, struct operation *operation,
                       uint8_t status, struct ranges *lost, struct message *result)
{
    operation_step(operation, OPERATION_EVENT_DECISION);
    series_count_open(overlay, series, -1);
    stall_probe_decided(overlay, series, operation);
    operation->status = status;
    ranges_move(&operation->lost, lost);
    operation->result = result;
    message_release(operation->own);
    operation->own = NULL;
    collective_drop_payloads(operation);
    operation_check(overlay, series, operation);
    deliver_result(overlay, series, operation);
}

static struct message *message_of(struct wire_bytes payload)
{
    if (payload.length_bytes == 0)
        return NULL;
    return message_create(payload.data, payload.length_bytes);
}

/* The meeting point has heard from all, and none has seen a decision. */
static void decide_operation(struct overlay *overlay, struct series *series,
                             struct operation *operation)
{
    uint32_t low = collective_low(overlay, series, operation);
    struct buffer merged = {0};
    struct ranges lost = {0};
    uint8_t status = merge_all(overlay, series, operation, &merged);
    struct message *result = NULL;

    /* I3: all living members have reported, in this attempt, that they have seen no decision. */
    assert(operation->waiting == 0 && operation->attempt == series->attempt);
    ranges_intersect(&series->set, &overlay->dead, &lost);
    if (merged.length_bytes > 0)
        result = message_from_buffer(&merged);
    buffer_fini(&merged);
    collective_settle(overlay, series, operation, status, &lost, result);
    ranges_fini(&lost);
    if (generation_before(series->stable, low))
        series->stable = low; /* older ones are dropped after the release, by the caller */
}

static bool somebody_is_absent(const struct overlay *overlay, const struct series *series,
                               const struct operation *operation)
{
    if (series_is_member(overlay, series) && !operation->called)
        return true;
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        if (operation->parts[i].state == OVERLAY_PART_ABSENT)
            return true;
    }
    return false;
}

/* The number sent instead of a payload. */
static void put_bytes(struct overlay_contribute *contribute, enum overlay_part_state state,
                      uint64_t bytes, struct buffer *out)
{
    contribute->state = (uint8_t)state;
    buffer_clear(out);
    stream_put_size(bytes, out);
}

/* Fills in state, status and payload of a contribution to our parent. */
static void collect_parts(struct overlay *overlay, struct series *series,
                          struct operation *operation, struct overlay_contribute *contribute,
                          struct buffer *out)
{
    contribute->state = OVERLAY_PART_COLLECTED;
    if (large_is_held(operation))
        put_bytes(contribute, OVERLAY_PART_STORED, large_bytes(operation), out);
    else if (somebody_is_absent(overlay, series, operation))
        contribute->state = OVERLAY_PART_ABSENT;
    else if (series->key.target == ENDPOINT_TARGET_ROOT ||
             operation_is_hopeless(overlay, series, operation))
        contribute->status = merge_all(overlay, series, operation, out);
    else if (!large_fold(overlay, series, operation, out))
        put_bytes(contribute, OVERLAY_PART_SIZED, large_bytes(operation), out);
}

static void send_collected(struct overlay *overlay, struct series *series,
                           struct operation *operation)
{
    struct overlay_contribute contribute = {.key = operation_key(series, operation),
                                            .set = series_set_to_tell(overlay, series),
                                            .low = collective_low(overlay, series, operation)};
    struct buffer out = {0};
    struct frame frame;

    assert(operation->sent != operation->attempt && operation->waiting == 0); /* once per attempt */
    collect_parts(overlay, series, operation, &contribute, &out);
    contribute.payload = (struct wire_bytes){out.data, out.length_bytes};
    overlay_encode_contribute(&contribute, operation->attempt, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
    operation->sent = operation->attempt;
    operation->offered = large_bytes_said(&contribute);
    buffer_fini(&out);
    collective_drop_payloads(operation);
}

/* A hop without a living member at or below it is not waited for. */
static bool has_voice(const struct overlay *overlay, const struct series *series,
                      const struct operation *operation)
{
    if (series_is_member(overlay, series))
        return true;
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        if (operation->parts[i].state != OVERLAY_PART_NONE)
            return true;
    }
    return false;
}

/* The meeting point has heard from all. */
static void conclude_operation(struct overlay *overlay, struct series *series,
                               struct operation *operation)
{
    struct buffer folded = {0};
    bool small = true;

    if (large_is_held(operation)) {
        small = false;
    } else if (series->key.target == ENDPOINT_TARGET_ALL &&
               !operation_is_hopeless(overlay, series, operation)) {
        small = large_fold(overlay, series, operation, &folded) ||
                large_bytes(operation) > STREAM_BYTES_MAX ||
                (operation->pieces_count == 1 && operation->pieces[0].child == PIECE_OWN &&
                 large_is_better_released(overlay, series, large_bytes(operation)));
    }
    buffer_fini(&folded);
    if (small) {
        decide_operation(overlay, series, operation);
        large_reset(overlay, operation);
    } else {
        large_go(overlay, series, operation);
    }
}

void collective_advance(struct overlay *overlay, struct series *series, struct operation *operation)
{
    operation_check(overlay, series, operation);
    if (operation_is_over(operation))
        large_tell_over(overlay, series, operation);
    if (operation_is_over(operation) || operation_is_going(operation))
        return;
    if (operation->phase != OPERATION_DECIDED && operation->waiting == 0 &&
        series_meets_here(overlay, series))
        conclude_operation(overlay, series, operation);
    if (operation_is_going(operation))
        return;
    if (operation->phase == OPERATION_DECIDED) {
        release_parts(overlay, series, operation);
        if (operation->sent != operation->attempt && collective_can_contribute(overlay, series))
            send_decided(overlay, series, operation, false);
        series_drop_stable(overlay, series);
        return;
    }
    collective_cancel_tell(overlay, series,
                           operation); /* before the contribution that it explains */
    if (operation->waiting == 0 && operation->sent != operation->attempt &&
        has_voice(overlay, series, operation) && collective_can_contribute(overlay, series))
        send_collected(overlay, series, operation);
}

/* ---- attempts ---- */

void collective_query_child(struct overlay *overlay, const struct series *series,
                            struct operation *operation, uint32_t index)
{
    const struct child *child = &overlay->children[index];

    bool is_asked =
        !operation_is_decided(operation) && (operation_is_hopeless(overlay, series, operation) ||
                                             (series->is_long && operation->attempt > 0));

    /* If a member stores the result, others may have ended it so long ago that they do not
     * answer. */
    if (child->state == CHILD_LINKED && !operation_is_over(operation) &&
        (is_asked || (operation->attempt > 0 && large_is_held(operation))) &&
        series_suffices(overlay, series) && series_expects(overlay, series, child) &&
        !operation_part_counts(operation_part(overlay, operation, index)))
        collective_send_query(overlay, series, operation, child->head,
                              operation->cancel != CANCEL_NONE ? OVERLAY_WANT_CANCEL
                                                               : OVERLAY_WANT_NOTHING);
}

/* Counts the contributors still awaited in this attempt, and queries those that must be asked. */
static void count_waiting(struct overlay *overlay, const struct series *series,
                          struct operation *operation)
{
    operation->waiting = WAITING_UNKNOWN;
    if (!series_suffices(overlay, series))
        return;
    operation->waiting = series_is_member(overlay, series) && !operation->called &&
                         !operation_is_hopeless(overlay, series, operation);
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        const struct part *part = operation_part(overlay, operation, i);

        if (!operation_part_counts(part) && series_expects(overlay, series, &overlay->children[i]))
            operation->waiting++;
        collective_query_child(overlay, series, operation, i);
    }
}

void collective_restart(struct overlay *overlay, struct series *series, struct operation *operation)
{
    large_reset(overlay, operation);
    operation->attempt = series->attempt;
    operation->sent = ATTEMPT_NONE;
    for (uint32_t i = 0; i < overlay->children_count; i++)
        operation_part_clear(operation_part(overlay, operation, i));
    count_waiting(overlay, series, operation);
    operation_check(overlay, series, operation);
}

/* Learns a set, or part of it, perhaps from a query of our parent; after that enough may be known
 * of it. -EBADMSG if it cannot be the same set. */
static int series_learn(struct overlay *overlay, struct series *series, const struct ranges *set,
                        struct range within, const struct overlay_query *query, uint32_t attempt)
{
    bool suffices = series_suffices(overlay, series);
    struct operation *next;

    if (series_tell(overlay, series, set, within) < 0)
        return -EBADMSG;
    if (query != NULL)
        series_judge(series, attempt, query->lossy != 0);
    if (suffices || !series_suffices(overlay, series))
        return 0;
    for (struct operation *operation = series->operations; operation != NULL; operation = next) {
        next = operation->next;
        if (operation_is_over(operation) || operation_is_going(operation))
            continue;
        count_waiting(overlay, series, operation);
        collective_advance(overlay, series, operation);
    }
    return 0;
}

/* Finds or makes the record of an operation; NULL if it has ended. */
static struct operation *operation_open(struct overlay *overlay, struct series *series,
                                        uint32_t generation)
{
    struct operation **link = &series->operations;
    struct operation *operation;

    if (generation_before(generation, series->stable))
        return NULL;
    while (*link != NULL && generation_before((*link)->generation, generation))
        link = &(*link)->next;
    if (*link != NULL && (*link)->generation == generation)
        return *link;
    operation = memory_allocate_zeroed(sizeof(*operation));
    operation->generation = generation;
    operation->phase = OPERATION_OPEN;
    operation->next = *link;
    *link = operation;
    series->count++;
    series_count_open(overlay, series, 1);
    collective_restart(overlay, series, operation);
    stall_probe_progress(overlay, operation);
    return operation;
}

static void refuse_call(struct overlay *overlay, const struct operation_name *key, int status)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_RESULT);

    action->key = *key;
    action->status = status;
}

void collective_contribute(struct overlay *overlay, const struct overlay_event *event)
{
    struct series *series = series_find(overlay, &event->key);
    struct operation *operation;

    assert(event->key.target < ENDPOINT_TARGET_COUNT && event->key.merge < overlay->merges_count);
    assert(ranges_contains(event->set, overlay->place) &&
           ranges_max(event->set) < overlay->population);
    if (forget_is_done(overlay, event->key.owner))
        return; /* its owner has been forgotten */
    if (overlay->collective.calls == OVERLAY_CALLS_MAX ||
        (series != NULL && series->count - series->undecided >= OVERLAY_DECIDED_MAX &&
         series_operation(series, event->key.generation) == NULL)) {
        refuse_call(overlay, &event->key, -EAGAIN);
        return;
    }
    if (series == NULL)
        series = series_create(overlay, &event->key, event->set, SERIES_WHOLE);
    else if (series_learn(overlay, series, event->set, SERIES_WHOLE, NULL, 0) < 0) {
        refuse_call(overlay, &event->key, -EEXIST);
        return;
    }
    operation = operation_open(overlay, series, event->key.generation);
    if (operation == NULL || operation->called) {
        refuse_call(overlay, &event->key, -EINVAL);
        return;
    }
    operation->called = true;
    overlay->collective.calls++;
    if (generation_before(series->called_to, event->key.generation))
        series->called_to = event->key.generation;
    if (operation_is_decided(operation)) {
        deliver_result(overlay, series, operation);
        series_trim(overlay, series);
        return;
    }
    operation->own = message_reference(event->payload);
    if (series_is_member(overlay, series) && !operation_is_hopeless(overlay, series, operation))
        operation_count_down(operation);
    stall_probe_progress(overlay, operation);
    collective_advance(overlay, series, operation);
}

/* ---- frames ---- */

static bool is_sane(const struct overlay *overlay, const struct operation_name *key,
                    const struct ranges *set)
{
    return !ranges_is_empty(set) && ranges_max(set) < overlay->population &&
           key->merge < overlay->merges_count;
}

/* The series of a peer's frame, made if necessary; NULL with *ret_rc < 0 if the frame is invalid,
 * with 0 if it must be ignored.  query: of our parent, or NULL. */
static struct series *series_of_frame(struct overlay *overlay, const struct operation_name *key,
                                      const struct ranges *set, const struct overlay_query *query,
                                      uint32_t attempt, int *ret_rc)
{
    struct range within = query != NULL ? query->within : SERIES_WHOLE;
    struct range covering;
    struct series *series;

    *ret_rc = 0;
    if (ranges_is_empty(set)) /* it was sent before; if it is forgotten, so is the operation */
        return series_find(overlay, key);
    *ret_rc = is_sane(overlay, key, set) ? 0 : -EBADMSG;
    if (*ret_rc < 0 || forget_is_under_way(overlay, key->owner))
        return NULL;
    series = series_find(overlay, key);
    covering = series_covering(overlay, key, set);
    if (overlay->place < covering.first || overlay->place > covering.last)
        return NULL; /* does not concern us, by our tree */
    if (series == NULL)
        series = series_create(overlay, key, set, within);
    *ret_rc = series_learn(overlay, series, set, within, query, attempt);
    return *ret_rc < 0 ? NULL : series;
}

struct operation *collective_open(struct overlay *overlay, const struct operation_name *key,
                                  const struct ranges *set, struct series **ret_series, int *ret_rc)
{
    *ret_series = series_of_frame(overlay, key, set, NULL, 0, ret_rc);
    return *ret_series != NULL ? operation_open(overlay, *ret_series, key->generation) : NULL;
}

int collective_open_named(struct overlay *overlay, const struct frame *frame,
                          struct series **ret_series, struct operation **ret_operation)
{
    struct overlay_roll_call call;
    int rc = overlay_decode_named(frame, &call);

    *ret_operation = NULL;
    if (rc < 0)
        return rc;
    *ret_operation = collective_open(overlay, &call.key, &call.set, ret_series, &rc);
    overlay_roll_call_fini(&call);
    return rc;
}

/* A child range reports that the operation is decided. */
static void take_decision(struct overlay *overlay, struct series *series,
                          struct operation *operation, struct overlay_contribute *contribute,
                          uint32_t from)
{
    if (operation_is_decided(operation))
        return;
    if (contribute->state == OVERLAY_PART_HELD) {
        collective_send_query(overlay, series, operation, from, OVERLAY_WANT_RESULT);
        return;
    }
    large_reset(overlay, operation);
    collective_settle(overlay, series, operation, contribute->status, &contribute->lost,
                      message_of(contribute->payload));
    collective_advance(overlay, series, operation);
}

static void take_part(struct overlay *overlay, struct series *series, struct operation *operation,
                      struct overlay_contribute *contribute, const struct frame *frame,
                      uint32_t from)
{
    uint32_t index = (uint32_t)(membership_linked(overlay, from) - overlay->children);
    struct part *part = operation_part(overlay, operation, index);
    bool heard = operation_part_counts(part);

    if (operation_is_over(operation) && contribute->state == OVERLAY_PART_STORED)
        large_answer_ended(overlay, series, operation->generation, from);
    if (operation_is_over(operation) || operation_is_going(operation))
        return;
    operation_part_clear(part);
    part->state = (enum overlay_part_state)contribute->state;
    part->low = contribute->low;
    part->status = contribute->status;
    if (part->state == OVERLAY_PART_OVER) {
        if (large_may_be_over(overlay, series, operation))
            large_take_over(overlay, series, operation);
        return;
    }
    if (part->state == OVERLAY_PART_SIZED || part->state == OVERLAY_PART_STORED) {
        part->bytes = large_bytes_said(contribute);
    } else if (contribute->payload.length_bytes > 0 && !operation_is_decided(operation)) {
        part->frame = message_reference(frame->payload);
        part->payload = contribute->payload;
    }
    if (part->state == OVERLAY_PART_HELD || part->state == OVERLAY_PART_DECIDED) {
        take_decision(overlay, series, operation, contribute, from);
        return;
    }
    for (uint32_t i = 0; i < overlay->children_count && part->state == OVERLAY_PART_STORED; i++)
        collective_query_child(overlay, series, operation, i);
    if (!heard && series_expects(overlay, series, &overlay->children[index]))
        operation_count_down(operation);
    stall_probe_progress(overlay, operation);
    collective_advance(overlay, series, operation);
}

int collective_on_contribute(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_contribute contribute;
    struct operation *operation;
    struct series *series;
    int rc = overlay_decode_contribute(frame, &contribute);

    if (rc < 0)
        return rc;
    if (!large_is_said_well(&contribute)) {
        overlay_contribute_fini(&contribute);
        return -EBADMSG;
    }
    series = series_of_frame(overlay, &contribute.key, &contribute.set, NULL, 0, &rc);
    /* Lower: it will be sent again.  Higher is impossible: the log reaches a parent first. */
    if (series != NULL && frame->attempt == series->attempt) {
        operation = operation_open(overlay, series, contribute.key.generation);
        /* Absent members are skipped only if all places above know why. */
        if (operation != NULL && !operation_is_decided(operation) &&
            !operation_is_over(operation) && contribute.state == OVERLAY_PART_ABSENT &&
            series_suffices(overlay, series) && !operation_is_hopeless(overlay, series, operation))
            rc = -EBADMSG;
        else if (operation != NULL && !operation_is_over(operation) &&
                 contribute.state == OVERLAY_PART_OVER && !operation_is_decided(operation) &&
                 series_is_member(overlay, series))
            rc = -EBADMSG;
        else if (operation == NULL && contribute.state == OVERLAY_PART_STORED)
            large_answer_ended(overlay, series, contribute.key.generation, from);
        else if (operation != NULL)
            take_part(overlay, series, operation, &contribute, frame, from);
    }
    overlay_contribute_fini(&contribute);
    return rc;
}

int collective_on_query(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_query query;
    struct operation *operation;
    struct series *series;
    int rc = overlay_decode_query(frame, &query);

    (void)from;
    if (rc < 0)
        return rc;
    series = series_of_frame(overlay, &query.key, &query.set, &query, frame->attempt, &rc);
    operation = series != NULL ? operation_open(overlay, series, query.key.generation) : NULL;
    if (series != NULL && operation == NULL && series->key.target == ENDPOINT_TARGET_ALL)
        large_tell_ended(overlay, series, query.key.generation);
    if (operation != NULL && query.want == OVERLAY_WANT_RESULT &&
        operation->phase == OPERATION_DECIDED && collective_can_contribute(overlay, series)) {
        send_decided(overlay, series, operation, true);
    } else if (operation != NULL && query.want == OVERLAY_WANT_CANCEL &&
               operation->cancel == CANCEL_NONE && !operation_is_decided(operation)) {
        collective_cancel_take(overlay, series, operation, CANCEL_TOLD);
    } else if (operation != NULL) {
        if (operation_is_decided(operation) && series->is_long)
            operation->sent = ATTEMPT_NONE; /* our parent may not have known the series' name */
        collective_advance(overlay, series, operation);
    }
    overlay_query_fini(&query);
    return rc;
}

int collective_on_release(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_release release;
    struct operation *operation = NULL;
    struct series *series;
    int rc = overlay_decode_release(frame, &release);

    (void)from;
    if (rc == 0 && generation_before(release.key.generation, release.stable)) {
        overlay_release_fini(&release);
        rc = -EBADMSG;
    }
    if (rc < 0)
        return rc;
    series = series_find(overlay, &release.key);
    if (series != NULL) {
        series_heard(series, frame->attempt);
        operation = series_operation(series, release.key.generation);
    }
    if (operation != NULL && !operation_is_decided(operation) && !operation_is_over(operation) &&
        frame->attempt >= operation->attempt) { /* I2 */
        operation->sent = operation->attempt;   /* the parent has it */
        large_reset(overlay, operation);
        collective_settle(overlay, series, operation, release.status, &release.lost,
                          message_of(release.payload));
        collective_raise_stable(overlay, series, release.stable);
        collective_advance(overlay, series, operation);
    } else if (series != NULL) {
        collective_raise_stable(overlay, series, release.stable);
    }
    if (series != NULL)
        series_trim(overlay, series);
    overlay_release_fini(&release);
    return 0;
}
