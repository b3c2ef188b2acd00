/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns calls and upcalls of a transport into events of the core, and the core's actions into calls
 * of the transport and upcalls.  Calls to the transport are made at once, in order.  Upcalls are
 * queued: they are made when the transport has called us, never while a call from above is on the
 * stack; in that case the transport's timer, set to now, calls us.
 */
#include "config.h"

#include "overlay/node.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "overlay/measure.h"
#include "overlay/overlay.h"
#include "overlay/overlay_wire.h"
#include "overlay/tree.h"

struct node {
    struct overlay *overlay;
    const struct node_events *events;
    void *context;
    const struct transport_ops *ops;
    void *transport;
    node_observer *observer;
    void *observer_context;
    struct overlay_actions upward; /* upcalls, of which the first ones have been made */
    uint32_t told;
    uint32_t next_request;
    uint64_t core_deadline_ns; /* the deadline of the core's timer */
    uint64_t armed_ns;         /* the deadline set in the transport's timer */
    uint32_t refused_count;    /* places whose connect failed immediately: `down` is due */
    uint32_t *refused;
    bool telling; /* an upcall is on the stack */
    bool destroyed;
};

/* ---- down to the world ---- */

static void arm(struct node *node, uint64_t deadline_ns)
{
    if (deadline_ns == node->armed_ns)
        return;
    node->armed_ns = deadline_ns;
    node->ops->timer(node->transport, deadline_ns);
}

static void refuse(struct node *node, uint32_t place)
{
    node->refused =
        memory_resize(node->refused, (node->refused_count + 1) * sizeof(*node->refused));
    node->refused[node->refused_count++] = place;
}

static void push_upward(struct node *node, struct overlay_action *action)
{
    struct overlay_actions *upward = &node->upward;

    if (upward->count == upward->capacity) {
        upward->capacity = upward->capacity > 0 ? 2 * upward->capacity : 4;
        upward->items = memory_resize(upward->items, upward->capacity * sizeof(*upward->items));
    }
    upward->items[upward->count++] = *action;
    *action = (struct overlay_action){.kind = OVERLAY_ACTION_TIMER}; /* owns nothing now */
}

static void do_action(struct node *node, struct overlay_action *action)
{
    switch (action->kind) {
    case OVERLAY_ACTION_CONNECT:
        if (node->ops->connect(node->transport, action->place, action->addresses) < 0)
            refuse(node, action->place);
        break;
    case OVERLAY_ACTION_CLOSE:
        node->ops->close(node->transport, action->place);
        break;
    case OVERLAY_ACTION_SEND:
        /* A link that is down is reported by `down`; the frame is lost like one on the wire. */
        (void)node->ops->send(node->transport, action->place, &action->frame);
        action->frame.payload = NULL;
        break;
    case OVERLAY_ACTION_TIMER:
        node->core_deadline_ns = action->deadline_ns;
        break;
    default:
        push_upward(node, action);
    }
}

static void step(struct node *node, struct overlay_event *event)
{
    struct overlay_actions actions = {0};

    event->now_ns = node->ops->now_ns(node->transport);
    overlay_step(node->overlay, event, &actions);
    if (node->observer != NULL)
        node->observer(node->observer_context, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        do_action(node, &actions.items[i]);
    overlay_actions_fini(&actions);
}

/* ---- upward ---- */

static void tell_missing(const struct node *node, const struct overlay_action *action)
{
    const struct frame frame = {.payload = action->payload};
    struct overlay_roll roll;

    if (node->events->missing == NULL)
        return;
    if (action->payload == NULL) {
        node->events->missing(node->context, &action->key, &action->places, NULL);
    } else if (overlay_decode_roll(&frame, &roll) == 0) {
        node->events->missing(node->context, &action->key, &action->places, &roll.missing);
        overlay_roll_fini(&roll);
    }
}

static void tell(struct node *node, struct overlay_action *action)
{
    const struct node_events *events = node->events;
    struct error why = ERROR_NONE;

    switch (action->kind) {
    case OVERLAY_ACTION_JOINED:
        events->joined(node->context);
        break;
    case OVERLAY_ACTION_COMPLETE:
        events->complete(node->context);
        break;
    case OVERLAY_ACTION_BROADCAST:
        events->broadcast(node->context, action->payload);
        break;
    case OVERLAY_ACTION_RESULT:
        events->result(node->context, &action->key, action->status, &action->places,
                       action->payload);
        break;
    case OVERLAY_ACTION_RECEIVED:
        events->received(node->context, action->place, (uint8_t)action->class, action->payload);
        break;
    case OVERLAY_ACTION_REQUEST:
        events->request(node->context, action->place, action->id, action->payload);
        break;
    case OVERLAY_ACTION_REPLY:
        events->reply(node->context, action->id, action->status, action->payload);
        break;
    case OVERLAY_ACTION_SEEN:
        if (events->seen != NULL)
            events->seen(node->context, &action->places, (enum node_loss)action->id,
                         action->deadline_ns);
        break;
    case OVERLAY_ACTION_SILENT:
        if (events->silent != NULL)
            events->silent(node->context, action->place, action->deadline_ns);
        break;
    case OVERLAY_ACTION_DEAD:
        events->lost(node->context, &action->places);
        break;
    case OVERLAY_ACTION_GROWN:
        if (events->grown != NULL)
            events->grown(node->context, &action->places);
        break;
    case OVERLAY_ACTION_LEFT:
        if (events->left != NULL)
            events->left(node->context, &action->places);
        break;
    case OVERLAY_ACTION_MISSING:
        tell_missing(node, action);
        break;
    default:
        error_set(&why, -ECONNABORTED, "%s", action->text);
        events->ended(node->context, action->end, &why);
    }
}

static bool has_work(const struct node *node)
{
    return node->told < node->upward.count || node->refused_count > 0;
}

static void free_node(struct node *node)
{
    while (node->told < node->upward.count)
        overlay_action_fini(&node->upward.items[node->told++]);
    free(node->upward.items);
    free(node->refused);
    overlay_destroy(node->overlay);
    free(node);
}

static void step_refused(struct node *node)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_DOWN};

    event.place = node->refused[0];
    node->refused_count--;
    for (uint32_t i = 0; i < node->refused_count; i++)
        node->refused[i] = node->refused[i + 1];
    step(node, &event);
}

/* Makes all pending upcalls, including those that they cause; then sets the timer. */
static void drain(struct node *node)
{
    node->telling = true;
    while (has_work(node) && !node->destroyed) {
        struct overlay_action action;

        if (node->told == node->upward.count) {
            step_refused(node);
            continue;
        }
        action = node->upward.items[node->told++];
        tell(node, &action);
        overlay_action_fini(&action);
    }
    node->telling = false;
    if (node->destroyed) {
        free_node(node);
        return;
    }
    free(node->upward.items);
    node->upward = (struct overlay_actions){0};
    node->told = 0;
    arm(node, overlay_is_ended(node->overlay) ? UINT64_MAX : node->core_deadline_ns);
}

/* An event from the world: upcalls may be made now. */
static void step_below(struct node *node, struct overlay_event *event)
{
    step(node, event);
    drain(node);
}

/* An event from above: upcalls wait until this call is off the stack. */
static void step_above(struct node *node, struct overlay_event *event)
{
    step(node, event);
    if (!node->telling)
        arm(node, has_work(node) ? 0 : node->core_deadline_ns);
}

/* ---- transport ---- */

static void transport_up(void *context, uint32_t place, uint32_t incarnation)
{
    struct node *node = context;
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_UP, .place = place, .incarnation = incarnation};

    if (node->events->linked)
        node->events->linked(node->context, place);
    step_below(context, &event);
}

/* Translates the transport's errors (fabric/transport.h) to the core's losses. */
static enum node_loss loss_of(int code)
{
    switch (-code) {
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
    case ESHUTDOWN:
        return NODE_LOSS_CLOSED;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
        return NODE_LOSS_UNREACHABLE;
    case ECONNREFUSED:
        return NODE_LOSS_REFUSED;
    case ETIME:
        return NODE_LOSS_SILENT;
    default:
        return NODE_LOSS_UNKNOWN;
    }
}

static void transport_down(void *context, uint32_t place, const struct error *why)
{
    struct node *node = context;
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_DOWN, .place = place, .loss = loss_of(why->code)};

    if (node->events->unlinked)
        node->events->unlinked(node->context, place, why);
    step_below(node, &event);
}

static void transport_frame(void *context, uint32_t place, const struct frame *frame)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_FRAME, .place = place, .frame = frame};

    step_below(context, &event);
}

static void transport_timer(void *context)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_TIMER};
    struct node *node = context;

    node->armed_ns = UINT64_MAX;
    if (node->ops->now_ns(node->transport) < node->core_deadline_ns) {
        drain(node);
        return;
    }
    node->core_deadline_ns = UINT64_MAX;
    step_below(node, &event);
}

const struct transport_events *node_transport_events(void)
{
    static const struct transport_events events = {
        .up = transport_up,
        .down = transport_down,
        .frame = transport_frame,
        .timer = transport_timer,
    };

    return &events;
}

/* ---- life ---- */

struct node *node_create(const struct node_config *config, const struct node_events *events,
                         void *context)
{
    struct node *node = memory_allocate_zeroed(sizeof(*node));

    node->overlay = overlay_create(config);
    node->events = events;
    node->context = context;
    node->core_deadline_ns = UINT64_MAX;
    node->armed_ns = UINT64_MAX;
    return node;
}

void node_attach(struct node *node, const struct transport_ops *ops, void *transport)
{
    node->ops = ops;
    node->transport = transport;
}

void node_observe(struct node *node, node_observer *observer, void *context)
{
    node->observer = observer;
    node->observer_context = context;
}

void node_start(struct node *node, const struct addresses *own)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_START, .own = own};

    assert(node->ops != NULL);
    step_above(node, &event);
}

void node_destroy(struct node *node)
{
    if (node == NULL)
        return;
    node->destroyed = true;
    if (!node->telling)
        free_node(node);
}

/* ---- calls ---- */

int node_broadcast(struct node *node, const struct ranges *set, struct message *payload)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_BROADCAST, .set = set, .payload = payload};
    int rc = overlay_may_broadcast(node->overlay);

    if (rc == 0)
        step_above(node, &event);
    message_release(payload);
    return rc;
}

void node_leave(struct node *node)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_LEAVE};

    step_above(node, &event);
}

uint32_t node_grow(struct node *node, uint32_t count)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_GROW, .id = count};
    uint32_t first = overlay_population(node->overlay);

    if (count == 0 || count > TREE_PLACES_MAX - first || overlay_may_change(node->overlay) < 0)
        return TREE_NO_PLACE;
    step_above(node, &event);
    return first;
}

int node_shrink(struct node *node, const struct ranges *places)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_SHRINK, .set = places};
    int rc = overlay_may_change(node->overlay);

    if (ranges_is_empty(places) || ranges_min(places) == 0 ||
        ranges_max(places) >= overlay_population(node->overlay))
        return -EINVAL;
    if (rc == 0)
        step_above(node, &event);
    return rc;
}

void node_contribute(struct node *node, const struct node_key *key, const struct ranges *set,
                     struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_CONTRIBUTE, .key = *key, .set = set, .payload = payload};

    step_above(node, &event);
    message_release(payload);
}

void node_cancel(struct node *node, const struct node_key *key)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_CANCEL, .key = *key};

    step_above(node, &event);
}

void node_ask(struct node *node, const struct node_key *key)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_ASK, .key = *key};

    step_above(node, &event);
}

void node_forget(struct node *node, uint32_t owner, const struct ranges *places)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_FORGET, .id = owner, .set = places};

    step_above(node, &event);
}

void node_send(struct node *node, uint32_t place, enum frame_class class, struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_SEND, .place = place, .class = class, .payload = payload};

    step_above(node, &event);
    message_release(payload);
}

uint32_t node_request(struct node *node, uint32_t place, struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_REQUEST, .place = place, .payload = payload};

    node->next_request = node->next_request == UINT32_MAX ? 1 : node->next_request + 1;
    event.id = node->next_request;
    step_above(node, &event);
    message_release(payload);
    return event.id;
}

void node_reply(struct node *node, uint32_t source, uint32_t id, struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_REPLY, .place = source, .id = id, .payload = payload};

    step_above(node, &event);
    message_release(payload);
}

void node_place_failed(struct node *node, uint32_t place)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_FAILED, .place = place};

    step_above(node, &event);
}

/* ---- facts ---- */

uint64_t node_lease_end_ns(const struct node *node)
{
    return overlay_lease_end_ns(node->overlay);
}

int node_is_complete(const struct node *node)
{
    return overlay_is_complete(node->overlay);
}

bool node_is_departing(const struct node *node)
{
    return overlay_is_departing(node->overlay);
}

void node_missing(const struct node *node, struct ranges *ret_places)
{
    overlay_missing(node->overlay, ret_places);
}

const struct ranges *node_dead(const struct node *node)
{
    return overlay_dead(node->overlay);
}

uint32_t node_population(const struct node *node)
{
    return overlay_population(node->overlay);
}

uint32_t node_parent(const struct node *node)
{
    return overlay_parent(node->overlay);
}

int node_child(const struct node *node, uint32_t index, uint32_t *ret_place,
               struct addresses *ret_addresses)
{
    return overlay_child(node->overlay, index, ret_place, ret_addresses);
}

uint32_t node_degree(const struct node *node)
{
    return overlay_degree(node->overlay);
}

struct node_costs node_costs_now(const struct node *node)
{
    return measure_costs(node->overlay);
}

uint32_t node_kept_entries(const struct node *node)
{
    return overlay_kept_entries(node->overlay);
}

uint32_t node_kept_operations(const struct node *node)
{
    return overlay_kept_operations(node->overlay);
}

uint32_t node_kept_series(const struct node *node)
{
    return overlay_kept_series(node->overlay);
}

uint64_t node_kept_stream_bytes(const struct node *node)
{
    return overlay_kept_stream_bytes(node->overlay);
}

uint32_t node_early_opens(const struct node *node)
{
    return overlay_early_opens(node->overlay);
}

uint32_t node_lateral_links(const struct node *node)
{
    return overlay_lateral_links(node->overlay);
}

uint32_t node_laterals(const struct node *node, struct node_lateral ret_laterals[NODE_LATERALS_MAX])
{
    return overlay_laterals(node->overlay, ret_laterals);
}

int node_knows_owner(const struct node *node, uint32_t owner)
{
    return overlay_knows_owner(node->overlay, owner);
}
