/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the missing members of an operation.  A hop contributes when all below it have, so the
 * meeting point may not even know of an exchange that waits everywhere.  A hop that has waited for
 * a while without progress therefore reports that to its parent (STALLED), once, and so on up to
 * the meeting point.
 *
 * The meeting point then asks (ROLL_CALL) those child ranges below it that have not been heard
 * from; each hop asks the same below itself and merges the answers (ROLL) into three sets of
 * members: alive but not called, not joined, and silent, which are those whose hop did not answer
 * in time.  A hop has three quarters of the time of the one above it, so a place that does not
 * answer is named by the hop next to it.
 *
 * The answer is bounded: a limited number of ranges of each set, and the number of further members.
 * A roll call changes nothing in the operation; lost messages are made up for by the next one.
 * Cost: none while operations make progress; per roll call a message each way per link that is
 * waited for. Messages of the operation itself are repeated, by the same clock, in retell.c.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "overlay/collective.h"
#include "overlay/series.h"

#define ROLL_CALLS_MAX  64 /* open at a place; more are not answered */
#define PATIENCE_NS     (1000 * 1000000ull)
#define PATIENCE_MAX_NS (60000 * 1000000ull)
#define TOLD_MAX        6 /* how often the time between two roll calls of an operation doubles */

struct roll {
    struct roll *next;
    struct operation_name key;
    struct ranges set;
    bool is_ours;        /* we are the meeting point: it is reported by an upcall */
    uint64_t due_ns;     /* places without an answer by then are silent */
    struct ranges asked; /* indices of child ranges that have not answered */
    struct overlay_roll result;
};

void stall_probe_check(const struct overlay *overlay)
{
    const struct stall_probe *stall_probe = &overlay->stall_probe;

    assert((stall_probe->count == 0) == (stall_probe->first == NULL));
    assert(stall_probe->count <= ROLL_CALLS_MAX);
    assert(stall_probe->first == NULL || !ranges_is_empty(&stall_probe->first->asked));
}

static void roll_destroy(struct roll *roll)
{
    ranges_fini(&roll->set);
    ranges_fini(&roll->asked);
    overlay_roll_fini(&roll->result);
    free(roll);
}

static bool keys_equal(const struct operation_name *a, const struct operation_name *b)
{
    return a->set_id == b->set_id && a->owner == b->owner && a->generation == b->generation &&
           a->kind == b->kind && a->merge == b->merge && a->target == b->target;
}

static struct roll *roll_find(const struct overlay *overlay, const struct operation_name *key)
{
    struct roll *roll = overlay->stall_probe.first;

    while (roll != NULL && !keys_equal(&roll->key, key))
        roll = roll->next;
    return roll;
}

/* ---- what is known ---- */

/* Keeps the first ranges of a set; returns the number of places dropped. */
static uint64_t bound_set(struct ranges *set)
{
    uint64_t before = ranges_count(set);

    if (set->count > ENDPOINT_MISSING_RANGES_MAX)
        ranges_clip(set, 0, set->items[ENDPOINT_MISSING_RANGES_MAX - 1].last);
    return before - ranges_count(set);
}

/* Adds the answer of a child range. */
static void merge_missing(struct endpoint_missing *sum, struct endpoint_missing *part,
                          struct range range)
{
    ranges_clip(&part->absent, range.first, range.last);
    ranges_clip(&part->unjoined, range.first, range.last);
    ranges_clip(&part->silent, range.first, range.last);
    ranges_add_all(&sum->absent, &part->absent);
    ranges_add_all(&sum->unjoined, &part->unjoined);
    ranges_add_all(&sum->silent, &part->silent);
    sum->more += part->more;
}

/* ---- the end of one ---- */

static void tell_upward(struct overlay *overlay, const struct roll *roll)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_MISSING);
    struct frame frame;

    action->key = roll->key;
    ranges_copy(&action->places, &roll->set);
    overlay_encode_roll(&roll->result, &frame);
    action->payload = frame.payload;
}

/* It has ended meanwhile, and that has been reported to those notified of the stall. */
static bool is_settled(const struct overlay *overlay, const struct roll *roll)
{
    const struct series *series = series_find(overlay, &roll->key);
    const struct operation *operation =
        series != NULL ? series_operation(series, roll->key.generation) : NULL;

    return operation != NULL && operation_is_decided(operation) && operation->stalls > 0;
}

static void roll_finish(struct overlay *overlay, struct roll *roll)
{
    struct roll **link = &overlay->stall_probe.first;
    struct endpoint_missing *missing = &roll->result.missing;
    struct frame frame;

    while (*link != roll)
        link = &(*link)->next;
    *link = roll->next;
    overlay->stall_probe.count--;
    assert(ranges_is_empty(&roll->asked) || overlay->now_ns >= roll->due_ns);
    missing->more +=
        bound_set(&missing->absent) + bound_set(&missing->unjoined) + bound_set(&missing->silent);
    if (missing->more > UINT32_MAX)
        missing->more = UINT32_MAX; /* only a peer's error can cause it */
    if (roll->is_ours) {
        if (!is_settled(overlay, roll))
            tell_upward(overlay, roll);
    } else if (join_has_parent(overlay)) {
        overlay_encode_roll(&roll->result, &frame);
        overlay_send(overlay, overlay->join.target, &frame);
    }
    roll_destroy(roll);
}

/* Adds the living members of a range to one of the sets. */
static void add_members(const struct overlay *overlay, const struct roll *roll, struct range range,
                        struct ranges *set)
{
    struct ranges members = {0};

    ranges_copy(&members, &roll->set);
    ranges_clip(&members, range.first, range.last);
    ranges_remove_all(&members, &overlay->dead);
    ranges_add_all(set, &members);
    ranges_fini(&members);
}

/* ---- the beginning ---- */

static bool has_members(const struct overlay *overlay, const struct roll *roll, struct range range)
{
    struct ranges members = {0};
    bool any;

    add_members(overlay, roll, range, &members);
    any = !ranges_is_empty(&members);
    ranges_fini(&members);
    return any;
}

static void ask_child(struct overlay *overlay, struct roll *roll, uint32_t index,
                      uint64_t patience_ns)
{
    const struct child *child = &overlay->children[index];
    struct overlay_roll_call call = {
        .key = roll->key, .set = roll->set, .patience_ns = patience_ns / 4 * 3};
    struct ranges slice = {0};
    struct frame frame;

    if (child->state == CHILD_EMPTY) {
        add_members(overlay, roll, child->range, &roll->result.missing.unjoined);
    } else if (child->state != CHILD_LINKED) {
        add_members(overlay, roll, child->range, &roll->result.missing.silent);
    } else {
        ranges_add(&roll->asked, index, index);
        series_slice(&roll->set, child->range, &slice);
        if (slice.count < roll->set.count / 2) /* they need no more, but the whole set is clearer */
            call.set = slice;
        overlay_encode_roll_call(&call, &frame);
        overlay_send(overlay, child->head, &frame);
        ranges_fini(&slice);
    }
}

/* Whether a place below that has not been heard from is waited for.  operation: ours, may be
 * NULL. */
static bool is_waited_for(const struct operation *operation, uint32_t index)
{
    return operation == NULL || (!operation_is_decided(operation) &&
                                 (index >= operation->parts_count ||
                                  operation->parts[index].state == OVERLAY_PART_NONE));
}

static void roll_start(struct overlay *overlay, const struct operation_name *key,
                       const struct ranges *set, bool is_ours, uint64_t patience_ns)
{
    const struct series *series = series_find(overlay, key);
    const struct operation *operation =
        series != NULL ? series_operation(series, key->generation) : NULL;
    struct roll *roll;

    if (roll_find(overlay, key) != NULL || overlay->stall_probe.count == ROLL_CALLS_MAX)
        return;
    assert(!ranges_is_empty(set) && (!is_ours || series != NULL));
    roll = memory_allocate_zeroed(sizeof(*roll));
    roll->key = *key;
    roll->result.key = *key;
    roll->is_ours = is_ours;
    roll->due_ns = overlay->now_ns + patience_ns;
    ranges_copy(&roll->set, set);
    roll->next = overlay->stall_probe.first;
    overlay->stall_probe.first = roll;
    overlay->stall_probe.count++;
    if (ranges_contains(set, overlay->place) && (operation == NULL || !operation->called))
        ranges_add(&roll->result.missing.absent, overlay->place, overlay->place);
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (is_waited_for(operation, i) && has_members(overlay, roll, overlay->children[i].range))
            ask_child(overlay, roll, i, patience_ns);
    }
    if (ranges_is_empty(&roll->asked))
        roll_finish(overlay, roll);
}

/* ---- frames ---- */

int stall_probe_on_call(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_roll_call call;

    (void)from;
    if (overlay_decode_roll_call(frame, &call) < 0)
        return -EBADMSG;
    if (ranges_is_empty(&call.set) || ranges_max(&call.set) >= overlay->population ||
        call.patience_ns > PATIENCE_MAX_NS) {
        overlay_roll_call_fini(&call);
        return -EBADMSG;
    }
    /* A forgotten set gets no answer: the asking place will get the FORGET, too. */
    if (!forget_is_under_way(overlay, call.key.owner) && !forget_is_done(overlay, call.key.owner))
        roll_start(overlay, &call.key, &call.set, false, call.patience_ns);
    overlay_roll_call_fini(&call);
    return 0;
}

int stall_probe_on_roll(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    const struct child *child = membership_linked(overlay, from);
    uint32_t index = (uint32_t)(child - overlay->children);
    struct overlay_roll answer;
    struct roll *roll;

    if (overlay_decode_roll(frame, &answer) < 0)
        return -EBADMSG;
    roll = roll_find(overlay, &answer.key);
    if (roll != NULL && ranges_contains(&roll->asked, index)) {
        ranges_remove(&roll->asked, index, index);
        merge_missing(&roll->result.missing, &answer.missing, child->range);
        if (ranges_is_empty(&roll->asked))
            roll_finish(overlay, roll);
    }
    overlay_roll_fini(&answer);
    return 0;
}

/* ---- time ---- */

void stall_probe_progress(struct overlay *overlay, struct operation *operation)
{
    uint64_t due_ns = overlay->now_ns + overlay->stall_ns;

    if (operation_is_decided(operation) && !operation_is_stored(operation))
        return;
    operation->progress_ns = overlay->now_ns;
    if (due_ns < overlay->stall_probe.watch_ns)
        overlay->stall_probe.watch_ns = due_ns;
}

void stall_probe_decided(struct overlay *overlay, const struct series *series,
                         struct operation *operation)
{
    struct overlay_action *action;

    if (operation->stalls == 0 || series->key.target != ENDPOINT_TARGET_ALL ||
        !series_meets_here(overlay, series))
        return;
    action = overlay_act(overlay, OVERLAY_ACTION_MISSING); /* no longer waiting */
    action->key = series->key;
    action->key.generation = operation->generation;
}

/* It waits for a place below, or for our own call. */
static void report_stalled(struct overlay *overlay, struct series *series,
                           struct operation *operation)
{
    struct overlay_roll_call call = {.key = series->key};
    struct frame frame;

    assert(!operation_is_decided(operation) && operation->stalls <= TOLD_MAX);
    if (series->key.target != ENDPOINT_TARGET_ALL)
        return; /* a gather may take as long as a job */
    call.key.generation = operation->generation;
    if (series_meets_here(overlay, series)) {
        roll_start(overlay, &call.key, &series->set, true, PATIENCE_NS);
    } else if (operation->sent != operation->attempt && join_has_parent(overlay) &&
               series_can_tell(overlay, series)) {
        call.set = series_set_to_tell(overlay, series);
        overlay_encode_named(OVERLAY_STALLED, &call, &frame);
        overlay_send(overlay, overlay->join.target, &frame);
    }
}

static void check_operation(struct overlay *overlay, struct series *series,
                            struct operation *operation)
{
    uint64_t due_ns = operation->progress_ns + (overlay->stall_ns << operation->stalls);

    if (operation_is_over(operation) || operation->phase == OPERATION_DECIDED)
        return;
    if (overlay->now_ns >= due_ns) {
        if (operation->stalls < TOLD_MAX)
            operation->stalls++;
        if (!operation_is_decided(operation))
            report_stalled(overlay, series, operation);
        retell_stalled(overlay, series, operation);
        due_ns = operation->progress_ns + (overlay->stall_ns << operation->stalls);
        if (due_ns <= overlay->now_ns)
            due_ns = overlay->now_ns + (overlay->stall_ns << TOLD_MAX);
    }
    if (due_ns < overlay->stall_probe.watch_ns)
        overlay->stall_probe.watch_ns = due_ns;
}

static void check_list(struct overlay *overlay, struct list *list)
{
    struct list_link *spare;
    struct series *series;

    series_for_each(list, series, spare)
    {
        for (struct operation *operation = series->operations; operation != NULL;
             operation = operation->next)
            check_operation(overlay, series, operation);
    }
}

static void check_operations(struct overlay *overlay)
{
    overlay->stall_probe.watch_ns = OVERLAY_NEVER_NS;
    check_list(overlay, &overlay->collective.at_rest); /* some may be stored, and wait for OVER */
    check_list(overlay, &overlay->collective.open);
}

/* A place below waits; we may not know the operation yet. */
int stall_probe_on_stalled(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct operation *operation;
    struct series *series;
    int rc = collective_open_named(overlay, frame, &series, &operation);

    (void)from;
    if (operation != NULL && !operation_is_decided(operation) && operation->stalls == 0) {
        operation->stalls++;
        report_stalled(overlay, series, operation);
    }
    return rc;
}

static void roll_give_up(struct overlay *overlay, struct roll *roll)
{
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (ranges_contains(&roll->asked, i))
            add_members(overlay, roll, overlay->children[i].range, &roll->result.missing.silent);
    }
    roll_finish(overlay, roll);
}

void stall_probe_timer(struct overlay *overlay)
{
    struct roll *next;

    for (struct roll *roll = overlay->stall_probe.first; roll != NULL; roll = next) {
        next = roll->next;
        if (overlay->now_ns >= roll->due_ns)
            roll_give_up(overlay, roll);
    }
    if (overlay->now_ns >= overlay->stall_probe.watch_ns)
        check_operations(overlay);
}

uint64_t stall_probe_deadline_ns(const struct overlay *overlay)
{
    uint64_t deadline_ns = overlay->stall_probe.watch_ns;

    for (const struct roll *roll = overlay->stall_probe.first; roll != NULL; roll = roll->next) {
        if (roll->due_ns < deadline_ns)
            deadline_ns = roll->due_ns;
    }
    return deadline_ns;
}

void stall_probe_ask(struct overlay *overlay, const struct overlay_event *event)
{
    const struct series *series = series_find(overlay, &event->key);

    if (series != NULL && series_meets_here(overlay, series) &&
        series_operation(series, event->key.generation) != NULL)
        roll_start(overlay, &event->key, &series->set, true, PATIENCE_NS);
}

void stall_probe_forget(struct overlay *overlay, uint32_t owner)
{
    struct roll **link = &overlay->stall_probe.first;

    while (*link != NULL) {
        struct roll *roll = *link;

        if (roll->key.owner == owner) {
            *link = roll->next;
            overlay->stall_probe.count--;
            roll_destroy(roll);
        } else {
            link = &roll->next;
        }
    }
}

void stall_probe_fini(struct overlay *overlay)
{
    while (overlay->stall_probe.first != NULL) {
        struct roll *roll = overlay->stall_probe.first;

        overlay->stall_probe.first = roll->next;
        roll_destroy(roll);
    }
}
