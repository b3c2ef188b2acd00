/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links outside the tree, for streams.  Of two places the lower one asks: its request (ASK) travels
 * along the tree to the other with its literal address, and the other connects and marks the link
 * (LATERAL), so that it is not taken for a place that wants to join.  So connections go upward as
 * they do for joining, and never cross; and if the place later joins, it uses the lateral link.  A
 * place that cannot connect replies (ANSWER).
 *
 * A link used by a series of operations is kept while the owner of that series lives (until
 * forget.c), so that the next operation finds it open however much later it comes.  Each link
 * remembers the last ENDPOINT_LATERAL_OWNERS_MAX owners that used it.  A link without any, as after a
 * broadcast, is closed after some seconds without use.
 *
 * There are at most ENDPOINT_LATERALS_USED_MAX per place, whichever side asked; of those that no stream
 * uses, the least recently used one is closed, kept or not.  Only the lower end may close a link:
 * the other may have heard of a stream that the lower place has yet to hear of, and could not ask
 * again.  So links that only the other end may close do not count; when there are as many of these,
 * the higher end asks for the least recently used one to be closed (ANSWER, without a request) and
 * accepts half as many more meanwhile.  When no link can be made, or one fails, the streams over it
 * are broken and use the main tree; it is never taken for a death.
 *
 * A place that is asked while it still has the link has not noticed yet that the other has closed
 * it, and connects when it does; or it was asked twice for this one, which the time shows.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "overlay/core.h"
#include "overlay/stream.h"

#define LATERAL_PATIENCE_NS (2000 * 1000000ull) /* from the request to the link */

enum lateral_state { LATERAL_ASKING, LATERAL_CONNECTING, LATERAL_UP };

struct lateral {
    struct lateral *next;
    uint32_t place;
    uint32_t incarnation; /* UP */
    enum lateral_state state;
    uint64_t since_ns; /* asked, or last known to be in use */
    bool is_unwanted;  /* the lower end has been asked to close it, since then */
    uint32_t owners[ENDPOINT_LATERAL_OWNERS_MAX]; /* of series that have used it, the latest last */
    uint32_t owners_count;
    struct addresses *again; /* UP: requested again, by the end that has closed it; else NULL */
    uint64_t again_ns;       /* when; it waits as long as for any other link */
};

/* Of two places the lower one asks and the higher one connects. */
static void lateral_check_one(const struct overlay *overlay, const struct lateral *lateral)
{
    assert(lateral->place != overlay->place && lateral->place < TREE_PLACES_MAX);
    assert(lateral->state != LATERAL_ASKING || overlay->place < lateral->place);
    assert(lateral->state != LATERAL_CONNECTING || lateral->place < overlay->place);
    assert(lateral->state <= LATERAL_UP);
    assert(lateral->owners_count <= ENDPOINT_LATERAL_OWNERS_MAX);
    assert(lateral->again == NULL || lateral->state == LATERAL_UP);
    assert(lateral->since_ns <= overlay->now_ns && lateral->again_ns <= overlay->now_ns);
}

/* There are few: all are checked. */
void lateral_check(const struct overlay *overlay)
{
    uint32_t count = 0;

    for (const struct lateral *lateral = overlay->laterals.first; lateral != NULL;
         lateral = lateral->next) {
        lateral_check_one(overlay, lateral);
        count++;
    }
    assert(count == overlay->laterals.count && count <= ENDPOINT_LATERALS_MAX);
}

static struct lateral *lateral_find(const struct overlay *overlay, uint32_t place)
{
    struct lateral *lateral = overlay->laterals.first;

    while (lateral != NULL && lateral->place != place)
        lateral = lateral->next;
    return lateral;
}

static struct lateral *lateral_add(struct overlay *overlay, uint32_t place,
                                   enum lateral_state state)
{
    struct lateral *lateral = memory_allocate_zeroed(sizeof(*lateral));

    assert(lateral_find(overlay, place) == NULL);
    lateral->place = place;
    lateral->state = state;
    lateral->since_ns = overlay->now_ns;
    lateral->next = overlay->laterals.first;
    overlay->laterals.first = lateral;
    overlay->laterals.count++;
    return lateral;
}

static void lateral_remove(struct overlay *overlay, struct lateral *lateral)
{
    struct lateral **link = &overlay->laterals.first;

    while (*link != lateral)
        link = &(*link)->next;
    *link = lateral->next;
    free(lateral->again);
    free(lateral);
    overlay->laterals.count--;
}

/* Removes it, closes its link if any, and notifies the streams. */
static void lateral_drop(struct overlay *overlay, struct lateral *lateral)
{
    uint32_t place = lateral->place;
    bool has_link = lateral->state != LATERAL_ASKING;

    lateral_remove(overlay, lateral);
    if (has_link)
        overlay_close(overlay, place);
    else if (membership_linked(overlay, place) == NULL) /* else it has become our child meanwhile */
        stream_link_down(overlay, place, true);
}

static void remove_owner(struct lateral *lateral, uint32_t owner)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < lateral->owners_count; i++) {
        if (lateral->owners[i] != owner)
            lateral->owners[kept++] = lateral->owners[i];
    }
    lateral->owners_count = kept;
}

/* No stream that we know of uses it. */
static bool is_idle(const struct overlay *overlay, const struct lateral *lateral)
{
    return lateral->state != LATERAL_CONNECTING && !stream_uses(overlay, lateral->place);
}

static bool is_ours_to_close(const struct overlay *overlay, const struct lateral *lateral)
{
    return overlay->place < lateral->place;
}

/* Asks the lower end of a link that is unused here to close it, if it does not use it either. */
static void ask_to_close(struct overlay *overlay, struct lateral *lateral)
{
    lateral->is_unwanted = true;
    route_tell(overlay, OVERLAY_ANSWER, lateral->place, NULL);
}

static void take_older(struct lateral **oldest, struct lateral *lateral)
{
    if (*oldest == NULL || lateral->since_ns < (*oldest)->since_ns)
        *oldest = lateral;
}

/* Makes room for one more by closing the least recently used one. */
static bool make_room(struct overlay *overlay)
{
    struct lateral *ours = NULL;
    struct lateral *theirs = NULL;
    uint32_t theirs_count = 0;

    if (overlay->laterals.count < ENDPOINT_LATERALS_USED_MAX)
        return true;
    for (struct lateral *lateral = overlay->laterals.first; lateral != NULL;
         lateral = lateral->next) {
        if (!is_idle(overlay, lateral))
            continue;
        if (is_ours_to_close(overlay, lateral)) {
            take_older(&ours, lateral);
            continue;
        }
        theirs_count++;
        if (!lateral->is_unwanted)
            take_older(&theirs, lateral);
    }
    if (theirs_count >= ENDPOINT_LATERALS_IDLE_MAX && theirs != NULL)
        ask_to_close(overlay, theirs);
    if (overlay->laterals.count - theirs_count < ENDPOINT_LATERALS_USED_MAX &&
        theirs_count < ENDPOINT_LATERALS_IDLE_MAX + ENDPOINT_LATERALS_ASKED_MAX)
        return true;
    if (ours != NULL)
        lateral_drop(overlay, ours);
    return ours != NULL;
}

bool lateral_is_up(const struct overlay *overlay, uint32_t place)
{
    const struct lateral *lateral = lateral_find(overlay, place);

    return lateral != NULL && lateral->state == LATERAL_UP;
}

bool lateral_is_known(const struct overlay *overlay, uint32_t place)
{
    const struct lateral *lateral = lateral_find(overlay, place);

    return lateral != NULL && lateral->state != LATERAL_ASKING;
}

void lateral_want(struct overlay *overlay, uint32_t place)
{
    if (lateral_find(overlay, place) != NULL)
        return;
    if (!make_room(overlay)) {
        stream_link_down(overlay, place, true);
        return;
    }
    lateral_add(overlay, place, LATERAL_ASKING);
    route_tell(overlay, OVERLAY_ASK, place, overlay->own);
}

/* Takes addresses. */
static void lateral_connect(struct overlay *overlay, uint32_t place, struct addresses *addresses)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_CONNECT);

    assert(place < overlay->place && addresses != NULL);
    lateral_add(overlay, place, LATERAL_CONNECTING);
    action->place = place;
    action->addresses = addresses;
}

void lateral_on_ask(struct overlay *overlay, uint32_t source, const struct wire_bytes *payload)
{
    struct lateral *lateral = lateral_find(overlay, source);
    struct addresses addresses;
    struct wire_reader reader;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    address_wire_get(&reader, &addresses);
    if (lateral != NULL && lateral->state == LATERAL_UP && wire_finish(&reader) == 0) {
        free(lateral->again);
        lateral->again = memory_copy(&addresses, sizeof(addresses));
        lateral->again_ns = overlay->now_ns;
        return;
    }
    /* A link that we have, or are opening to a future parent, is reported in its own way. */
    if (overlay_has_link(overlay, source) || lateral != NULL || source == overlay->join.target ||
        ranges_contains(&overlay->dead, source))
        return;
    if (wire_finish(&reader) < 0 || source >= overlay->place || !make_room(overlay)) {
        route_tell(overlay, OVERLAY_ANSWER, source, NULL);
        return;
    }
    lateral_connect(overlay, source, memory_copy(&addresses, sizeof(addresses)));
}

void lateral_on_answer(struct overlay *overlay, uint32_t source)
{
    struct lateral *lateral = lateral_find(overlay, source);

    if (lateral != NULL && (lateral->state == LATERAL_ASKING ||
                            (is_idle(overlay, lateral) && is_ours_to_close(overlay, lateral))))
        lateral_drop(overlay, lateral);
}

bool lateral_up(struct overlay *overlay, uint32_t place, uint32_t incarnation)
{
    struct lateral *lateral = lateral_find(overlay, place);
    struct frame frame;

    if (lateral == NULL || lateral->state != LATERAL_CONNECTING)
        return false;
    lateral->state = LATERAL_UP;
    lateral->incarnation = incarnation;
    stream_encode_lateral(&frame);
    overlay_send(overlay, place, &frame);
    return true;
}

int lateral_on_lateral(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct lateral *asked = lateral_find(overlay, from);
    uint32_t incarnation;

    if (stream_decode_lateral(frame) < 0 || from < overlay->place ||
        !membership_release_guest(overlay, from, &incarnation))
        return -EBADMSG;
    if (asked == NULL && make_room(overlay))
        asked = lateral_add(overlay, from, LATERAL_UP);
    if (asked == NULL) {
        overlay_close(overlay, from);
        return 0;
    }
    asked->state = LATERAL_UP;
    asked->incarnation = incarnation;
    asked->since_ns = overlay->now_ns;
    return 0;
}

bool lateral_down(struct overlay *overlay, uint32_t place)
{
    struct lateral *lateral = lateral_find(overlay, place);

    if (lateral == NULL || lateral->state == LATERAL_ASKING)
        return false;
    lateral_remove(overlay, lateral);
    return true;
}

bool lateral_lost(struct overlay *overlay, uint32_t place)
{
    struct lateral *lateral = lateral_find(overlay, place);
    struct addresses *again = NULL;

    if (lateral == NULL || lateral->state == LATERAL_ASKING)
        return false;
    if (overlay->now_ns < lateral->again_ns + LATERAL_PATIENCE_NS) {
        again = lateral->again;
        lateral->again = NULL;
    }
    lateral_remove(overlay, lateral);
    if (again != NULL)
        lateral_connect(overlay, place, again);
    return true;
}

void lateral_used(struct overlay *overlay, uint32_t place, const struct operation_name *key)
{
    struct lateral *lateral = lateral_find(overlay, place);

    if (lateral == NULL || lateral->state != LATERAL_UP)
        return;
    lateral->since_ns = overlay->now_ns;
    lateral->is_unwanted = false;
    if (key == NULL)
        return;
    remove_owner(lateral, key->owner);
    if (lateral->owners_count == ENDPOINT_LATERAL_OWNERS_MAX)
        remove_owner(lateral, lateral->owners[0]);
    lateral->owners[lateral->owners_count++] = key->owner;
}

void lateral_forget(struct overlay *overlay, uint32_t owner)
{
    for (struct lateral *lateral = overlay->laterals.first; lateral != NULL;
         lateral = lateral->next)
        remove_owner(lateral, owner);
}

void lateral_give_up(struct overlay *overlay, uint32_t place)
{
    struct lateral *lateral = lateral_find(overlay, place);

    if (lateral != NULL)
        lateral_drop(overlay, lateral);
}

enum lateral_take lateral_take(struct overlay *overlay, uint32_t place, uint32_t *ret_incarnation)
{
    struct lateral *lateral = lateral_find(overlay, place);
    enum lateral_state state;

    if (lateral == NULL)
        return LATERAL_TAKE_NOTHING;
    state = lateral->state;
    *ret_incarnation = lateral->incarnation;
    lateral_remove(overlay, lateral);
    if (state == LATERAL_ASKING)
        return LATERAL_TAKE_NOTHING;
    return state == LATERAL_UP ? LATERAL_TAKE_LINK : LATERAL_TAKE_ATTEMPT;
}

void lateral_death(struct overlay *overlay, const struct ranges *places)
{
    struct lateral *next;

    for (struct lateral *lateral = overlay->laterals.first; lateral != NULL; lateral = next) {
        next = lateral->next;
        if (ranges_contains(places, lateral->place))
            lateral_drop(overlay, lateral);
    }
}

/* Never: it is kept, or the other end closes it. */
static uint64_t due_ns(const struct overlay *overlay, const struct lateral *lateral)
{
    if (lateral->state != LATERAL_UP)
        return lateral->since_ns + LATERAL_PATIENCE_NS;
    if (lateral->owners_count > 0 || !is_ours_to_close(overlay, lateral))
        return OVERLAY_NEVER_NS;
    return lateral->since_ns + LATERAL_IDLE_NS;
}

uint64_t lateral_deadline_ns(const struct overlay *overlay)
{
    uint64_t deadline_ns = OVERLAY_NEVER_NS;

    for (const struct lateral *lateral = overlay->laterals.first; lateral != NULL;
         lateral = lateral->next) {
        if (due_ns(overlay, lateral) < deadline_ns)
            deadline_ns = due_ns(overlay, lateral);
    }
    return deadline_ns;
}

void lateral_timer(struct overlay *overlay)
{
    struct lateral *next;

    for (struct lateral *lateral = overlay->laterals.first; lateral != NULL; lateral = next) {
        next = lateral->next;
        if (overlay->now_ns < due_ns(overlay, lateral))
            continue;
        if (lateral->state == LATERAL_UP && stream_uses(overlay, lateral->place))
            lateral->since_ns = overlay->now_ns;
        else
            lateral_drop(overlay, lateral);
    }
}

void lateral_close_all(struct overlay *overlay)
{
    while (overlay->laterals.first != NULL) {
        struct lateral *lateral = overlay->laterals.first;
        uint32_t place = lateral->place;
        bool has_link = lateral->state != LATERAL_ASKING;

        lateral_remove(overlay, lateral);
        if (has_link)
            overlay_act(overlay, OVERLAY_ACTION_CLOSE)->place = place;
    }
}

void lateral_fini(struct overlay *overlay)
{
    while (overlay->laterals.first != NULL)
        lateral_remove(overlay, overlay->laterals.first);
}

uint32_t lateral_list(const struct overlay *overlay,
                      struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX])
{
    uint32_t count = 0;

    for (const struct lateral *lateral = overlay->laterals.first; lateral != NULL;
         lateral = lateral->next) {
        struct endpoint_lateral *told = &ret_laterals[count++];

        assert(count <= ENDPOINT_LATERALS_MAX);
        told->place = lateral->place;
        told->owners_count = lateral->owners_count;
        memcpy(told->owners, lateral->owners, sizeof(told->owners));
    }
    return count;
}
