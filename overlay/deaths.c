/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports of deaths, on their way into the root's log.  Each place keeps its reports, and repeats
 * them to each new parent, and every stall_ns, until the entry arrives; the root collects reports
 * before it logs them.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "overlay/broadcast.h"
#include "overlay/core.h"
#include "overlay/limits.h"

/* Already reported, completely. */
static bool is_reported(const struct overlay *overlay, struct range range)
{
    for (uint32_t i = 0; i < overlay->lost_count; i++) {
        if (overlay->lost[i].range.first <= range.first &&
            range.last <= overlay->lost[i].range.last)
            return true;
    }
    return false;
}

static bool is_dead(const struct overlay *overlay, struct range range)
{
    uint32_t living;

    return !ranges_first_gap(&overlay->dead, range.first, range.last, &living);
}

static void lost_send(struct overlay *overlay, const struct overlay_death *items, uint32_t count)
{
    struct overlay_lost lost = {.count = count, .items = (struct overlay_death *)items};
    struct frame frame;

    if (!join_has_parent(overlay) || count == 0)
        return;
    overlay_encode_lost(&lost, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

/* If a report were lost with a relay, all would wait for the dead place. */
static void lost_send_again(struct overlay *overlay)
{
    if (overlay->lost_count == 0 || overlay->now_ns < overlay->deaths_ns)
        return;
    overlay->deaths_ns = overlay->now_ns + overlay->stall_ns;
    lost_send(overlay, overlay->lost, overlay->lost_count);
}

/* ---- the root's log of deaths ---- */

/* If many die at once, the cost of a death, an attempt of each open operation and an entry to all
 * places, should be paid only a few times.  So a death waits for others noticed at the same time;
 * if an entry was logged just before, for a quarter of the duration of this burst. */
#define GATHER_FIRST_NS (2 * 1000000ull)
#define GATHER_MIN_NS   (5 * 1000000ull)

static uint64_t gather_max_ns(const struct overlay *overlay)
{
    return overlay->lease_ns / 64;
}

static bool is_in_burst(const struct overlay *overlay)
{
    const struct burst *burst = overlay->burst;

    return burst->last_ns > 0 && overlay->now_ns - burst->last_ns <= 2 * gather_max_ns(overlay);
}

static uint64_t gather_pause_ns(const struct overlay *overlay)
{
    const struct burst *burst = overlay->burst;
    uint64_t pause_ns = GATHER_FIRST_NS;

    if (is_in_burst(overlay))
        pause_ns = (burst->last_ns - burst->since_ns) / 4;
    if (is_in_burst(overlay) && pause_ns < GATHER_MIN_NS)
        pause_ns = GATHER_MIN_NS;
    return pause_ns < gather_max_ns(overlay) ? pause_ns : gather_max_ns(overlay);
}

/* Only the root reports to users. */
static void tell_seen(struct overlay *overlay, const struct overlay_death *death)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_SEEN);

    ranges_add(&action->places, death->range.first, death->range.last);
    action->id = death->loss;
    action->deadline_ns = death->silent_ns;
}

static void gather_death(struct overlay *overlay, const struct overlay_death *death)
{
    struct burst *burst = overlay->burst;
    uint32_t place;

    if (burst == NULL)
        burst = overlay->burst = memory_allocate_zeroed(sizeof(*burst));
    if (!ranges_first_gap(&burst->places, death->range.first, death->range.last, &place))
        return; /* already reported */
    tell_seen(overlay, death);
    if (ranges_is_empty(&burst->places))
        overlay->deaths_ns = overlay->now_ns + gather_pause_ns(overlay);
    ranges_add(&burst->places, death->range.first, death->range.last);
}

static bool has_gathered(const struct overlay *overlay)
{
    return overlay->burst != NULL && !ranges_is_empty(&overlay->burst->places);
}

uint64_t deaths_deadline_ns(const struct overlay *overlay)
{
    if (overlay->lost_count > 0)
        return overlay->deaths_ns;
    return has_gathered(overlay) ? overlay->deaths_ns : OVERLAY_NEVER_NS;
}

void deaths_log(struct overlay *overlay)
{
    struct burst *burst = overlay->burst;
    struct ranges places = {0};

    lost_send_again(overlay);
    if (!has_gathered(overlay) || overlay->now_ns < overlay->deaths_ns)
        return;
    if (!is_in_burst(overlay))
        burst->since_ns = overlay->now_ns;
    burst->last_ns = overlay->now_ns;
    ranges_move(&places, &burst->places);
    ranges_remove_all(&places, &overlay->dead); /* places that have left meanwhile */
    if (!ranges_is_empty(&places))
        broadcast_append_places(overlay, OVERLAY_ENTRY_DEATH, &places);
    ranges_fini(&places);
}

/* ---- reports ---- */

void deaths_report(struct overlay *overlay, const struct overlay_death *death)
{
    if (is_dead(overlay, death->range))
        return;
    if (overlay_is_root(overlay)) {
        gather_death(overlay, death);
        return;
    }
    if (is_reported(overlay, death->range) || overlay->lost_count == OVERLAY_LOST_MAX)
        return;
    overlay->lost =
        memory_resize(overlay->lost, (overlay->lost_count + 1) * sizeof(*overlay->lost));
    if (overlay->lost_count == 0)
        overlay->deaths_ns = overlay->now_ns + overlay->stall_ns;
    overlay->lost[overlay->lost_count++] = *death;
    lost_send(overlay, death, 1);
}

void deaths_forget(struct overlay *overlay)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < overlay->lost_count; i++) {
        if (!is_dead(overlay, overlay->lost[i].range))
            overlay->lost[kept++] = overlay->lost[i];
    }
    overlay->lost_count = kept;
    if (kept == 0) {
        free(overlay->lost);
        overlay->lost = NULL;
    }
}

void deaths_joined(struct overlay *overlay)
{
    lost_send(overlay, overlay->lost, overlay->lost_count);
}

int deaths_on_lost(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_lost lost;
    int rc = overlay_decode_lost(frame, &lost);

    (void)from;
    for (uint32_t i = 0; rc == 0 && i < lost.count; i++) {
        const struct overlay_death *death = &lost.items[i];

        if (death->range.first == 0 || death->range.last >= overlay->population)
            rc = -EBADMSG;
        else
            deaths_report(overlay, death);
    }
    overlay_lost_fini(&lost);
    return rc;
}

void deaths_fini(struct overlay *overlay)
{
    if (overlay->burst != NULL)
        ranges_fini(&overlay->burst->places);
    free(overlay->burst);
    free(overlay->lost);
}
