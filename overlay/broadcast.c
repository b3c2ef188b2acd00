/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's log: one order for everything the root tells (broadcasts, deaths, the end), reliable
 * over the death of any relay.
 *
 * An entry goes down the tree to every child range with a member.  A hop keeps it until each such
 * range has acknowledged it; an acknowledgement of s means "everything relevant up to s has reached
 * my whole range".  Acknowledgements belong to ranges, so an heir begins with what its range as a
 * whole has, and all later entries are replayed to it.  A place itself takes entries in ascending
 * order and drops what it has had: `received` says up to where.
 *
 * The frame of an entry is passed on as it came; it is encoded once, at the root.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "overlay/core.h"
#include "overlay/limits.h"
#include "overlay/stream_wire.h"

struct log_item {
    struct log_item *next;
    uint64_t sequence;
    uint8_t kind; /* enum overlay_entry_kind */
    struct ranges set;
    struct range places;     /* of a death, a departure, or new ones */
    struct message *payload; /* the encoded entry */
};

/* ---- what is kept ---- */

static bool is_relevant(const struct ranges *set, struct range range)
{
    return ranges_is_empty(set) || ranges_overlap(set, range.first, range.last);
}

static bool child_needs(const struct child *child, uint64_t sequence, const struct ranges *set)
{
    return child->head != TREE_NO_PLACE && child->state != CHILD_GONE && child->acked < sequence &&
           is_relevant(set, child->range);
}

static bool is_needed(const struct overlay *overlay, uint64_t sequence, const struct ranges *set)
{
    if (!broadcast_is_caught_up(overlay) || broadcast_large_is_awaited(overlay, sequence))
        return true; /* we do not know our whole range, or have its payload, yet */
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (child_needs(&overlay->children[i], sequence, set))
            return true;
    }
    return false;
}

static void item_destroy(struct overlay *overlay, struct log_item *item)
{
    overlay->broadcast.count--;
    overlay->broadcast.bytes -= item->payload->length_bytes;
    message_release(item->payload);
    ranges_fini(&item->set);
    free(item);
}

/* Keeps an entry in its place; takes its set.  Nothing if it is kept already. */
static void item_insert(struct overlay *overlay, struct overlay_entry *entry, struct range places,
                        struct message *payload)
{
    struct log_item **link = &overlay->broadcast.first;
    struct log_item *last = overlay->broadcast.last;
    struct log_item *item;

    if (last != NULL && last->sequence < entry->sequence)
        link = &last->next;
    while (*link != NULL && (*link)->sequence < entry->sequence)
        link = &(*link)->next;
    if (*link != NULL && (*link)->sequence == entry->sequence)
        return;
    item = memory_allocate_zeroed(sizeof(*item));
    item->sequence = entry->sequence;
    item->kind = entry->kind;
    item->places = places;
    item->payload = message_reference(payload);
    ranges_move(&item->set, &entry->set);
    item->next = *link;
    *link = item;
    overlay->broadcast.count++;
    overlay->broadcast.bytes += payload->length_bytes;
    if (item->next == NULL)
        overlay->broadcast.last = item;
}

uint32_t overlay_kept_entries(const struct overlay *overlay)
{
    return overlay->broadcast.count;
}

int overlay_may_broadcast(const struct overlay *overlay)
{
    return overlay->broadcast.count < OVERLAY_ENTRIES_MAX &&
                   overlay->broadcast.bytes < OVERLAY_ENTRIES_BYTES_MAX
               ? 0
               : -EAGAIN;
}

void broadcast_fini(struct overlay *overlay)
{
    while (overlay->broadcast.first != NULL) {
        struct log_item *item = overlay->broadcast.first;

        overlay->broadcast.first = item->next;
        item_destroy(overlay, item);
    }
    overlay->broadcast.last = NULL;
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
    broadcast->acked = acked;
    overlay_encode_ack(acked, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

void broadcast_trim(struct overlay *overlay)
{
    struct log_item **link = &overlay->broadcast.first;

    overlay->broadcast.last = NULL;
    while (*link != NULL) {
        struct log_item *item = *link;

        if (is_needed(overlay, item->sequence, &item->set)) {
            overlay->broadcast.last = item;
            link = &item->next;
        } else {
            *link = item->next;
            item_destroy(overlay, item);
        }
    }
    tell_acked(overlay);
    if (overlay_is_root(overlay) && !overlay->ended) {
        broadcast_large_trimmed(overlay);
        if (overlay->broadcast.leave_wanted)
            broadcast_leave(overlay);
    }
}

bool broadcast_is_kept(const struct overlay *overlay, uint64_t sequence)
{
    const struct log_item *item = overlay->broadcast.first;

    while (item != NULL && item->sequence < sequence)
        item = item->next;
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
    if (sequence > child->acked) {
        child->acked = sequence;
        broadcast_trim(overlay);
    }
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

    /* All of the range has what is relevant up to base; we are in the range. */
    if (broadcast->received < welcome->base)
        broadcast->received = welcome->base;
    broadcast->base = welcome->base;
    broadcast->head = welcome->head;
    /* What we are ahead of for having heard of our parent's departure we have not kept. */
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
        if (item->kind == OVERLAY_ENTRY_GROW && item->places.first <= place &&
            place <= item->places.last)
            return item->sequence;
    }
    return 0;
}

/* What has changed since is kept, so it can be taken back. */
void broadcast_tree_at(const struct overlay *overlay, uint64_t sequence,
                       struct overlay_welcome *welcome)
{
    welcome->population = overlay->population;
    ranges_copy(&welcome->dead, &overlay->dead);
    ranges_copy(&welcome->left, &overlay->left);
    for (const struct log_item *item = overlay->broadcast.first; item != NULL; item = item->next) {
        if (item->sequence <= sequence)
            continue;
        if (item->kind == OVERLAY_ENTRY_GROW && item->places.first < welcome->population)
            welcome->population = item->places.first;
        if (item->kind == OVERLAY_ENTRY_DEATH || item->kind == OVERLAY_ENTRY_DEPARTURE)
            ranges_remove(&welcome->dead, item->places.first, item->places.last);
        if (item->kind == OVERLAY_ENTRY_DEPARTURE)
            ranges_remove(&welcome->left, item->places.first, item->places.last);
    }
    if (welcome->population == overlay->places && ranges_is_empty(&welcome->dead))
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

static bool is_about_large(uint8_t kind)
{
    return kind == OVERLAY_ENTRY_LARGE || kind == OVERLAY_ENTRY_REROUTE ||
           kind == OVERLAY_ENTRY_SETTLED;
}

static void deliver_user(struct overlay *overlay, const struct overlay_entry *entry)
{
    broadcast_tell(overlay, message_create(entry->payload.data, entry->payload.length_bytes));
}

/* Whichever incarnation it names: in a tree in which this place is dead we have no place. */
static bool means_us(const struct overlay *overlay, struct range places)
{
    return places.first <= overlay->place && overlay->place <= places.last;
}

/* The places that an entry is about, if it is about any. */
static int places_of(const struct overlay *overlay, const struct overlay_entry *entry, bool is_new,
                     struct range *ret_places)
{
    struct overlay_death death;
    int rc = 0;

    if (entry->kind == OVERLAY_ENTRY_DEATH) {
        rc = overlay_get_death(&entry->payload, &death);
        *ret_places = death.range;
    } else if (entry->kind == OVERLAY_ENTRY_GROW || entry->kind == OVERLAY_ENTRY_DEPARTURE) {
        rc = overlay_get_places(&entry->payload, ret_places);
    } else {
        return 0;
    }
    if (rc < 0 || ret_places->first == 0 || ret_places->last >= TREE_PLACES_MAX)
        return -EBADMSG;
    if (is_new && entry->kind == OVERLAY_ENTRY_GROW)
        return ret_places->first == overlay->population ? 0 : -EBADMSG;
    return is_new && ret_places->last >= overlay->population ? -EBADMSG : 0;
}

/* What a new entry changes here. */
static void install(struct overlay *overlay, const struct overlay_entry *entry, struct range places)
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
    default:
        break; /* of streams: has been taken */
    }
}

/* Keeps, passes on and delivers one entry.  Takes the entry's set. */
static int entry_take(struct overlay *overlay, struct overlay_entry *entry, struct message *payload)
{
    struct broadcast *broadcast = &overlay->broadcast;
    bool member = is_relevant(&entry->set, (struct range){overlay->place, overlay->place});
    bool was_caught_up = broadcast_is_caught_up(overlay);
    bool is_new = entry->sequence > broadcast->received;
    struct stream_large large = {0};
    struct range places = {0, 0};

    if (is_about_large(entry->kind) && stream_get_large(&entry->payload, &large) < 0)
        return -EBADMSG;
    if (places_of(overlay, entry, is_new, &places) < 0)
        return -EBADMSG;
    if (entry->kind == OVERLAY_ENTRY_DEATH && is_new && means_us(overlay, places)) {
        /* Not passed on: those below learn it from whoever adopts them, in order. */
        overlay_end(overlay, NODE_END_EVICTED, "the instance counts this place as dead");
        return 0;
    }
    if (is_new) {
        broadcast->received = entry->sequence;
        entry_forward(overlay, entry, payload);
    }
    if (entry->kind == OVERLAY_ENTRY_DEPARTURE && is_new && means_us(overlay, places)) {
        growth_depart(overlay);
        return 0;
    }
    if (entry->sequence >= broadcast->head)
        broadcast->replaying = false;
    if (is_about_large(entry->kind))
        broadcast_large_take(overlay, entry, &large, is_new);
    item_insert(overlay, entry, places, payload);
    if (is_new && member)
        install(overlay, entry, places);
    if (overlay->ended)
        return 0;
    if (!was_caught_up && broadcast_is_caught_up(overlay))
        overlay_became_ready(overlay);
    broadcast_trim(overlay);
    return 0;
}

int broadcast_on_entry(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_entry entry;
    int rc = overlay_decode_entry(frame, &entry);

    (void)from;
    if (rc == 0)
        rc = entry_take(overlay, &entry, frame->payload);
    overlay_entry_fini(&entry);
    return rc;
}

void broadcast_append(struct overlay *overlay, enum overlay_entry_kind kind,
                      const struct ranges *set, const void *payload, size_t payload_bytes)
{
    struct overlay_entry entry = {.kind = (uint8_t)kind};
    struct frame frame;

    if (set != NULL && ranges_is_empty(set))
        return; /* nobody; on the wire an empty set means everyone */
    entry.sequence = overlay->broadcast.received + 1;
    entry.payload = (struct wire_bytes){payload, payload_bytes};
    if (set != NULL)
        ranges_copy(&entry.set, set);
    overlay_encode_entry(&entry, &frame);
    entry_take(overlay, &entry, frame.payload);
    message_release(frame.payload);
    overlay_entry_fini(&entry);
}
