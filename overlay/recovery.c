/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A root whose process has died, and that goes on in another one with the state that it had
 * (endpoint_recover).  To the others that is a root whose links have all broken: with survive_ns
 * they seek it for as long, each place that it had as a child is looked for from both ends
 * (absence.c), and it is dead only if it is not found.
 *
 * What was under way on the broken links is lost, in both directions, and neither end knows what.
 * So the root's first act is an entry of its log, RECOVERY, which has the effects of a death
 * without a dead place: all open operations begin another attempt, in which those who have a
 * decision report it; requests are repeated; and what the root was sent without an answer is sent
 * again by those above (RECOVERED).  Attempts count recoveries as they count deaths, so all places
 * agree on them, because all take entries in the same order.
 */
#include "config.h"

#include <assert.h>

#include "overlay/broadcast.h"
#include "overlay/collective.h"
#include "overlay/core.h"

uint64_t recovery_seek_ns(const struct overlay *overlay)
{
    return overlay->survive_ns > overlay->rejoin_ns ? overlay->survive_ns : overlay->rejoin_ns;
}

/* The time for which there was no process is not a stall of this one. */
void recovery_begin(struct overlay *overlay)
{
    assert(overlay_is_root(overlay) && overlay->started);
    overlay->lease.armed_ns = OVERLAY_NEVER_NS;
}

void recovery_log(struct overlay *overlay)
{
    assert(overlay->recoveries < OVERLAY_RECOVERIES_MAX);
    membership_stray(overlay);
    broadcast_append(overlay, OVERLAY_ENTRY_RECOVERY, NULL, NULL, 0);
}

void recovery_take(struct overlay *overlay)
{
    struct ranges none = {0};

    overlay->recoveries++;
    broadcast_tell_places(overlay, OVERLAY_ACTION_RECOVERED, &none);
    broadcast_large_death(overlay);
    collective_restart_all(overlay);
    route_dying(overlay, NULL);
    route_death(overlay);
}
