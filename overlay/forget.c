/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When an owner's operations have ended (a job is over), the root forgets it: an entry of its log,
 * FORGET, goes to all places that could be members of its sets, including dead ones, and so passes
 * every place that has a series of it: a relay between members, or between one and the root, has a
 * member below it.  Each place forgets when the entry arrives.  No member forgets by itself: others
 * may still ask it for the decision.  Callers still waiting get -ECANCELED.
 *
 * Messages of children about the owner, sent before the entry reached them, arrive late and would
 * make a series that is never forgotten.  But a child acknowledges the entry after all of them, on
 * the same link, and until then the entry is kept here: messages that name the owner of a kept
 * entry are dropped.  Later calls of this place are dropped, too; the last few hundred such owners
 * are remembered.
 *
 * Cost: O(records removed).
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "overlay/broadcast.h"
#include "overlay/series.h"

#define FORGOTTEN_MAX 256

bool forget_is_under_way(const struct overlay *overlay, uint32_t owner)
{
    const struct hash_map *forgetting = overlay->collective.forgetting;

    return forgetting != NULL && hash_map_get_u64(forgetting, owner) != NULL;
}

bool forget_is_done(const struct overlay *overlay, uint32_t owner)
{
    const struct collective *collective = &overlay->collective;

    for (uint32_t i = 0; i < collective->forgotten_count; i++) {
        if (collective->forgotten[i] == owner)
            return true;
    }
    return false;
}

void forget_kept(struct overlay *overlay, uint32_t owner, int change)
{
    struct hash_map *forgetting = overlay->collective.forgetting;
    uintptr_t count;

    if (forgetting == NULL)
        forgetting = overlay->collective.forgetting = hash_map_create();
    count = (uintptr_t)hash_map_get_u64(forgetting, owner);
    count = (uintptr_t)((intptr_t)count + change);
    if (count > 0)
        (void)hash_map_put_u64(forgetting, owner, (void *)count);
    else
        (void)hash_map_remove_u64(forgetting, owner);
}

static void remember_owner(struct overlay *overlay, uint32_t owner)
{
    struct collective *collective = &overlay->collective;

    if (forget_is_done(overlay, owner))
        return;
    if (collective->forgotten == NULL)
        collective->forgotten =
            memory_allocate_zeroed(FORGOTTEN_MAX * sizeof(*collective->forgotten));
    collective->forgotten[collective->forgotten_next] = owner;
    collective->forgotten_next = (collective->forgotten_next + 1) % FORGOTTEN_MAX;
    if (collective->forgotten_count < FORGOTTEN_MAX)
        collective->forgotten_count++;
}

/* Ends the operations that callers still wait for. */
static void tell_ends(struct overlay *overlay, const struct series *series)
{
    for (struct operation *operation = series->operations; operation != NULL;
         operation = operation->next) {
        if (operation_is_decided(operation))
            continue;
        stall_probe_decided(overlay, series, operation);
        if (operation->called) {
            struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_RESULT);

            action->key = operation_key(series, operation);
            action->status = -ECANCELED;
        }
    }
}

void forget_take(struct overlay *overlay, uint32_t owner, bool is_member)
{
    struct series *series = NULL;

    if (overlay->collective.by_owner != NULL)
        series = hash_map_remove_u64(overlay->collective.by_owner, owner);
    while (series != NULL) {
        struct series *sibling = series->sibling;

        tell_ends(overlay, series);
        series_destroy(overlay, series);
        series = sibling;
    }
    lateral_forget(overlay, owner);
    stall_probe_forget(overlay, owner);
    if (is_member)
        remember_owner(overlay, owner);
}

void forget_log(struct overlay *overlay, const struct overlay_event *event)
{
    struct buffer payload = {0};

    overlay_put_owner(event->id, &payload);
    broadcast_append(overlay, OVERLAY_ENTRY_FORGET, event->set, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}
