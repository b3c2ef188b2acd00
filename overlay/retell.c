/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repetition of lost messages.  Links lose nothing, so everything is sent once.  If a daemon still
 * loses or corrupts a message (by a memory fault, or a bug), that may cost time, or the daemon, but
 * not the operation:
 *
 * - A place that has contributed in an attempt and has waited for long reports that to its parent
 *   (UNANSWERED).  A parent without the contribution asks for it again (AGAIN); one that has decided,
 *   or has sent GO, repeats that.  If the parent has the contribution, it waits itself, and asks its
 *   own parent.
 * - After a death the lower place may already have its result, and wait for nothing.  So then a hop
 *   that has waited for long asks those below that it has not heard from.
 * - A hop that has forwarded data from below has dropped it.  To repeat it, it asks below once more: a
 *   member keeps its own contribution until there is a decision.
 *
 * Anything sent twice in one attempt is identical, so the second copy changes nothing.  If they differ
 * one of the two places is wrong, as when both do not agree on the dead: then the link is closed, the
 * lower one is lost, and all others continue in another attempt.  An operation that all members have
 * ended, as far as the parent knows, but not the asking one, ends there with an error (GONE).
 *
 * Cost: none for an operation that ends within stall_ns; then a message on each of its links, after
 * 5, 10, ... 320 s and every 320 s.
 */
#include "config.h"

#include <errno.h>

#include "base/hash.h"
#include "overlay/collective.h"
#include "overlay/large.h"
#include "overlay/series.h"
#include "overlay/stream.h"

/* Two places in the same attempt must agree on it. */
static uint64_t hash_dead(const struct overlay *overlay, const struct series *series)
{
    struct ranges dead = {0};
    uint64_t hash = 0;

    ranges_copy(&dead, &overlay->dead);
    ranges_clip(&dead, series->covering.first, series->covering.last);
    for (uint32_t i = 0; i < dead.count; i++)
        hash = hash_mix(hash ^ dead.items[i].first ^ (uint64_t)dead.items[i].last << 32);
    ranges_fini(&dead);
    return hash;
}

/* ---- questions ---- */

static void ask_parent(struct overlay *overlay, struct series *series, struct operation *operation)
{
    struct overlay_again again = {.key = operation_key(series, operation),
                                  .dead = hash_dead(overlay, series),
                                  .bytes = operation->offered};
    struct frame frame;

    if (!collective_can_contribute(overlay, series) || !series_can_tell(overlay, series))
        return;
    if (operation->cancel == CANCEL_TOLD)
        operation->cancel = CANCEL_KNOWN;
    collective_cancel_tell(overlay, series, operation);
    large_say_again(overlay, series, operation);
    again.set = series_set_to_tell(overlay, series);
    overlay_encode_again(OVERLAY_UNANSWERED, &again, operation->attempt, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

static void ask_again(struct overlay *overlay, const struct series *series, uint32_t generation,
                      uint32_t place)
{
    struct overlay_again again = {.key = series->key, .dead = hash_dead(overlay, series)};
    struct frame frame;

    again.key.generation = generation;
    overlay_encode_again(OVERLAY_AGAIN, &again, series->attempt, &frame);
    overlay_send(overlay, place, &frame);
}

static void ask_child(struct overlay *overlay, const struct series *series,
                      struct operation *operation, uint32_t index)
{
    const struct child *child = &overlay->children[index];
    const struct part *part = operation_part(overlay, operation, index);

    if (child->state != CHILD_LINKED || operation_part_counts(part) ||
        part->state == OVERLAY_PART_OVER)
        return;
    collective_query_child(overlay, series, operation, index);
    if (part->state == OVERLAY_PART_HELD)
        collective_send_query(overlay, series, operation, child->head, OVERLAY_WANT_RESULT);
    else
        ask_again(overlay, series, operation->generation, child->head);
}

void retell_stalled(struct overlay *overlay, struct series *series, struct operation *operation)
{
    if (operation->sent == operation->attempt) {
        ask_parent(overlay, series, operation);
        return;
    }
    for (uint32_t i = 0;
         i < overlay->children_count && operation->attempt > 0 && !operation_is_going(operation);
         i++) {
        if (series_suffices(overlay, series) &&
            series_expects(overlay, series, &overlay->children[i]))
            ask_child(overlay, series, operation, i);
    }
}

/* ---- answers ---- */

/* Our parent has not received our contribution in this attempt.  The operation may have been freed
 * afterwards. */
static void tell_again(struct overlay *overlay, struct series *series, struct operation *operation)
{
    if (operation_is_going(operation) || operation->sent != operation->attempt)
        return;
    operation->sent = ATTEMPT_NONE;
    for (uint32_t i = 0; i < operation->parts_count; i++) {
        struct part *part = &operation->parts[i];
        const struct child *child = &overlay->children[i];

        if (operation_is_decided(operation) || operation_is_over(operation) || !part->dropped)
            continue;
        operation_part_clear(part);
        if (series_expects(overlay, series, child))
            operation->waiting++;
        if (child->state == CHILD_LINKED)
            ask_again(overlay, series, operation->generation, child->head);
    }
    collective_advance(overlay, series, operation);
}

int retell_on_again(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_again again;
    struct operation *operation;
    struct series *series;
    int rc = overlay_decode_again(frame, &again);

    (void)from;
    if (rc < 0)
        return rc;
    operation = collective_open(overlay, &again.key, &again.set, &series, &rc);
    if (rc == 0 && series != NULL && overlay_is_ready(overlay)) {
        /* The part of the log that it had when it sent this has reached us before. */
        if (frame->attempt != series->attempt || again.dead != hash_dead(overlay, series))
            rc = -EBADMSG;
        else if (operation != NULL)
            tell_again(overlay, series, operation);
    }
    overlay_again_fini(&again);
    return rc;
}

static void say_gone(struct overlay *overlay, const struct series *series, uint32_t generation,
                     uint32_t place)
{
    struct overlay_release release = {.key = series->key, .status = OVERLAY_STATUS_GONE};
    struct frame frame;

    large_answer_ended(overlay, series, generation, place); /* enough for a place that is not a
                                                             * member */
    release.key.generation = release.stable = generation;
    overlay_encode_release(&release, series->attempt, &frame);
    overlay_send(overlay, place, &frame);
}

static int answer_again(struct overlay *overlay, struct series *series, struct operation *operation,
                        uint32_t index, const struct overlay_again *again)
{
    const struct part *part = operation_part(overlay, operation, index);
    uint32_t place = overlay->children[index].head;

    if (operation_part_counts(part) && part->bytes != again->bytes)
        return -EBADMSG; /* it has sent something different before */
    if (operation_is_over(operation))
        say_gone(overlay, series, operation->generation, place);
    else if (operation_is_going(operation))
        large_go_again(overlay, series, operation, index);
    else if (operation->phase == OPERATION_DECIDED)
        collective_release_child(overlay, series, operation, index);
    else
        ask_child(overlay, series, operation, index);
    return 0;
}

static int take_unanswered(struct overlay *overlay, const struct overlay_again *again,
                           uint32_t attempt, uint32_t from)
{
    const struct child *child = membership_linked(overlay, from);
    struct operation *operation;
    struct series *series;
    int rc = 0;

    operation = collective_open(overlay, &again->key, &again->set, &series, &rc);
    if (rc < 0 || series == NULL)
        return rc;
    if (attempt > series->attempt ||
        (attempt == series->attempt && again->dead != hash_dead(overlay, series)))
        return -EBADMSG;           /* I1 */
    if (attempt < series->attempt) /* it will send it in ours, unless it does not know that
                                    * attempt */
        ask_again(overlay, series, again->key.generation, from);
    else if (operation == NULL)
        say_gone(overlay, series, again->key.generation, from);
    else
        return answer_again(overlay, series, operation, (uint32_t)(child - overlay->children),
                            again);
    return 0;
}

int retell_on_unanswered(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_again again;
    int rc = overlay_decode_again(frame, &again);

    if (rc < 0)
        return rc;
    rc = take_unanswered(overlay, &again, frame->attempt, from);
    overlay_again_fini(&again);
    return rc;
}
