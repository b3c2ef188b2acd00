/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's log: one order for everything that the root announces (broadcasts, deaths, the end),
 * reliable across the death of any relay.
 *
 * An entry goes down the tree to every child range with a member.  A hop keeps it until each such
 * range has acknowledged it; an acknowledgement of s means "everything relevant up to s has reached
 * my whole range".  Acknowledgements belong to ranges, so an heir starts from what its range as a
 * whole has, and all later entries are replayed to it.  A place takes entries in ascending order
 * and drops duplicates: `received` is the last one taken.
 *
 * Each kept entry counts the child ranges that have not acknowledged it, and each child range has
 * its first unacknowledged entry: an acknowledgement costs O(newly acknowledged entries), however
 * much is kept for others.  Only when the ranges themselves change is everything recounted.
 *
 * The frame of an entry is forwarded unchanged; it is encoded once, at the root.
 */
#include "config.h"

#include "overlay/broadcast.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "overlay/core.h"
#include "overlay/limits.h"
#include "overlay/stream_wire.h"

struct log_item {
    struct log_item *next;
    struct log_item *previous;
    uint64_t sequence;
    uint32_t outstanding; /* child ranges that need it */
    uint32_t owner;       /* being forgotten */
    uint8_t kind;         /* enum overlay_entry_kind */
    struct ranges set;
    struct ranges places;    /* places that died, left or are new */
    struct message *payload; /* the encoded entry */
};

static bool is_about_large(uint8_t kind)
{
    return kind == OVERLAY_ENTRY_LARGE || kind == OVERLAY_ENTRY_REROUTE ||
           kind == OVERLAY_ENTRY_SETTLED;
}

/* ---- kept entries ---- */

void broadcast_check(const struct overlay *overlay)
{
    const struct broadcast *broadcast = &overlay->broadcast;

    assert((broadcast->count == 0) == (broadcast->first == NULL));
    assert((broadcast->count == 0) == (broadcast->last == NULL));
    assert(broadcast->count > 0 || broadcast->bytes == 0);
    assert(broadcast->first == NULL ||
           (broadcast->first->previous == NULL && broadcast->last->next == NULL));
    assert(broadcast->last == NULL || broadcast->last->sequence <= broadcast->received);
    assert(broadcast->first == NULL || broadcast->first->sequence <= broadcast->last->sequence);
    assert(broadcast->acked <= broadcast->received && broadcast->base <= broadcast->received);
    assert(broadcast->offered == NULL); /* set only during a call */
}

static bool is_relevant(const struct ranges *set, struct range range)
{
    return ranges_is_empty(set) || ranges_overlap(set, range.first, range.last);
}

static bool child_needs(const struct child *child, uint64_t sequence, const struct ranges *set)
{
    return child->head != TREE_NO_PLACE && child->state != CHILD_GONE && child->acked < sequence &&
           is_relevant(set, child->range);
}

static bool is_needed(const struct overlay *overlay, const struct log_item *item)
{
    return item->outstanding > 0 || !broadcast_is_caught_up(overlay) ||
           broadcast_large_is_awaited(overlay, item->sequence);
    /* the latter two: our whole range, or its payload, is not known yet */
}

static void item_destroy(struct overlay *overlay, struct log_item *item)
{
    struct broadcast *broadcast = &overlay->broadcast;

    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (overlay->children[i].unacked == item)
            overlay->children[i].unacked = item->next;
    }
    *(item->previous != NULL ? &item->previous->next : &broadcast->first) = item->next;
    *(item->next != NULL ? &item->next->previous : &broadcast->last) = item->previous;
    if (item->kind == OVERLAY_ENTRY_FORGET)
        forget_kept(overlay, item->owner, -1);
    assert(broadcast->count > 0 && broadcast->bytes >= item->payload->length_bytes);
    broadcast->count--;
    broadcast->bytes -= item->payload->length_bytes;
    message_release(item->payload);
    ranges_fini(&item->set);
    ranges_fini(&item->places);
    free(item);
}

/* Counts the child ranges that need it. */
static void item_count(struct overlay *overlay, struct log_item *item)
{
    overlay->broadcast.looked_at++;
    item->outstanding = 0;
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        struct child *child = &overlay->children[i];

        item->outstanding += child_needs(child, item->sequence, &item->set);
        if (child->acked < item->sequence &&
            (child->unacked == NULL || child->unacked->sequence > item->sequence))
            child->unacked = item;
    }
}

/* Inserts an entry in order; takes its set and places.  NULL if it is kept already. */
static struct log_item *item_insert(struct overlay *overlay, struct overlay_entry *entry,
                                    struct ranges *places, struct message *payload)
{
    struct broadcast *broadcast = &overlay->broadcast;
    struct log_item *after = broadcast->last;
    struct log_item *item;

    while (after != NULL && after->sequence > entry->sequence)
        after = after->previous;
    if (after != NULL && after->sequence == entry->sequence)
        return NULL;
    item = memory_allocate_zeroed(sizeof(*item));
    item->sequence = entry->sequence;
    item->kind = entry->kind;
    item->payload = message_reference(payload);
    ranges_move(&item->set, &entry->set);
    ranges_move(&item->places, places);
    assert(entry->sequence > 0 && entry->kind < OVERLAY_ENTRY_KIND_COUNT);
    item->previous = after;
    item->next = after != NULL ? after->next : broadcast->first;
    *(after != NULL ? &after->next : &broadcast->first) = item;
    *(item->next != NULL ? &item->next->previous : &broadcast->last) = item;
    if (item->kind == OVERLAY_ENTRY_FORGET && overlay_get_owner(&entry->payload, &item->owner) == 0)
        forget_kept(overlay, item->owner, 1);
    broadcast->count++;
    broadcast->bytes += payload->length_bytes;
    item_count(overlay, item);
    return item;
}

void broadcast_fini(struct overlay *overlay)
{
    while (overlay->broadcast.first != NULL)
        item_destroy(overlay, overlay->broadcast.first);
}

/* ---- acknowledging ---- */

static void tell_acked(struct overlay *overlay)
{
    struct broadcast *broadcast = &overlay->broadcast;
    uint64_t acked =
        broadcast->first != NULL ? broadcast->first->sequence - 1 : broadcast->received;
    struct frame frame;

    if (!join_has_parent(overlay) || !broadcast_is_caught_up(overlay) || overlay->leaving ||
        acked <= broadcast->acked)
        return;
    assert(acked <= broadcast->received);
    broadcast->acked = acked;
    overlay_encode_ack(acked, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

static void recount_unacked(struct overlay *overlay)
{
    for (uint32_t i = 0; i < overlay->children_count; i++)
        overlay->children[i].unacked = NULL;
    for (struct log_item *item = overlay->broadcast.first; item != NULL; item = item->next)
        item_count(overlay, item);
}

/* Entries have been dropped, or can be dropped now. */
static void on_log_trimmed(struct overlay *overlay, bool is_about_large)
{
    tell_acked(overlay);
    if (!overlay_is_root(overlay) || overlay->ended)
        return;
    if (is_about_large)
        broadcast_large_trimmed(overlay);
    if (overlay->broadcast.leave_wanted)
        broadcast_leave(overlay);
}

void broadcast_trim(struct overlay *overlay)
{
    struct log_item *next;

    overlay->broadcast.trim_wanted = false;
    recount_unacked(overlay);
    for (struct log_item *item = overlay->broadcast.first; item != NULL; item = next) {
        next = item->next;
        if (!is_needed(overlay, item))
            item_destroy(overlay, item);
    }
    on_log_trimmed(overlay, true);
}

void broadcast_step_end(struct overlay *overlay)
{
    if (overlay->broadcast.trim_wanted)
        broadcast_trim(overlay);
}

/* The child range has everything up to a sequence. */
static void child_acked(struct overlay *overlay, struct child *child, uint64_t sequence)
{
    bool about_large = false;
    struct log_item *next;

    for (struct log_item *item = child->unacked; item != NULL && item->sequence <= sequence;
         item = next) {
        next = item->next;
        overlay->broadcast.looked_at++;
        if (child_needs(child, item->sequence, &item->set)) {
            assert(item->outstanding > 0);
            item->outstanding--;
        }
        child->unacked = next;
        about_large = about_large || item->kind == OVERLAY_ENTRY_LARGE;
        if (!is_needed(overlay, item))
            item_destroy(overlay, item);
    }
    assert(child->acked < sequence && sequence <= overlay->broadcast.received);
    child->acked = sequence;
    on_log_trimmed(overlay, about_large);
}

/* An entry that changes no range has been kept. */
static void item_settle(struct overlay *overlay, struct log_item *item)
{
    bool about_large = item == NULL || is_about_large(item->kind);

    if (item != NULL && !is_needed(overlay, item))
        item_destroy(overlay, item);
    on_log_trimmed(overlay, about_large);
}

bool broadcast_is_kept(const struct overlay *overlay, uint64_t sequence)
{
    const struct log_item *item = overlay->broadcast.last;

    while (item != NULL && item->sequence > sequence)
        item = item->previous;
    return item != NULL && item->sequence == sequence;
}

void broadcast_leave(struct overlay *overlay)
{
    bool wait = broadcast_large_is_under_way(overlay);

    overlay->broadcast.leave_wanted = wait;
    if (!wait && !overlay->leaving)
        broadcast_append(overlay, OVERLAY_ENTRY_LEAVE, NULL, NULL, 0);
}

int broadcast_on_ack(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct child *child = membership_linked(overlay, from);
    uint64_t sequence;

    if (overlay_decode_ack(frame, &sequence) < 0 || sequence > overlay->broadcast.received)
        return -EBADMSG;
    if (sequence > child->acked)
        child_acked(overlay, child, sequence);
    return 0;
}

/* ---- a new parent, a new child ---- */

bool broadcast_is_caught_up(const struct overlay *overlay)
{
    return overlay->broadcast.received >= overlay->broadcast.head && !overlay->broadcast.replaying;
}

void broadcast_welcome(struct overlay *overlay, const struct overlay_welcome *welcome)
{
    struct broadcast *broadcast = &overlay->broadcast;

    /* The whole range has everything relevant up to base, and we are in the range. */
    if (broadcast->received < welcome->base)
        broadcast->received = welcome->base;
    assert(welcome->base <= welcome->head);
    broadcast->base = welcome->base;
    broadcast->head = welcome->head;
    /* Entries that we took early, because of our parent's departure, have not been kept. */
    broadcast->replaying = overlay->join.is_kept && welcome->base < welcome->head &&
                           (welcome->range.first != overlay->join.kept.first ||
                            welcome->range.last != overlay->join.kept.last);
    broadcast->acked = welcome->base;
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (overlay->children[i].acked < welcome->base)
            overlay->children[i].acked = welcome->base;
    }
    broadcast_trim(overlay);
}

uint64_t broadcast_head(const struct overlay *overlay, const struct child *child)
{
    uint64_t head = child->acked;

    for (const struct log_item *item = overlay->broadcast.first; item != NULL; item = item->next) {
        if (item->sequence > head && is_relevant(&item->set, child->range))
            head = item->sequence;
    }
    return head;
}

uint64_t broadcast_birth(const struct overlay *overlay, uint32_t place)
{
    for (const struct log_item *item = overlay->broadcast.first; item != NULL; item = item->next) {
        if (item->kind == OVERLAY_ENTRY_GROW && ranges_contains(&item->places, place))
            return item->sequence;
    }
    return 0;
}

/* Later changes are still kept, so they can be undone. */
void broadcast_tree_at(const struct overlay *overlay, uint64_t sequence,
                       struct overlay_welcome *welcome)
{
    welcome->population = overlay->population;
    ranges_copy(&welcome->dead, &overlay->dead);
    ranges_copy(&welcome->left, &overlay->left);
    welcome->recoveries = overlay->recoveries;
    for (const struct log_item *item = overlay->broadcast.first; item != NULL; item = item->next) {
        if (item->sequence <= sequence)
            continue;
        if (item->kind == OVERLAY_ENTRY_GROW && ranges_min(&item->places) < welcome->population)
            welcome->population = ranges_min(&item->places);
        if (item->kind == OVERLAY_ENTRY_DEATH || item->kind == OVERLAY_ENTRY_DEPARTURE)
            ranges_remove_all(&welcome->dead, &item->places);
        if (item->kind == OVERLAY_ENTRY_DEPARTURE)
            ranges_remove_all(&welcome->left, &item->places);
        welcome->recoveries -= item->kind == OVERLAY_ENTRY_RECOVERY;
    }
    if (welcome->population == overlay->places && ranges_is_empty(&welcome->dead) &&
        welcome->recoveries == 0)
        welcome->population = 0;
}

static void entry_send(struct overlay *overlay, const struct child *child, struct message *payload)
{
    struct frame frame = {.type = OVERLAY_ENTRY, .class = FRAME_COLLECTIVE};

    frame.payload = message_reference(payload);
    overlay_send(overlay, child->head, &frame);
}

void broadcast_replay(struct overlay *overlay, const struct child *child, uint64_t after)
{
    for (const struct log_item *item = overlay->broadcast.first; item != NULL; item = item->next) {
        if (item->sequence > after && is_relevant(&item->set, child->range))
            entry_send(overlay, child, item->payload);
    }
}

/* ---- taking an entry ---- */

static void entry_forward(struct overlay *overlay, const struct overlay_entry *entry,
                          struct message *payload)
{
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        const struct child *child = &overlay->children[i];

        if (child->state == CHILD_LINKED && is_relevant(&entry->set, child->range))
            entry_send(overlay, child, payload);
    }
}

static void deliver_user(struct overlay *overlay, const struct overlay_entry *entry)
{
    broadcast_tell(overlay, message_create(entry->payload.data, entry->payload.length_bytes));
}

static bool is_of_places(uint8_t kind)
{
    return kind == OVERLAY_ENTRY_DEATH || kind == OVERLAY_ENTRY_GROW ||
           kind == OVERLAY_ENTRY_DEPARTURE;
}

/* The places that an entry is about, if it is about any. */
static int places_of(const struct overlay *overlay, const struct overlay_entry *entry, bool is_new,
                     struct ranges *ret_places)
{
    bool is_well;

    if (!is_of_places(entry->kind))
        return 0;
    if (overlay_get_places(&entry->payload, ret_places) < 0)
        return -EBADMSG;
    is_well = ranges_min(ret_places) > 0 && ranges_max(ret_places) < TREE_PLACES_MAX;
    if (is_new && entry->kind == OVERLAY_ENTRY_GROW)
        is_well =
            is_well && ret_places->count == 1 && ranges_min(ret_places) == overlay->population;
    else if (is_new)
        is_well = is_well && ranges_max(ret_places) < overlay->population;
    if (!is_well)
        ranges_fini(ret_places);
    return is_well ? 0 : -EBADMSG;
}

/* Applies a new entry. */
static void entry_apply(struct overlay *overlay, const struct overlay_entry *entry,
                        const struct ranges *places)
{
    switch (entry->kind) {
    case OVERLAY_ENTRY_USER:
        deliver_user(overlay, entry);
        break;
    case OVERLAY_ENTRY_DEATH:
    case OVERLAY_ENTRY_DEPARTURE:
        membership_gone(overlay, places, entry->kind == OVERLAY_ENTRY_DEPARTURE);
        break;
    case OVERLAY_ENTRY_GROW:
        growth_take(overlay, places, entry->sequence);
        break;
    case OVERLAY_ENTRY_LEAVE:
        membership_leave(overlay);
        break;
    case OVERLAY_ENTRY_RECOVERY:
        recovery_take(overlay);
        break;
    default:
        break; /* of streams: handled already */
    }
}

/* New or not: a place that inherits a range also forgets, and so does a relay. */
static void take_forget(struct overlay *overlay, const struct overlay_entry *entry, bool member)
{
    uint32_t owner;

    if (overlay_get_owner(&entry->payload, &owner) == 0)
        forget_take(overlay, owner, member);
}

/* A new entry declares this place dead, or asks it to leave: nothing else in it matters here. */
static bool is_our_end(struct overlay *overlay, const struct overlay_entry *entry,
                       const struct ranges *places, struct message *payload)
{
    if (!ranges_contains(places, overlay->place))
        return false;
    if (entry->kind == OVERLAY_ENTRY_DEATH) {
        /* Not forwarded: places below learn it from their next parent, in order. */
        overlay_end(overlay, ENDPOINT_END_EVICTED, "the instance considers this place dead");
        return true;
    }
    if (entry->kind != OVERLAY_ENTRY_DEPARTURE)
        return false;
    overlay->broadcast.received = entry->sequence;
    entry_forward(overlay, entry, payload);
    growth_depart(overlay);
    return true;
}

/* Keeps, forwards and delivers one entry.  Takes the entry's set, and places. */
static void entry_take(struct overlay *overlay, struct overlay_entry *entry, struct ranges *places,
                       const struct stream_large *large, struct message *payload)
{
    struct broadcast *broadcast = &overlay->broadcast;
    bool member = is_relevant(&entry->set, (struct range){overlay->place, overlay->place});
    bool was_caught_up = broadcast_is_caught_up(overlay);
    bool is_new = entry->sequence > broadcast->received;
    struct ranges about = {0};
    struct log_item *item;

    if (is_new && is_our_end(overlay, entry, places, payload))
        return;
    if (is_new) {
        broadcast->received = entry->sequence;
        entry_forward(overlay, entry, payload);
    }
    if (entry->sequence >= broadcast->head)
        broadcast->replaying = false;
    if (is_about_large(entry->kind))
        broadcast_large_take(overlay, entry, large, is_new);
    ranges_copy(&about, places);
    item = item_insert(overlay, entry, places, payload);
    if (entry->kind == OVERLAY_ENTRY_FORGET)
        take_forget(overlay, entry, member);
    if (is_new && member)
        entry_apply(overlay, entry, &about);
    ranges_fini(&about);
    if (overlay->ended)
        return;
    if (!was_caught_up && broadcast_is_caught_up(overlay))
        overlay_became_ready(overlay);
    else if (!is_of_places(entry->kind) && entry->kind != OVERLAY_ENTRY_LEAVE &&
             entry->kind != OVERLAY_ENTRY_RECOVERY) {
        item_settle(overlay, item);
        return;
    }
    broadcast_trim(overlay);
}

/* Takes the entry's set. */
static int entry_read(struct overlay *overlay, struct overlay_entry *entry, struct message *payload)
{
    struct stream_large large = {0};
    struct ranges places = {0};
    uint32_t owner;

    if (is_about_large(entry->kind) && stream_get_large(&entry->payload, &large) < 0)
        return -EBADMSG;
    if (entry->kind == OVERLAY_ENTRY_FORGET && overlay_get_owner(&entry->payload, &owner) < 0)
        return -EBADMSG;
    if (places_of(overlay, entry, entry->sequence > overlay->broadcast.received, &places) < 0)
        return -EBADMSG;
    entry_take(overlay, entry, &places, &large, payload);
    ranges_fini(&places);
    return 0;
}

int broadcast_on_entry(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_entry entry;
    int rc = overlay_decode_entry(frame, &entry);

    (void)from;
    if (rc == 0)
        rc = entry_read(overlay, &entry, frame->payload);
    overlay_entry_fini(&entry);
    return rc;
}

void broadcast_append(struct overlay *overlay, enum overlay_entry_kind kind,
                      const struct ranges *set, const void *payload, size_t payload_bytes)
{
    struct overlay_entry entry = {.kind = (uint8_t)kind};
    struct frame frame;

    if (set != NULL && ranges_is_empty(set))
        return; /* no places; on the wire an empty set means all */
    entry.sequence = overlay->broadcast.received + 1;
    entry.payload = (struct wire_bytes){payload, payload_bytes};
    if (set != NULL)
        ranges_copy(&entry.set, set);
    overlay_encode_entry(&entry, &frame);
    (void)entry_read(overlay, &entry, frame.payload);
    message_release(frame.payload);
    overlay_entry_fini(&entry);
}

void broadcast_append_places(struct overlay *overlay, enum overlay_entry_kind kind,
                             const struct ranges *places)
{
    struct buffer payload = {0};

    overlay_put_places(places, &payload);
    broadcast_append(overlay, kind, NULL, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}
