/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the instance grows and shrinks: two kinds of entries of the root's log.
 *
 * GROW adds places, always the next unused ones.  A new place is a leaf (tree.h), so no links
 * change; its parent expects one more child range, or one whose last living place had died.  No
 * earlier entry of the log concerns the new place: on joining it gets the state of the tree (the
 * population, the dead, which of them have left) as of the entry after which the replay starts, at
 * least the one that added it.
 *
 * DEPARTURE removes places.  To all others they are dead, except for the upcalls; so everything
 * that applies to deaths applies here: heirs, attempts, replay.  A place that must leave forwards
 * the entry to those below it, which move to their heirs (or leave too), and from then on only
 * forwards routed frames.  When all below it have gone it closes its links and ends; its lease, no
 * longer renewed, bounds that.  Its parent keeps the link as that of a parted guest: frames routed
 * upward earlier still come through, the rest is ignored, and its end is not a loss.
 */
#include "config.h"

#include <assert.h>

#include "overlay/broadcast.h"
#include "overlay/collective.h"
#include "overlay/core.h"

/* ---- the root ---- */

void growth_grow(struct overlay *overlay, uint32_t count)
{
    uint32_t first = overlay->population;
    struct ranges places = {0};

    assert(overlay_is_root(overlay) && overlay_may_change(overlay) == 0);
    assert(count >= 1 && count <= TREE_PLACES_MAX - first);
    ranges_add(&places, first, first + count - 1);
    broadcast_append_places(overlay, OVERLAY_ENTRY_GROW, &places);
    ranges_fini(&places);
}

/* Places already dead need not leave. */
void growth_shrink(struct overlay *overlay, const struct ranges *places)
{
    struct ranges leaving = {0};

    assert(overlay_is_root(overlay) && overlay_may_change(overlay) == 0);
    assert(!ranges_is_empty(places) && ranges_min(places) > 0 &&
           ranges_max(places) < overlay->population);
    ranges_copy(&leaving, places);
    ranges_remove_all(&leaving, &overlay->dead);
    if (!ranges_is_empty(&leaving))
        broadcast_append_places(overlay, OVERLAY_ENTRY_DEPARTURE, &leaving);
    ranges_fini(&leaving);
}

/* ---- all places ---- */

void growth_take(struct overlay *overlay, const struct ranges *places, uint64_t sequence)
{
    overlay->population = ranges_max(places) + 1;
    overlay->complete_reported = false;
    broadcast_tell_places(overlay, OVERLAY_ACTION_GROWN, places);
    membership_grown(overlay, sequence);
    route_flush(overlay);
}

void growth_welcome(struct overlay *overlay, struct overlay_welcome *welcome)
{
    if (welcome->population > overlay->population)
        overlay->population = welcome->population;
    ranges_move(&overlay->dead, &welcome->dead);
    ranges_move(&overlay->left, &welcome->left);
    overlay->recoveries = welcome->recoveries;
    membership_grown(overlay, overlay->broadcast.base);
    /* Earlier calls assumed a tree in which all places were alive. */
    if (overlay->recoveries > 0)
        collective_restart_all(overlay);
    else
        collective_death(overlay, &overlay->dead);
    route_dying(overlay, NULL);
    route_death(overlay);
}

/* ---- leaving places ---- */

/* Ends this place when all below have gone. */
static void depart_check(struct overlay *overlay)
{
    if (membership_is_deserted(overlay))
        overlay_end(overlay, ENDPOINT_END_LEFT, "this place was asked to leave");
}

void growth_depart(struct overlay *overlay)
{
    overlay->departing = true;
    membership_close_guests(overlay);
    lateral_close_all(overlay);
    depart_check(overlay);
}

static void depart_down(struct overlay *overlay, uint32_t place)
{
    if (place == overlay->join.target)
        join_part(overlay);
    else
        membership_down(overlay, place, ENDPOINT_LOSS_UNKNOWN);
}

/* Routed frames are forwarded; for anything else it is too late. */
static void depart_frame(struct overlay *overlay, const struct overlay_event *event)
{
    uint8_t type = event->frame->type;

    if (!overlay_has_link(overlay, event->place) || !overlay_is_routed(type))
        return;
    if (route_on_data(overlay, event->place, event->frame) < 0) {
        overlay_close(overlay, event->place);
        depart_down(overlay, event->place);
    }
}

void growth_departing_step(struct overlay *overlay, const struct overlay_event *event)
{
    switch (event->kind) {
    case OVERLAY_EVENT_UP:
        overlay_close(overlay, event->place);
        break;
    case OVERLAY_EVENT_DOWN:
        depart_down(overlay, event->place);
        break;
    case OVERLAY_EVENT_FRAME:
        depart_frame(overlay, event);
        break;
    case OVERLAY_EVENT_TIMER:
        overlay->lease.armed_ns = OVERLAY_NEVER_NS;
        break;
    case OVERLAY_EVENT_SEND:
        route_send(overlay, event);
        break;
    case OVERLAY_EVENT_REPLY:
        route_reply(overlay, event);
        break;
    default:
        break; /* callers get the end of this place in a moment */
    }
    depart_check(overlay);
}
