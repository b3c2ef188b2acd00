/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who of a range that was cut off is gone.  When the link to the head of a range breaks, its head
 * is reported at once.  Usually its heir is here in a moment.  But the heir may have died too, and
 * the next one, and with the head all who would have noticed.
 *
 * Every living place of the range is below one of its orphans, and an orphan comes to the nearest
 * living ancestor, which for the topmost ones is us.  So after a grace period, long enough for
 * those who notice by silence, whoever had arrived in the range and is not among our guests or
 * below one of them is reported as lost, all at once.  After a full lease that holds for everyone
 * of the range, guests or none: their leases were renewed through us alone, and are over.
 */
#include "config.h"

#include "overlay/core.h"

/* Longer than the time between a parent's noticing a silent place and its children's noticing
 * (lease.c), shorter than an orphan waits and its lease lasts. */
static uint64_t grace_ns(const struct overlay *overlay)
{
    return overlay->lease_ns / 8 * 3;
}

/* Who is sent here from above needs a moment to come. */
static uint64_t arrival_ns(const struct overlay *overlay)
{
    return overlay->rejoin_ns / 8;
}

void absence_expect(struct overlay *overlay, struct child *child, uint64_t since_ns)
{
    uint64_t due_ns = since_ns + grace_ns(overlay);

    if (due_ns < overlay->now_ns + arrival_ns(overlay))
        due_ns = overlay->now_ns + arrival_ns(overlay);
    child->since_ns = due_ns - grace_ns(overlay);
    if (due_ns < overlay->absence_ns)
        overlay->absence_ns = due_ns;
}

static bool is_cut_off(const struct child *child)
{
    return child->head != TREE_NO_PLACE &&
           (child->state == CHILD_LOST || child->state == CHILD_HEIR);
}

/* Who of the range is here, or says it has it below. */
static void find_present(const struct overlay *overlay, const struct child *child,
                         struct ranges *ret_present)
{
    for (const struct guest *guest = overlay->guests; guest != NULL; guest = guest->next) {
        if (guest->asked && membership_child_of(overlay, guest->place) == child) {
            ranges_add(ret_present, guest->place, guest->place);
            ranges_add_all(ret_present, &guest->join.arrived);
            ranges_add_all(ret_present, &guest->join.waiting);
        }
    }
    ranges_clip(ret_present, child->range.first, child->range.last);
}

static void find_absent(const struct overlay *overlay, const struct child *child,
                        const struct ranges *present, struct ranges *ret_absent)
{
    if (overlay->now_ns - child->since_ns > overlay->lease_ns) {
        ranges_add(ret_absent, child->range.first, child->range.last);
        ranges_clip(ret_absent, 0, overlay->population - 1);
    } else if (!ranges_is_empty(present)) {
        ranges_copy(ret_absent, &overlay->arrived);
        /* Before the first who is here nobody is, whether we knew of them or not. */
        ranges_add(ret_absent, child->range.first, ranges_min(present));
        ranges_clip(ret_absent, child->range.first, child->range.last);
    }
    ranges_remove_all(ret_absent, present);
    ranges_remove_all(ret_absent, &overlay->dead);
}

static void check_range(struct overlay *overlay, const struct child *child)
{
    struct ranges present = {0};
    struct ranges absent = {0};

    find_present(overlay, child, &present);
    find_absent(overlay, child, &present, &absent);
    for (uint32_t i = 0; i < absent.count; i++)
        membership_report(overlay, &(struct overlay_death){.range = absent.items[i]});
    ranges_fini(&present);
    ranges_fini(&absent);
}

void absence_recheck(struct overlay *overlay)
{
    if (overlay->absence_ns != OVERLAY_NEVER_NS)
        overlay->absence_ns = overlay->now_ns;
}

/* What is not settled when the grace is over is looked at again at the pace of the heartbeats. */
void absence_timer(struct overlay *overlay)
{
    overlay->absence_ns = OVERLAY_NEVER_NS;
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        uint64_t due_ns = overlay->children[i].since_ns + grace_ns(overlay);

        if (!is_cut_off(&overlay->children[i]))
            continue;
        if (overlay->now_ns >= due_ns) {
            due_ns = overlay->now_ns + overlay->heartbeat_ns;
            if (overlay_is_ready(overlay) && !overlay->leaving)
                check_range(overlay, &overlay->children[i]);
        }
        if (due_ns < overlay->absence_ns)
            overlay->absence_ns = due_ns;
    }
}
