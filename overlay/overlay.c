/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation, the step, and which frames may come from which peers. */
#include "config.h"

#include "overlay/overlay.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "base/buffer.h"
#include "overlay/broadcast.h"
#include "overlay/collective.h"
#include "overlay/core.h"
#include "overlay/large.h"
#include "overlay/limits.h"
#include "overlay/series.h"

#define HEARTBEAT_NS    (1000 * 1000000ull)
#define LEASE_NS        (120000 * 1000000ull)
#define REJOIN_NS       (4000 * 1000000ull)
#define FIRST_JOIN_NS   (16000 * 1000000ull)
#define STALL_NS        (5000 * 1000000ull)
#define INLINE_BYTES    (64 * 1024)
#define LONG_SET_RANGES 65 /* below, a set takes at most 640 bytes of a message */

/* ---- actions ---- */

void overlay_action_fini(struct overlay_action *action)
{
    message_release(action->frame.payload);
    message_release(action->payload);
    ranges_fini(&action->places);
    free(action->addresses);
    free(action->text);
}

void overlay_actions_fini(struct overlay_actions *actions)
{
    for (uint32_t i = 0; i < actions->count; i++)
        overlay_action_fini(&actions->items[i]);
    free(actions->items);
    *actions = (struct overlay_actions){0};
}

struct overlay_action *overlay_act(struct overlay *overlay, enum overlay_action_kind kind)
{
    struct overlay_actions *actions = overlay->actions;
    struct overlay_action *action;

    assert(actions != NULL && kind < OVERLAY_ACTION_KIND_COUNT);
    if (actions->count == actions->capacity) {
        actions->capacity = actions->capacity > 0 ? 2 * actions->capacity : 8;
        actions->items = memory_resize(actions->items, actions->capacity * sizeof(*actions->items));
    }
    action = &actions->items[actions->count++];
    *action = (struct overlay_action){.kind = kind};
    return action;
}

void overlay_send(struct overlay *overlay, uint32_t place, struct frame *frame)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_SEND);

    assert(place < TREE_PLACES_MAX && place != overlay->place);
    assert(frame->type != 0 && frame->class < FRAME_CLASS_COUNT);
    frame->incarnation = overlay->incarnation;
    action->place = place;
    action->frame = *frame;
    frame->payload = NULL;
}

void overlay_send_copy(struct overlay *overlay, uint32_t place, const struct frame *frame)
{
    struct frame copy = *frame;

    copy.payload = message_reference(frame->payload);
    overlay_send(overlay, place, &copy);
}

static bool is_of_the_tree(const struct overlay *overlay, uint32_t place)
{
    return (place == overlay->join.target && overlay->join.state == JOIN_JOINED) ||
           membership_linked(overlay, place) != NULL;
}

void overlay_close(struct overlay *overlay, uint32_t place)
{
    stream_link_down(overlay, place, !is_of_the_tree(overlay, place));
    (void)lateral_down(overlay, place);
    overlay_act(overlay, OVERLAY_ACTION_CLOSE)->place = place;
}

/* ---- life ---- */

static struct message *pack_addresses(const struct addresses *addresses)
{
    struct buffer packed = {0};
    struct message *message;

    address_wire_put(addresses, &packed);
    message = message_from_buffer(&packed);
    buffer_fini(&packed);
    return message;
}

static struct message *pack_ancestors(const struct endpoint_config *config)
{
    struct buffer packed = {0};
    struct message *message;

    for (uint32_t i = 0; i < config->ancestors_count; i++)
        overlay_put_ancestor(&config->ancestors[i], &packed);
    message = message_from_buffer(&packed);
    buffer_fini(&packed);
    return message;
}

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
    return value > 0 ? value : fallback;
}

struct overlay *overlay_create(const struct endpoint_config *config)
{
    struct overlay *overlay = memory_allocate_zeroed(sizeof(*overlay));

    assert(config->places >= 1 && config->places <= TREE_PLACES_MAX);
    assert(config->place < TREE_PLACES_MAX && config->radix >= 1);
    assert(config->trees < ENDPOINT_TREES_COUNT);
    assert(config->merges_count == 0 || config->merges != NULL);
    overlay->place = config->place;
    overlay->places = config->places;
    /* A later place gets the rest when it joins. */
    overlay->population = config->place < config->places ? config->places : config->place + 1;
    overlay->radix = config->radix;
    overlay->incarnation = config->incarnation;
    overlay->heartbeat_ns = or_default(config->heartbeat_ns, HEARTBEAT_NS);
    overlay->lease_ns = or_default(config->lease_ns, LEASE_NS);
    overlay->rejoin_ns = or_default(config->rejoin_ns, REJOIN_NS);
    overlay->first_join_ns = or_default(config->first_join_ns, FIRST_JOIN_NS);
    overlay->survive_ns = config->survive_ns;
    overlay->stall_ns = or_default(config->stall_ns, STALL_NS);
    overlay->trees = config->trees;
    overlay->inline_bytes = (uint32_t)or_default(config->inline_bytes, INLINE_BYTES);
    overlay->costs = config->costs;
    overlay->long_set_ranges = (uint32_t)or_default(config->long_set_ranges, LONG_SET_RANGES);
    overlay->merges = config->merges;
    overlay->merges_count = config->merges_count;
    overlay->own = pack_addresses(&config->own);
    overlay->join.ancestors = pack_ancestors(config);
    overlay->join.ancestors_count = config->ancestors_count;
    overlay->join.target = TREE_NO_PLACE;
    overlay->join.cut_ns = OVERLAY_NEVER_NS;
    overlay->lease.bound_ns = OVERLAY_NEVER_NS;
    overlay->lease.armed_ns = OVERLAY_NEVER_NS;
    overlay->lease.watch_ns = OVERLAY_NEVER_NS;
    overlay->heirs_ns = OVERLAY_NEVER_NS;
    overlay->absence_ns = OVERLAY_NEVER_NS;
    overlay->parted_ns = OVERLAY_NEVER_NS;
    overlay->stall_probe.watch_ns = OVERLAY_NEVER_NS;
    series_init(overlay);
    return overlay;
}

void overlay_destroy(struct overlay *overlay)
{
    if (overlay == NULL)
        return;
    join_fini(overlay);
    heirs_fini(overlay);
    broadcast_fini(overlay); /* needs the children */
    membership_fini(overlay);
    deaths_fini(overlay);
    broadcast_large_fini(overlay);
    series_fini(overlay);
    stream_fini(overlay);
    lateral_fini(overlay);
    route_fini(overlay);
    stall_probe_fini(overlay);
    message_release(overlay->own);
    ranges_fini(&overlay->dead);
    ranges_fini(&overlay->left);
    ranges_fini(&overlay->arrived);
    free(overlay);
}

static void close_all(struct overlay *overlay)
{
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        if (overlay->children[i].state == CHILD_LINKED)
            overlay_close(overlay, overlay->children[i].head);
    }
    membership_close_guests(overlay);
    lateral_close_all(overlay);
    absence_close(overlay);
    if (overlay->join.state == JOIN_CONNECTING || overlay->join.state == JOIN_ASKING ||
        overlay->join.state == JOIN_JOINED)
        overlay_close(overlay, overlay->join.target);
}

void overlay_end(struct overlay *overlay, enum endpoint_end end, const char *format, ...)
{
    struct overlay_action *action;
    char line[OVERLAY_TEXT_BYTES_MAX];
    va_list arguments;

    if (overlay->ended)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    close_all(overlay);
    overlay->ended = true;
    overlay->join.state = JOIN_IDLE;
    action = overlay_act(overlay, OVERLAY_ACTION_ENDED);
    action->end = end;
    action->text = memory_copy_string(line);
}

struct tree overlay_tree(const struct overlay *overlay)
{
    return (struct tree){.places = overlay->places,
                         .radix = overlay->radix,
                         .dead = &overlay->dead,
                         .population = overlay->population};
}

bool overlay_is_ready(const struct overlay *overlay)
{
    return overlay_is_joined(overlay) && broadcast_is_caught_up(overlay);
}

void overlay_became_ready(struct overlay *overlay)
{
    overlay->join.is_kept = false;
    collective_ready(overlay);
    membership_changed(overlay);
    if (overlay->ended)
        return;
    absence_recheck(overlay);
    route_flush(overlay);
}

/* ---- frames ---- */

enum role { ROLE_PARENT = 1, ROLE_TARGET = 2, ROLE_CHILD = 4, ROLE_GUEST = 8, ROLE_LATERAL = 16 };

#define ROLE_ANY (ROLE_PARENT | ROLE_TARGET | ROLE_CHILD | ROLE_GUEST | ROLE_LATERAL)

static unsigned int role_of(const struct overlay *overlay, uint32_t place)
{
    if (place == overlay->join.target && overlay->join.state == JOIN_JOINED)
        return ROLE_PARENT;
    if (place == overlay->join.target && overlay->join.state == JOIN_ASKING)
        return ROLE_TARGET;
    if (membership_linked(overlay, place) != NULL)
        return ROLE_CHILD;
    if (membership_is_guest(overlay, place))
        return ROLE_GUEST;
    return lateral_is_up(overlay, place) ? ROLE_LATERAL : 0;
}

bool overlay_has_link(const struct overlay *overlay, uint32_t place)
{
    return role_of(overlay, place) != 0;
}

typedef int frame_handler(struct overlay *overlay, uint32_t from, const struct frame *frame);

/* Frames of different classes overtake each other, so what a parent sends right after WELCOME may
 * arrive before it: from a target a LEASE is ignored (WELCOME carries one), routed frames are
 * accepted. */
static int on_lease(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    return overlay->join.state == JOIN_JOINED ? lease_on_lease(overlay, from, frame) : 0;
}

/* A lateral link may become one of the tree. */
static int on_join(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    uint32_t incarnation;

    if (lateral_is_up(overlay, from)) {
        (void)lateral_take(overlay, from, &incarnation);
        membership_up(overlay, from, incarnation);
    }
    return membership_on_join(overlay, from, frame);
}

static const struct {
    frame_handler *handle;
    unsigned int from;
} dispatch[OVERLAY_MESSAGE_END] = {
    [OVERLAY_JOIN] = {on_join, ROLE_GUEST | ROLE_LATERAL},
    [OVERLAY_WAITING] = {membership_on_waiting, ROLE_GUEST | ROLE_CHILD},
    [OVERLAY_WELCOME] = {join_on_welcome, ROLE_TARGET},
    [OVERLAY_REDIRECT] = {join_on_redirect, ROLE_TARGET},
    [OVERLAY_HOLD] = {join_on_hold, ROLE_TARGET | ROLE_PARENT},
    [OVERLAY_REFUSE] = {join_on_refuse, ROLE_TARGET},
    [OVERLAY_ARRIVED] = {membership_on_arrived, ROLE_CHILD},
    [OVERLAY_LOST] = {deaths_on_lost, ROLE_CHILD},
    [OVERLAY_LEASE] = {on_lease, ROLE_PARENT | ROLE_TARGET},
    [OVERLAY_LEASE_ECHO] = {lease_on_echo, ROLE_CHILD},
    [OVERLAY_ENTRY] = {broadcast_on_entry, ROLE_PARENT},
    [OVERLAY_ACK] = {broadcast_on_ack, ROLE_CHILD},
    [OVERLAY_CONTRIBUTE] = {collective_on_contribute, ROLE_CHILD},
    [OVERLAY_QUERY] = {collective_on_query, ROLE_PARENT},
    [OVERLAY_RELEASE] = {collective_on_release, ROLE_PARENT},
    [OVERLAY_CANCEL] = {collective_on_cancel, ROLE_CHILD},
    [OVERLAY_UNANSWERED] = {retell_on_unanswered, ROLE_CHILD},
    [OVERLAY_AGAIN] = {retell_on_again, ROLE_PARENT},
    [OVERLAY_HEIRS] = {heirs_on_heirs, ROLE_PARENT | ROLE_CHILD},
    [OVERLAY_DATA] = {route_on_data, ROLE_PARENT | ROLE_TARGET | ROLE_CHILD},
    [OVERLAY_REQUEST] = {route_on_data, ROLE_PARENT | ROLE_TARGET | ROLE_CHILD},
    [OVERLAY_REPLY] = {route_on_data, ROLE_PARENT | ROLE_TARGET | ROLE_CHILD},
    [OVERLAY_STALLED] = {stall_probe_on_stalled, ROLE_CHILD},
    [OVERLAY_ROLL_CALL] = {stall_probe_on_call, ROLE_PARENT},
    [OVERLAY_ROLL] = {stall_probe_on_roll, ROLE_CHILD},
    [OVERLAY_ASK] = {route_on_data, ROLE_PARENT | ROLE_TARGET | ROLE_CHILD},
    [OVERLAY_ANSWER] = {route_on_data, ROLE_PARENT | ROLE_TARGET | ROLE_CHILD},
    [OVERLAY_LATERAL] = {lateral_on_lateral, ROLE_GUEST},
    [OVERLAY_GO] = {large_on_go, ROLE_PARENT},
    [OVERLAY_OPEN] = {stream_on_open, ROLE_ANY},
    [OVERLAY_CHUNK] = {stream_on_chunk, ROLE_ANY},
    [OVERLAY_RISE] = {stream_on_chunk, ROLE_CHILD},
    [OVERLAY_CREDIT] = {stream_on_credit, ROLE_ANY},
    [OVERLAY_BROKEN] = {large_on_broken, ROLE_CHILD},
    [OVERLAY_DONE] = {large_on_done, ROLE_CHILD},
    [OVERLAY_OVER] = {large_on_over, ROLE_PARENT},
};

static void on_down(struct overlay *overlay, uint32_t place, enum endpoint_loss loss)
{
    if (absence_down(overlay, place, loss))
        return;
    stream_link_down(overlay, place, !is_of_the_tree(overlay, place));
    if (lateral_lost(overlay, place))
        return;
    if (place == overlay->join.target && overlay->join.state != JOIN_WAITING &&
        overlay->join.state != JOIN_IDLE)
        join_down(overlay, loss);
    else
        membership_down(overlay, place, loss);
}

bool overlay_is_routed(uint8_t type)
{
    return type == OVERLAY_DATA || type == OVERLAY_REQUEST || type == OVERLAY_REPLY ||
           type == OVERLAY_ASK || type == OVERLAY_ANSWER;
}

/* The other messages may have been sent before WELCOME arrived. */
static bool is_of_a_child(unsigned int roles)
{
    return (roles & ROLE_CHILD) != 0 && (roles & (ROLE_GUEST | ROLE_LATERAL)) == 0;
}

static int dispatch_frame(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    unsigned int roles = frame->type < OVERLAY_MESSAGE_END ? dispatch[frame->type].from : 0;
    unsigned int role = role_of(overlay, from);

    if ((roles & role) == 0)
        return -EBADMSG;
    if (role == ROLE_CHILD && is_of_a_child(roles))
        membership_heard(overlay, from);
    return dispatch[frame->type].handle(overlay, from, frame);
}

static void on_frame(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    int rc;

    if (membership_is_parted(overlay, from))
        rc = overlay_is_routed(frame->type) ? route_on_data(overlay, from, frame) : 0;
    else
        rc = dispatch_frame(overlay, from, frame);
    /* An invalid frame drops the peer. */
    if (rc < 0 && !overlay->ended) {
        overlay_close(overlay, from);
        on_down(overlay, from, ENDPOINT_LOSS_UNKNOWN);
    }
}

/* ---- step ---- */

static void on_start(struct overlay *overlay, const struct overlay_event *event)
{
    assert(!overlay->started);
    overlay->started = true;
    if (event->own != NULL) {
        message_release(overlay->own);
        overlay->own = pack_addresses(event->own);
    }
    membership_start(overlay);
    lease_start(overlay);
    if (overlay_is_root(overlay))
        membership_changed(overlay);
    else
        join_start(overlay);
}

static void on_up(struct overlay *overlay, const struct overlay_event *event)
{
    absence_up(overlay, event->place);
    if (event->place == overlay->join.target && overlay->join.state == JOIN_CONNECTING)
        join_up(overlay, event->place);
    else if (!lateral_up(overlay, event->place, event->incarnation) &&
             !join_sought(overlay, event->place))
        membership_up(overlay, event->place, event->incarnation);
    stream_link_up(overlay, event->place);
}

static void on_timer(struct overlay *overlay)
{
    overlay->lease.armed_ns = OVERLAY_NEVER_NS;
    join_timer(overlay);
    if (!overlay->ended)
        stream_timer(overlay);
    if (!overlay->ended)
        lateral_timer(overlay);
    if (!overlay->ended)
        lease_timer(overlay);
}

static void on_call(struct overlay *overlay, const struct overlay_event *event)
{
    switch (event->kind) {
    case OVERLAY_EVENT_BROADCAST:
        assert(overlay_is_root(overlay) && overlay_may_broadcast(overlay) == 0);
        assert(event->payload == NULL || event->payload->length_bytes <= ENDPOINT_LARGE_BYTES_MAX);
        broadcast_user(overlay, event->set, event->payload);
        break;
    case OVERLAY_EVENT_LEAVE:
        assert(overlay_is_root(overlay));
        broadcast_leave(overlay);
        break;
    case OVERLAY_EVENT_GROW:
        growth_grow(overlay, event->id);
        break;
    case OVERLAY_EVENT_SHRINK:
        growth_shrink(overlay, event->set);
        break;
    case OVERLAY_EVENT_CONTRIBUTE:
        collective_contribute(overlay, event);
        break;
    case OVERLAY_EVENT_CANCEL:
        collective_cancel(overlay, &event->key);
        break;
    case OVERLAY_EVENT_FORGET:
        assert(overlay_is_root(overlay));
        forget_log(overlay, event);
        break;
    case OVERLAY_EVENT_ASK:
        stall_probe_ask(overlay, event);
        break;
    case OVERLAY_EVENT_SEND:
        route_send(overlay, event);
        break;
    case OVERLAY_EVENT_REQUEST:
        route_request(overlay, event);
        break;
    case OVERLAY_EVENT_REPLY:
        route_reply(overlay, event);
        break;
    case OVERLAY_EVENT_RECOVER:
        recovery_log(overlay);
        break;
    case OVERLAY_EVENT_FAILED:
        assert(event->place != 0 && event->place < TREE_PLACES_MAX);
        membership_failed(overlay, event->place);
        break;
    default:
        assert(false); /* no such event */
    }
}

static void dispatch_event(struct overlay *overlay, const struct overlay_event *event)
{
    switch (event->kind) {
    case OVERLAY_EVENT_START:
        on_start(overlay, event);
        break;
    case OVERLAY_EVENT_UP:
        on_up(overlay, event);
        break;
    case OVERLAY_EVENT_DOWN:
        on_down(overlay, event->place, event->loss);
        break;
    case OVERLAY_EVENT_FRAME:
        on_frame(overlay, event->place, event->frame);
        break;
    case OVERLAY_EVENT_TIMER:
        on_timer(overlay);
        break;
    default:
        on_call(overlay, event);
    }
}

static void overlay_check(const struct overlay *overlay)
{
    assert(overlay->place < overlay->population && overlay->population <= TREE_PLACES_MAX);
    assert(overlay->places >= 1 && overlay->places <= overlay->population);
    assert(overlay->lost_count == 0 || overlay->lost != NULL);
    assert(overlay->lost_count == 0 || !overlay_is_root(overlay)); /* the root collects them */
    assert(!overlay->departing || !overlay_is_root(overlay));
    assert(!overlay->complete_reported || overlay_is_root(overlay));
    membership_check(overlay);
    join_check(overlay);
    lease_check(overlay);
    broadcast_check(overlay);
    series_check_all(overlay);
    stream_check_all(overlay);
    lateral_check(overlay);
    route_check(overlay);
    stall_probe_check(overlay);
}

void overlay_step(struct overlay *overlay, const struct overlay_event *event,
                  struct overlay_actions *actions)
{
    if (overlay->ended)
        return;
    /* The transport may call before the start (a child may be up early), users may not. */
    assert(overlay->started || event->kind <= OVERLAY_EVENT_TIMER);
    assert(event->now_ns >= overlay->now_ns);
    overlay->now_ns = event->now_ns;
    overlay->actions = actions;
    overlay_check(overlay);
    if (event->kind == OVERLAY_EVENT_RECOVER)
        recovery_begin(overlay);
    lease_expire(overlay);
    if (!overlay->ended)
        lease_stalled(overlay);
    if (!overlay->ended && overlay->departing)
        growth_departing_step(overlay, event);
    else if (!overlay->ended)
        dispatch_event(overlay, event);
    if (!overlay->ended && !overlay->departing) {
        deaths_log(overlay);
        broadcast_step_end(overlay);
        stream_step_end(overlay);
    }
    if (!overlay->ended) {
        lease_arm(overlay);
        overlay_check(overlay);
    }
    overlay->actions = NULL;
}

/* ---- facts ---- */

int overlay_is_joined(const struct overlay *overlay)
{
    return overlay->started && (overlay_is_root(overlay) || join_has_parent(overlay));
}

int overlay_is_complete(const struct overlay *overlay)
{
    return overlay->complete_reported;
}

bool overlay_is_departing(const struct overlay *overlay)
{
    return overlay->departing && !overlay->leaving;
}

int overlay_is_ended(const struct overlay *overlay)
{
    return overlay->ended;
}

uint32_t overlay_parent(const struct overlay *overlay)
{
    return join_has_parent(overlay) ? overlay->join.target : TREE_NO_PLACE;
}

uint32_t overlay_degree(const struct overlay *overlay)
{
    uint32_t degree = join_has_parent(overlay) ? 1 : 0;

    for (uint32_t i = 0; i < overlay->children_count; i++)
        degree += overlay->children[i].state == CHILD_LINKED;
    return degree;
}

int overlay_child(const struct overlay *overlay, uint32_t index, uint32_t *ret_place,
                  struct addresses *ret_addresses)
{
    for (uint32_t i = 0; i < overlay->children_count; i++) {
        const struct child *child = &overlay->children[i];
        struct wire_reader reader;

        if (child->state != CHILD_LINKED || index-- > 0)
            continue;
        *ret_place = child->head;
        wire_reader_init(&reader, child->addresses->data, child->addresses->length_bytes);
        address_wire_get(&reader, ret_addresses);
        return 1;
    }
    return 0;
}

uint64_t overlay_lease_end_ns(const struct overlay *overlay)
{
    return lease_end_ns(overlay);
}

void overlay_missing(const struct overlay *overlay, struct ranges *ret_places)
{
    struct tree tree = overlay_tree(overlay);
    struct range scope = tree_scope(&tree, overlay->place);

    ranges_clear(ret_places);
    ranges_add(ret_places, scope.first, scope.last);
    ranges_clip(ret_places, 0, overlay->population - 1);
    ranges_remove_all(ret_places, &overlay->arrived);
    ranges_remove_all(ret_places, &overlay->dead);
}

int overlay_may_broadcast(const struct overlay *overlay)
{
    return overlay->broadcast.count < OVERLAY_ENTRIES_MAX &&
                   overlay->broadcast.bytes < OVERLAY_ENTRIES_BYTES_MAX
               ? 0
               : -EAGAIN;
}

bool overlay_has_room(const struct overlay *overlay)
{
    return overlay->broadcast.count < OVERLAY_ENTRIES_MAX / 2 &&
           overlay->broadcast.bytes < OVERLAY_ENTRIES_BYTES_MAX / 2;
}

int overlay_may_change(const struct overlay *overlay)
{
    return overlay->leaving || overlay->ended ? -ESHUTDOWN : overlay_may_broadcast(overlay);
}

uint32_t overlay_population(const struct overlay *overlay)
{
    return overlay->population;
}

const struct ranges *overlay_dead(const struct overlay *overlay)
{
    return &overlay->dead;
}
