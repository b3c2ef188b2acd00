/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way down: the places below this one.
 *
 * The table has one row per child range, not per child: heads change, ranges stay.  A row once ours
 * stays ours as long as we live, because a death can only enlarge a scope.
 *
 * A place that asks to join is a guest until it is answered.  A place answers only when it is ready
 * (has a parent and everything the log had for its range); until then, and as long as no living
 * place is linked where the guest belongs, the guest waits.
 *
 * A broken link is not a death.  The parent reports it, the root puts the death into its log, and
 * only that entry changes the tree, at all places in the same order.  Reports are kept and repeated
 * to each new parent until the entry arrives, so no relay's death can lose one.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "overlay/broadcast.h"
#include "overlay/collective.h"
#include "overlay/core.h"
#include "overlay/limits.h"

/* ---- guests ---- */

static struct guest *guest_find(const struct overlay *overlay, uint32_t place)
{
    struct guest *guest = overlay->guests;

    while (guest != NULL && guest->place != place)
        guest = guest->next;
    return guest;
}

static struct guest *guest_add(struct overlay *overlay, uint32_t place, uint32_t incarnation)
{
    struct guest *guest = memory_allocate_zeroed(sizeof(*guest));

    assert(place > overlay->place && place < TREE_PLACES_MAX);
    guest->place = place;
    guest->incarnation = incarnation;
    guest->next = overlay->guests;
    overlay->guests = guest;
    overlay->guests_count++;
    return guest;
}

static void guest_remove(struct overlay *overlay, struct guest *guest)
{
    struct guest **link = &overlay->guests;

    while (*link != guest)
        link = &(*link)->next;
    *link = guest->next;
    overlay->guests_count--;
    if (guest->asked)
        overlay_join_fini(&guest->join);
    free(guest);
}

static void guest_dismiss(struct guest *guest)
{
    assert(guest->asked && !guest->dismissed);
    overlay_join_fini(&guest->join);
    guest->asked = false;
    guest->dismissed = true;
}

static void guest_refuse(struct overlay *overlay, struct guest *guest, enum overlay_refusal refusal,
                         const char *text)
{
    struct overlay_refuse refuse = {.refusal = (uint8_t)refusal};
    struct frame frame;

    strncpy(refuse.text, text, sizeof(refuse.text) - 1);
    overlay_encode_refuse(&refuse, &frame);
    overlay_send(overlay, guest->place, &frame);
    guest_dismiss(guest);
}

static void guest_hold(struct overlay *overlay, struct guest *guest)
{
    struct frame frame;

    if (guest->held || !join_is_whole(overlay))
        return;
    guest->held = true;
    overlay_encode_hold(&frame);
    overlay_send(overlay, guest->place, &frame);
}

/* If the child is stopped, or is lost before it has reported the guest, the guest can be probed. */
static void guest_redirect(struct overlay *overlay, struct guest *guest, struct child *child)
{
    struct overlay_redirect redirect = {.place = child->head, .whole = join_is_whole(overlay)};
    struct wire_reader reader;
    struct frame frame;

    assert(child->state == CHILD_LINKED && child->head != guest->place);
    wire_reader_init(&reader, child->addresses->data, child->addresses->length_bytes);
    address_wire_get(&reader, &redirect.addresses);
    overlay_encode_redirect(&redirect, &frame);
    overlay_send(overlay, guest->place, &frame);
    heirs_add(overlay, child, guest->place, &guest->join.addresses);
    guest_dismiss(guest);
}

bool membership_is_guest(const struct overlay *overlay, uint32_t place)
{
    return guest_find(overlay, place) != NULL;
}

bool membership_is_parted(const struct overlay *overlay, uint32_t place)
{
    const struct guest *guest = guest_find(overlay, place);

    return guest != NULL && guest->parted;
}

bool membership_release_guest(struct overlay *overlay, uint32_t place, uint32_t *ret_incarnation)
{
    struct guest *guest = guest_find(overlay, place);

    if (guest == NULL || guest->asked || guest->dismissed)
        return false;
    *ret_incarnation = guest->incarnation;
    guest_remove(overlay, guest);
    return true;
}

void membership_waiting(const struct overlay *overlay, struct ranges *ret_waiting)
{
    for (const struct guest *guest = overlay->guests; guest != NULL; guest = guest->next) {
        if (!guest->asked)
            continue;
        ranges_add_all(ret_waiting, &guest->join.arrived);
        ranges_add_all(ret_waiting, &guest->join.waiting);
    }
}

void membership_close_guests(struct overlay *overlay)
{
    while (overlay->guests != NULL) {
        struct guest *guest = overlay->guests;
        uint32_t place = guest->place;

        if (guest->asked && overlay->leaving)
            guest_refuse(overlay, guest, OVERLAY_REFUSAL_LEFT, "the instance is leaving");
        guest_remove(overlay, guest);
        overlay_close(overlay, place);
    }
}

void membership_up(struct overlay *overlay, uint32_t place, uint32_t incarnation)
{
    if (place <= overlay->place || place >= TREE_PLACES_MAX ||
        membership_linked(overlay, place) != NULL || guest_find(overlay, place) != NULL ||
        overlay->guests_count >= OVERLAY_GUESTS_MAX)
        overlay_close(overlay, place); /* not from above, a second link, or too many */
    else
        guest_add(overlay, place, incarnation);
}

/* ---- the table of child ranges ---- */

static void child_check(const struct overlay *overlay, const struct child *child)
{
    assert(child >= overlay->children && child < overlay->children + overlay->children_count);
    assert(child->state <= CHILD_GONE);
    assert(overlay->place < child->range.first && child->range.first <= child->range.last);
    assert(child->head == TREE_NO_PLACE ||
           (child->range.first <= child->head && child->head <= child->range.last));
    assert(child->state != CHILD_LINKED || child->head != TREE_NO_PLACE);
    assert((child->state == CHILD_LINKED) == (child->addresses != NULL));
    assert(child->since_ns <= overlay->now_ns + overlay->lease_ns);
}

void membership_check(const struct overlay *overlay)
{
    assert((overlay->children_count == 0) == (overlay->children == NULL));
    assert((overlay->guests_count == 0) == (overlay->guests == NULL));
    assert(overlay->started || overlay->children_count == 0);
    assert(!overlay->settled || overlay->started);
    assert(!overlay->started || ranges_contains(&overlay->arrived, overlay->place));
}

struct child *membership_child_of(const struct overlay *overlay, uint32_t place)
{
    uint32_t low = 0;
    uint32_t high = overlay->children_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (overlay->children[middle].range.last < place)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == overlay->children_count || overlay->children[low].range.first > place)
        return NULL;
    return &overlay->children[low];
}

struct child *membership_linked(const struct overlay *overlay, uint32_t place)
{
    struct child *child = membership_child_of(overlay, place);

    return child != NULL && child->head == place && child->state == CHILD_LINKED ? child : NULL;
}

static void child_set_state(struct overlay *overlay, struct child *child, enum child_state state)
{
    assert(state <= CHILD_GONE);
    child->state = state;
    child->since_ns = overlay->now_ns;
    child->is_noticed = false;
    heirs_changed(overlay);
    if (state != CHILD_LINKED) {
        message_release(child->addresses);
        child->addresses = NULL;
    }
}

static void child_cut_off(struct overlay *overlay, struct child *child, enum child_state state)
{
    child_set_state(overlay, child, state);
    child->is_judged = false;
    absence_expect(overlay, child, overlay->now_ns);
}

/* A child has left.  It closes the link itself, when all below it have gone. */
static void child_part(struct overlay *overlay, const struct child *child)
{
    struct guest *guest = guest_add(overlay, child->head, child->incarnation);
    uint64_t due_ns = overlay->now_ns + overlay->lease_ns;

    guest->dismissed = true;
    guest->parted = true;
    guest->received_ns = overlay->now_ns;
    if (due_ns < overlay->parted_ns)
        overlay->parted_ns = due_ns;
    stream_link_down(overlay, child->head, false);
}

/* The head died or left: the next one replaces it in the row.  The time since when the range is cut
 * off stays.  Or a range in which all were dead has a new place. */
static void child_inherit(struct overlay *overlay, struct child *child, uint32_t head)
{
    if (child->state == CHILD_LINKED && ranges_contains(&overlay->left, child->head))
        child_part(overlay, child);
    else if (child->state == CHILD_LINKED)
        overlay_close(overlay, child->head);
    child->head = head;
    child->incarnation = 0;
    if (head == TREE_NO_PLACE)
        child_set_state(overlay, child, CHILD_EMPTY);
    else if (child->state == CHILD_LOST)
        child->state = CHILD_HEIR;
    else if (child->state == CHILD_LINKED) {
        child_cut_off(overlay, child, CHILD_HEIR);
        child->was_closed = true;
    }
    child_check(overlay, child);
}

/* Appends the rows added to our scope by a death or by growth. */
static void children_extend(struct overlay *overlay, enum child_state state, uint64_t acked)
{
    struct tree tree = overlay_tree(overlay);
    struct tree_cursor cursor = {{0}};
    struct range range;
    uint32_t head;

    while (tree_next_child(&tree, overlay->place, &cursor, &range, &head)) {
        uint32_t count = overlay->children_count;

        if (count > 0 && range.first <= overlay->children[count - 1].range.last)
            continue;
        overlay->children =
            memory_resize(overlay->children, (count + 1) * sizeof(*overlay->children));
        overlay->children[count] = (struct child){
            .range = range,
            .head = head,
            .state = state,
            .was_closed = overlay->cut_off_closed,
            .acked = acked,
            .since_ns = overlay->now_ns,
        };
        overlay->children_count = count + 1;
        child_check(overlay, &overlay->children[count]);
        if (state == CHILD_HEIR)
            absence_expect(overlay, &overlay->children[count], overlay->cut_off_ns);
    }
}

/* Rows that are new, or inhabited again, get this state and have had the log up to acked. */
static void children_refresh(struct overlay *overlay, enum child_state state, uint64_t acked)
{
    struct tree tree = overlay_tree(overlay);

    for (uint32_t i = 0; i < overlay->children_count; i++) {
        struct child *child = &overlay->children[i];
        uint32_t head = tree_head(&tree, child->range);

        if (child->head == TREE_NO_PLACE && head != TREE_NO_PLACE && child->acked < acked)
            child->acked = acked;
        if (head != child->head)
            child_inherit(overlay, child, head);
    }
    children_extend(overlay, state, acked);
}

void membership_start(struct overlay *overlay)
{
    ranges_add(&overlay->arrived, overlay->place, overlay->place);
    children_extend(overlay, CHILD_EMPTY, 0);
}

void membership_fini(struct overlay *overlay)
{
    while (overlay->guests != NULL)
        guest_remove(overlay, overlay->guests);
    for (uint32_t i = 0; i < overlay->children_count; i++)
        message_release(overlay->children[i].addresses);
    free(overlay->children);
}

/* ---- answers ---- */

static void guest_accept(struct overlay *overlay, struct guest *guest, struct child *child)
{
    const struct overlay_join *join = &guest->join;
    bool knows_range =
        join->scope.first == child->range.first && join->scope.last == child->range.last;
    /* It keeps the entries of its previous scope itself until all below have them; those of the
     * rest of the range, which it now heads, it may never have seen. */
    uint64_t after = knows_range && join->received > child->acked ? join->received : child->acked;
    struct overlay_welcome welcome = {.range = child->range, .base = child->acked};
    struct buffer packed = {0};
    struct frame frame;

    assert(guest->asked && child->head == guest->place && child->state != CHILD_LINKED);
    if (join->received == 0)
        broadcast_tree_at(overlay, child->acked, &welcome);
    if (child->state == CHILD_HEIR && overlay->now_ns > child->since_ns)
        welcome.cut_ns = overlay->now_ns - child->since_ns;
    welcome.closed = child->was_closed;
    child->incarnation = guest->incarnation;
    child->echo_stamp_ns = join->stamp_ns;
    child->echo_received_ns = guest->received_ns;
    child_set_state(overlay, child, CHILD_LINKED);
    child->is_heard = false;
    lease_watch(overlay);
    address_wire_put(&join->addresses, &packed);
    child->addresses = message_from_buffer(&packed);
    buffer_fini(&packed);
    child_check(overlay, child);
    ranges_clip(&guest->join.arrived, child->range.first, child->range.last);
    ranges_add_all(&overlay->arrived, &guest->join.arrived);
    guest_remove(overlay, guest);
    welcome.head = broadcast_head(overlay, child);
    welcome.lease = lease_for(overlay, child);
    overlay_encode_welcome(&welcome, &frame);
    overlay_welcome_fini(&welcome);
    overlay_send(overlay, child->head, &frame);
    broadcast_replay(overlay, child, after);
    heirs_hand_on(overlay, child);
    broadcast_large_linked(overlay, child->head);
    collective_linked(overlay, child);
    route_flush(overlay);
}

/* Earlier entries concern neither a new place nor those after it. */
static void child_is_born(struct overlay *overlay, struct child *child, const struct guest *guest)
{
    uint64_t birth = guest->join.received == 0 ? broadcast_birth(overlay, guest->place) : 0;

    if (birth <= child->acked)
        return;
    child->acked = birth;
    overlay->broadcast.trim_wanted = true;
}

static void guest_refuse_gone(struct overlay *overlay, struct guest *guest)
{
    if (ranges_contains(&overlay->left, guest->place))
        guest_refuse(overlay, guest, OVERLAY_REFUSAL_LEFT, "this place was asked to leave");
    else if (!ranges_contains(&overlay->dead, guest->place))
        guest_refuse(overlay, guest, OVERLAY_REFUSAL_EVICTED, "another daemon holds this place");
    else
        guest_refuse(overlay, guest, OVERLAY_REFUSAL_EVICTED, "this place is considered dead");
}

/* The heir joins as if for the first time, although it was here before: this is a second daemon of
 * its place.  The first one, if it is alive, will ask too. */
static bool is_second(const struct overlay *overlay, const struct guest *guest,
                      const struct child *child)
{
    return child->state == CHILD_HEIR && child->head == guest->place && guest->join.fresh &&
           ranges_contains(&overlay->arrived, guest->place);
}

/* Returns true if the guest became a child. */
static bool guest_answer(struct overlay *overlay, struct guest *guest)
{
    struct child *child = membership_child_of(overlay, guest->place);

    if (ranges_contains(&overlay->dead, guest->place)) {
        guest_refuse_gone(overlay, guest);
    } else if (child == NULL && guest->place >= overlay->population && !overlay_is_root(overlay)) {
        guest_hold(overlay, guest); /* it is new, and arrived before its GROW */
    } else if (child == NULL) {
        uint32_t place = guest->place;

        guest_remove(overlay, guest); /* not below us: it asks the wrong place */
        overlay_close(overlay, place);
    } else if (is_second(overlay, guest, child)) {
        guest_refuse_gone(overlay, guest);
    } else if (child->state == CHILD_GONE) {
        guest_refuse(overlay, guest, OVERLAY_REFUSAL_LEFT, "the instance is leaving");
    } else if (child->head != guest->place && child->state == CHILD_LINKED) {
        guest_redirect(overlay, guest, child);
    } else if (child->head == guest->place &&
               (child->state == CHILD_EMPTY || child->state == CHILD_HEIR) &&
               guest->join.received <= overlay->broadcast.received) {
        child_is_born(overlay, child, guest);
        guest_accept(overlay, guest, child);
        return true;
    } else {
        guest_hold(overlay, guest);
    }
    return false;
}

static void answer_guests(struct overlay *overlay)
{
    bool again = true;

    while (again) {
        struct guest *guest = overlay->guests;

        again = false;
        while (guest != NULL) {
            struct guest *next = guest->next;

            if (guest->asked)
                again = guest_answer(overlay, guest) || again;
            guest = next;
        }
    }
}

static void guest_arrives(struct overlay *overlay, const struct guest *guest)
{
    struct ranges waiting = {0};

    if (overlay_is_ready(overlay)) {
        membership_changed(overlay);
        return;
    }
    /* Places that arrived below it wait as well, in case we are asked for those present. */
    ranges_copy(&waiting, &guest->join.waiting);
    ranges_add_all(&waiting, &guest->join.arrived);
    join_tell_waiting(overlay, &waiting);
    ranges_fini(&waiting);
}

int membership_on_join(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct guest *guest = guest_find(overlay, from);
    int rc;

    if (guest->asked || guest->dismissed)
        return -EBADMSG;
    rc = overlay_decode_join(frame, &guest->join);
    if (rc < 0)
        return rc;
    guest->asked = true;
    guest->received_ns = overlay->now_ns;
    ranges_add(&guest->join.waiting, from, from);
    if (guest->join.version != OVERLAY_VERSION || guest->join.places != overlay->places ||
        guest->join.radix != overlay->radix)
        guest_refuse(overlay, guest, OVERLAY_REFUSAL_MISMATCH,
                     "version, number of places or radix differ");
    else
        guest_arrives(overlay, guest);
    return 0;
}

int membership_on_waiting(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct guest *guest = guest_find(overlay, from);
    struct ranges waiting;
    int rc = overlay_decode_waiting(frame, &waiting);

    if (rc < 0)
        return rc;
    if (guest != NULL && guest->asked) { /* else it has been answered meanwhile */
        ranges_add_all(&guest->join.waiting, &waiting);
        join_tell_waiting(overlay, &waiting);
    }
    ranges_fini(&waiting);
    return 0;
}

/* ---- arrivals ---- */

/* Every place of our scope has arrived or is dead. */
static bool is_complete(const struct overlay *overlay)
{
    struct tree tree = overlay_tree(overlay);
    struct range scope = tree_scope(&tree, overlay->place);
    uint32_t place = scope.first;

    if (scope.last >= overlay->population)
        scope.last = overlay->population - 1;
    for (;;) {
        if (!ranges_first_gap(&overlay->arrived, place, scope.last, &place))
            return true;
        if (!ranges_contains(&overlay->dead, place))
            return false;
        if (!ranges_first_gap(&overlay->dead, place, scope.last, &place))
            return true;
    }
}

void membership_tell_arrived(struct overlay *overlay, bool also_partial)
{
    uint32_t count = (uint32_t)ranges_count(&overlay->arrived);
    struct frame frame;

    if (!overlay_is_ready(overlay) || count == overlay->arrived_reported)
        return;
    if (!also_partial && !is_complete(overlay))
        return;
    overlay->arrived_reported = count;
    heirs_tell(overlay); /* so that the parent of a complete place knows the addresses of its
                          * heirs */
    overlay_encode_arrived(&overlay->arrived, &frame);
    overlay_send(overlay, overlay->join.target, &frame);
}

static void arrivals_changed(struct overlay *overlay)
{
    if (!overlay_is_root(overlay)) {
        membership_tell_arrived(overlay, false);
    } else if (!overlay->complete_reported && is_complete(overlay)) {
        overlay->complete_reported = true;
        overlay_act(overlay, OVERLAY_ACTION_COMPLETE);
    }
}

int membership_on_arrived(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    const struct child *child = membership_linked(overlay, from);
    struct ranges arrived;
    int rc = overlay_decode_arrived(frame, &arrived);

    if (rc < 0)
        return rc;
    ranges_clip(&arrived, child->range.first, child->range.last);
    ranges_add_all(&overlay->arrived, &arrived);
    ranges_fini(&arrived);
    arrivals_changed(overlay);
    return 0;
}

void membership_changed(struct overlay *overlay)
{
    if (overlay->ended || !overlay_is_ready(overlay))
        return;
    overlay->settled = true;
    answer_guests(overlay);
    arrivals_changed(overlay);
    membership_leave_check(overlay);
}

/* ---- losses ---- */

void membership_joined(struct overlay *overlay)
{
    deaths_joined(overlay);
    for (struct guest *guest = overlay->guests; guest != NULL; guest = guest->next)
        guest->held = false; /* they are notified again once there is a path */
}

void membership_heard(struct overlay *overlay, uint32_t place)
{
    struct child *child = membership_linked(overlay, place);

    if (child != NULL)
        child->is_heard = true;
}

/* A waiting place may give up and ask another while its WELCOME is under way.  Then it is not our
 * child, and not dead; if it is dead, probing will show that (absence.c). */
static void child_strayed(struct overlay *overlay, struct child *child)
{
    heirs_add_head(overlay, child);
    child_cut_off(overlay, child, CHILD_HEIR);
    child->was_closed = true;
}

void membership_stray(struct overlay *overlay)
{
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        struct child *child = &overlay->children[i];

        if (child->state != CHILD_LINKED)
            continue;
        stream_link_down(overlay, child->head, false);
        child_strayed(overlay, child);
    }
}

static void child_lost(struct overlay *overlay, struct child *child, enum endpoint_loss loss)
{
    struct overlay_death death = {
        .range = {child->head, child->head},
        .incarnation = child->incarnation,
        .loss = (uint8_t)loss,
        .silent_ns = loss == ENDPOINT_LOSS_SILENT ? overlay->now_ns - child->since_ns : 0};

    if (overlay->leaving || overlay->departing) {
        child_set_state(overlay, child, CHILD_GONE);
        if (overlay->leaving)
            membership_changed(overlay);
        return;
    }
    if (!child->is_heard && loss != ENDPOINT_LOSS_SILENT) {
        child_strayed(overlay, child);
        return;
    }
    if (lease_is_abandoned(overlay) && !overlay_is_root(overlay)) {
        overlay_end(overlay, ENDPOINT_END_EVICTED,
                    "this daemon did nothing for so long that place %u has left it", child->head);
        return;
    }
    child_cut_off(overlay, child, CHILD_LOST);
    child->was_closed = loss != ENDPOINT_LOSS_SILENT;
    deaths_report(overlay, &death);
}

void membership_down(struct overlay *overlay, uint32_t place, enum endpoint_loss loss)
{
    struct child *child = membership_linked(overlay, place);
    struct guest *guest = guest_find(overlay, place);

    if (guest != NULL) {
        guest_remove(overlay, guest);
        membership_leave_check(overlay);
    } else if (child != NULL) {
        child_lost(overlay, child, loss);
    }
}

void membership_drop(struct overlay *overlay, struct child *child, enum endpoint_loss loss)
{
    overlay_close(overlay, child->head);
    child_lost(overlay, child, loss);
}

/* While all leave, a daemon that exits has left: that may be reported before the end of its
 * link. */
void membership_failed(struct overlay *overlay, uint32_t place)
{
    struct child *child = membership_child_of(overlay, place);

    if (!overlay->leaving || child == NULL || child->head != place || child->state == CHILD_LOST ||
        child->state == CHILD_HEIR)
        deaths_report(
            overlay, &(struct overlay_death){.range = {place, place}, .loss = ENDPOINT_LOSS_ENDED});
    else if (child->state == CHILD_LINKED)
        membership_drop(overlay, child, ENDPOINT_LOSS_ENDED);
}

static void evict_guests(struct overlay *overlay, const struct ranges *places)
{
    for (struct guest *guest = overlay->guests; guest != NULL; guest = guest->next) {
        if (guest->asked && ranges_contains(places, guest->place))
            guest_refuse_gone(overlay, guest);
    }
}

void membership_gone(struct overlay *overlay, const struct ranges *places, bool has_left)
{
    bool is_of_target =
        overlay->join.target != TREE_NO_PLACE && ranges_contains(places, overlay->join.target);

    if (has_left && is_of_target)
        join_remember_scope(overlay);
    route_dying(overlay, places);
    ranges_add_all(&overlay->dead, places);
    if (has_left)
        ranges_add_all(&overlay->left, places);
    deaths_forget(overlay);
    broadcast_tell_places(overlay, has_left ? OVERLAY_ACTION_LEFT : OVERLAY_ACTION_DEAD, places);
    evict_guests(overlay, places);
    /* Before we were ever ready no place can have been below: they have yet to start. */
    children_refresh(overlay, overlay->settled ? CHILD_HEIR : CHILD_EMPTY,
                     overlay->join.is_kept ? 0 : overlay->broadcast.base);
    if (is_of_target) {
        overlay_close(overlay, overlay->join.target);
        join_down(overlay, ENDPOINT_LOSS_UNKNOWN);
    }
    if (overlay->ended)
        return;
    lateral_death(overlay, places);
    broadcast_large_death(overlay);
    collective_death(overlay, places);
    route_death(overlay);
    membership_changed(overlay);
}

/* No place has been linked where the new ones belong. */
void membership_grown(struct overlay *overlay, uint64_t sequence)
{
    children_refresh(overlay, CHILD_EMPTY, sequence);
    membership_changed(overlay);
}

/* ---- leaving ---- */

void membership_leave(struct overlay *overlay)
{
    overlay->leaving = true;
    membership_leave_check(overlay);
}

bool membership_is_deserted(const struct overlay *overlay)
{
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (overlay->children[i].state == CHILD_LINKED)
            return false;
    }
    return true;
}

static bool somebody_parts(const struct overlay *overlay)
{
    const struct guest *guest = overlay->guests;

    while (guest != NULL && !guest->parted)
        guest = guest->next;
    return guest != NULL;
}

/* Ends this place when all below have gone.  A range whose heir has not joined yet is waited for as
 * long as an heir may take; a range without any place that ever joined is not. */
void membership_leave_check(struct overlay *overlay)
{
    if (!overlay->leaving || overlay->ended || !membership_is_deserted(overlay) ||
        somebody_parts(overlay))
        return;
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        const struct child *child = &overlay->children[i];

        if ((child->state == CHILD_LOST || child->state == CHILD_HEIR) &&
            overlay->now_ns - child->since_ns <= overlay->lease_ns)
            return;
    }
    overlay_end(overlay, ENDPOINT_END_LEFT, "the instance has left");
}

void membership_timer(struct overlay *overlay)
{
    struct guest *next;

    overlay->parted_ns = OVERLAY_NEVER_NS;
    for (struct guest *guest = overlay->guests; guest != NULL; guest = next) {
        uint64_t due_ns = guest->received_ns + overlay->lease_ns;
        uint32_t place = guest->place;

        next = guest->next;
        if (!guest->parted)
            continue;
        if (overlay->now_ns >= due_ns) {
            guest_remove(overlay, guest);
            overlay_close(overlay, place);
        } else if (due_ns < overlay->parted_ns) {
            overlay->parted_ns = due_ns;
        }
    }
}
