/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of places that may inherit a range.  When the head of a range dies its heir joins by
 * itself; only if it does not must the parent of the range probe it, and the parent has never had a
 * link to it.  So each place sends its parent the addresses of its children, and of theirs as far
 * as there is room: the children first, since they head what an heir takes over.  It sends them to
 * a new parent at once, and changes when all below it have arrived, or else a sixteenth of a
 * heartbeat later, so that many changes cost one message.  A place that dies with its parent within
 * that time of joining is only noticed late (absence.c).  The new heir of a range is sent what is
 * known of the rest of it.
 *
 * Memory: OVERLAY_HEIRS_MAX addresses for each child range.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/address_wire.h"
#include "overlay/core.h"

struct search *heirs_search(struct overlay *overlay)
{
    if (overlay->search == NULL)
        overlay->search = memory_allocate_zeroed(sizeof(*overlay->search));
    return overlay->search;
}

static const struct message *known_of(const struct overlay *overlay)
{
    return overlay->search != NULL ? overlay->search->known : NULL;
}

static bool find_in(const struct message *list, uint32_t place, struct addresses *ret_addresses)
{
    struct wire_reader reader;
    struct overlay_heir heir;
    uint32_t left = list != NULL ? overlay_open_heirs(list, &reader) : 0;

    for (; left > 0; left--) {
        overlay_get_heir(&reader, &heir);
        if (heir.place != place)
            continue;
        *ret_addresses = heir.addresses;
        return true;
    }
    return false;
}

bool heirs_find(const struct overlay *overlay, const struct child *child, uint32_t place,
                struct addresses *ret_addresses)
{
    return find_in(child->heirs, place, ret_addresses) ||
           find_in(known_of(overlay), place, ret_addresses);
}

bool heirs_next(const struct overlay *overlay, const struct child *child, uint32_t after,
                struct overlay_heir *ret_heir)
{
    const struct message *lists[] = {child->heirs, known_of(overlay)};
    bool found = false;

    for (int i = 0; i < 2; i++) {
        struct wire_reader reader;
        struct overlay_heir heir;
        uint32_t left = lists[i] != NULL ? overlay_open_heirs(lists[i], &reader) : 0;

        for (; left > 0; left--) {
            overlay_get_heir(&reader, &heir);
            if (heir.place <= after || heir.place > child->range.last ||
                (found && heir.place >= ret_heir->place))
                continue;
            *ret_heir = heir;
            found = true;
        }
    }
    return found;
}

/* ---- sending ---- */

struct heir_list {
    struct buffer items;
    uint32_t count;
};

static void list_add(const struct overlay *overlay, struct heir_list *list, uint32_t place,
                     const struct addresses *addresses)
{
    if (list->count == OVERLAY_HEIRS_MAX || ranges_contains(&overlay->dead, place))
        return;
    overlay_put_heir(place, addresses, &list->items);
    list->count++;
}

static void list_add_below(const struct overlay *overlay, struct heir_list *list,
                           const struct message *heirs, struct range range)
{
    struct wire_reader reader;
    struct overlay_heir heir;
    uint32_t left = heirs != NULL ? overlay_open_heirs(heirs, &reader) : 0;

    for (; left > 0; left--) {
        overlay_get_heir(&reader, &heir);
        if (range.first <= heir.place && heir.place <= range.last)
            list_add(overlay, list, heir.place, &heir.addresses);
    }
}

static void child_addresses(const struct child *child, struct addresses *ret_addresses)
{
    struct wire_reader reader;

    assert(child->state == CHILD_LINKED);
    wire_reader_init(&reader, child->addresses->data, child->addresses->length_bytes);
    address_wire_get(&reader, ret_addresses);
}

static void list_own(const struct overlay *overlay, struct heir_list *list)
{
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        struct addresses addresses;

        if (overlay->children[i].state != CHILD_LINKED)
            continue;
        child_addresses(&overlay->children[i], &addresses);
        list_add(overlay, list, overlay->children[i].head, &addresses);
    }
    for (uint32_t i = 0; i < overlay->children_count; i++)
        list_add_below(overlay, list, overlay->children[i].heirs, overlay->children[i].range);
}

void heirs_changed(struct overlay *overlay)
{
    if (overlay->heirs_ns == OVERLAY_NEVER_NS)
        overlay->heirs_ns = overlay->now_ns + overlay->heartbeat_ns / 16;
}

void heirs_tell(struct overlay *overlay)
{
    struct heir_list list = {.count = 0};
    struct frame frame;

    if (overlay->heirs_ns == OVERLAY_NEVER_NS || !join_has_parent(overlay))
        return;
    overlay->heirs_ns = OVERLAY_NEVER_NS;
    list_own(overlay, &list);
    if (list.count == 0 && !overlay->heirs_reported) {
        buffer_fini(&list.items);
        return;
    }
    overlay->heirs_reported = true;
    overlay_encode_heirs(list.count, &list.items, &frame);
    buffer_fini(&list.items);
    overlay_send(overlay, overlay->join.target, &frame);
}

void heirs_joined(struct overlay *overlay)
{
    overlay->heirs_reported = false;
    overlay->heirs_ns = overlay->now_ns;
    heirs_tell(overlay);
}

void heirs_timer(struct overlay *overlay)
{
    if (overlay->now_ns >= overlay->heirs_ns)
        heirs_tell(overlay);
}

/* Without a parent they are sent on the next join. */
uint64_t heirs_deadline_ns(const struct overlay *overlay)
{
    return join_has_parent(overlay) ? overlay->heirs_ns : OVERLAY_NEVER_NS;
}

void heirs_hand_on(struct overlay *overlay, const struct child *child)
{
    struct range rest = {child->head + 1, child->range.last};
    struct heir_list list = {.count = 0};
    struct frame frame;

    list_add_below(overlay, &list, child->heirs, rest);
    if (child->heirs == NULL)
        list_add_below(overlay, &list, known_of(overlay), rest);
    if (list.count > 0) {
        overlay_encode_heirs(list.count, &list.items, &frame);
        overlay_send(overlay, child->head, &frame);
    }
    buffer_fini(&list.items);
}

void heirs_add(struct overlay *overlay, struct child *child, uint32_t place,
               const struct addresses *addresses)
{
    struct heir_list list = {.count = 0};
    struct frame frame;

    list_add(overlay, &list, place, addresses);
    list_add_below(overlay, &list, child->heirs, (struct range){child->range.first, place - 1});
    list_add_below(overlay, &list, child->heirs, (struct range){place + 1, child->range.last});
    overlay_encode_heirs(list.count, &list.items, &frame);
    buffer_fini(&list.items);
    message_release(child->heirs);
    child->heirs = frame.payload;
}

void heirs_add_head(struct overlay *overlay, struct child *child)
{
    struct addresses addresses;

    child_addresses(child, &addresses);
    heirs_add(overlay, child, child->head, &addresses);
}

int heirs_on_heirs(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct child *child = membership_linked(overlay, from);
    struct message **list = child != NULL ? &child->heirs : &heirs_search(overlay)->known;
    struct wire_reader reader;
    struct overlay_heir heir;

    for (uint32_t left = overlay_open_heirs(frame->payload, &reader);
         left > 0 && wire_status(&reader) == 0; left--)
        overlay_get_heir(&reader, &heir);
    if (wire_finish(&reader) < 0)
        return -EBADMSG;
    message_release(*list);
    *list = message_reference(frame->payload);
    if (child != NULL)
        heirs_changed(overlay);
    return 0;
}

void heirs_fini(struct overlay *overlay)
{
    if (overlay->search != NULL)
        message_release(overlay->search->known);
    free(overlay->search);
    for (uint32_t i = 0; i < overlay->children_count; i++)
        message_release(overlay->children[i].heirs);
}
