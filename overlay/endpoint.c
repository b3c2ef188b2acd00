/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns calls and upcalls of a transport into events of the core, and the core's actions into calls
 * of the transport and upcalls.  Calls to the transport are made at once, in order.  Upcalls are
 * queued: they are made when the transport has called us, never while a call from above is on the
 * stack; in that case the transport's timer, set to now, calls us.
 */
#include "config.h"

#include "overlay/endpoint.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "overlay/measure.h"
#include "overlay/overlay.h"
#include "overlay/overlay_wire.h"
#include "overlay/tree.h"

struct endpoint {
    struct overlay *overlay;
    const struct endpoint_events *events;
    void *context;
    const struct transport_ops *ops;
    void *transport;
    endpoint_observer *observer;
    void *observer_context;
    struct overlay_actions upward; /* upcalls, of which the first ones have been made */
    uint32_t told;
    uint32_t next_request;
    uint64_t core_deadline_ns; /* the deadline of the core's timer */
    uint64_t armed_ns;         /* the deadline set in the transport's timer */
    uint32_t refused_count;    /* places whose connect failed immediately: `down` is due */
    uint32_t *refused;
    struct endpoint_traffic traffic;
    bool telling; /* an upcall is on the stack */
    bool destroyed;
};

/* ---- down to the world ---- */

static void arm_deadline(struct endpoint *endpoint, uint64_t deadline_ns)
{
    if (deadline_ns == endpoint->armed_ns)
        return;
    endpoint->armed_ns = deadline_ns;
    endpoint->ops->timer(endpoint->transport, deadline_ns);
}

static void refuse_place(struct endpoint *endpoint, uint32_t place)
{
    endpoint->refused = memory_resize(endpoint->refused,
                                      (endpoint->refused_count + 1) * sizeof(*endpoint->refused));
    endpoint->refused[endpoint->refused_count++] = place;
}

static void push_upward(struct endpoint *endpoint, struct overlay_action *action)
{
    struct overlay_actions *upward = &endpoint->upward;

    if (upward->count == upward->capacity) {
        upward->capacity = upward->capacity > 0 ? 2 * upward->capacity : 4;
        upward->items = memory_resize(upward->items, upward->capacity * sizeof(*upward->items));
    }
    upward->items[upward->count++] = *action;
    *action = (struct overlay_action){.kind = OVERLAY_ACTION_TIMER}; /* owns nothing now */
}

static void count_frame(struct endpoint *endpoint, const struct frame *frame)
{
    endpoint->traffic.messages++;
    if (frame->payload != NULL)
        endpoint->traffic.bytes += frame->payload->length_bytes;
}

static void do_action(struct endpoint *endpoint, struct overlay_action *action)
{
    switch (action->kind) {
    case OVERLAY_ACTION_CONNECT:
        if (endpoint->ops->connect(endpoint->transport, action->place, action->addresses) < 0)
            refuse_place(endpoint, action->place);
        break;
    case OVERLAY_ACTION_CLOSE:
        endpoint->ops->close(endpoint->transport, action->place);
        break;
    case OVERLAY_ACTION_SEND:
        count_frame(endpoint, &action->frame);
        /* A link that is down is reported by `down`; the frame is lost like one on the wire. */
        (void)endpoint->ops->send(endpoint->transport, action->place, &action->frame);
        action->frame.payload = NULL;
        break;
    case OVERLAY_ACTION_TIMER:
        endpoint->core_deadline_ns = action->deadline_ns;
        break;
    default:
        push_upward(endpoint, action);
    }
}

static void step_overlay(struct endpoint *endpoint, struct overlay_event *event)
{
    struct overlay_actions actions = {0};

    event->now_ns = endpoint->ops->now_ns(endpoint->transport);
    overlay_step(endpoint->overlay, event, &actions);
    if (endpoint->observer != NULL)
        endpoint->observer(endpoint->observer_context, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        do_action(endpoint, &actions.items[i]);
    overlay_actions_fini(&actions);
}

/* ---- upward ---- */

static void tell_missing(const struct endpoint *endpoint, const struct overlay_action *action)
{
    const struct frame frame = {.payload = action->payload};
    struct overlay_roll roll;

    if (endpoint->events->missing == NULL)
        return;
    if (action->payload == NULL) {
        endpoint->events->missing(endpoint->context, &action->key, &action->places, NULL);
    } else if (overlay_decode_roll(&frame, &roll) == 0) {
        endpoint->events->missing(endpoint->context, &action->key, &action->places, &roll.missing);
        overlay_roll_fini(&roll);
    }
}

static void make_upcall(struct endpoint *endpoint, struct overlay_action *action)
{
    const struct endpoint_events *events = endpoint->events;
    struct error why = ERROR_NONE;

    switch (action->kind) {
    case OVERLAY_ACTION_JOINED:
        events->joined(endpoint->context);
        break;
    case OVERLAY_ACTION_COMPLETE:
        events->complete(endpoint->context);
        break;
    case OVERLAY_ACTION_BROADCAST:
        events->broadcast(endpoint->context, action->payload);
        break;
    case OVERLAY_ACTION_RESULT:
        events->result(endpoint->context, &action->key, action->status, &action->places,
                       action->payload);
        break;
    case OVERLAY_ACTION_RECEIVED:
        events->received(endpoint->context, action->place, (uint8_t)action->class, action->payload);
        break;
    case OVERLAY_ACTION_REQUEST:
        events->request(endpoint->context, action->place, action->id, action->payload);
        break;
    case OVERLAY_ACTION_REPLY:
        events->reply(endpoint->context, action->id, action->status, action->payload);
        break;
    case OVERLAY_ACTION_SEEN:
        if (events->seen != NULL)
            events->seen(endpoint->context, &action->places, (enum endpoint_loss)action->id,
                         action->deadline_ns);
        break;
    case OVERLAY_ACTION_SILENT:
        if (events->silent != NULL)
            events->silent(endpoint->context, action->place, action->deadline_ns);
        break;
    case OVERLAY_ACTION_DEAD:
        events->lost(endpoint->context, &action->places);
        break;
    case OVERLAY_ACTION_GROWN:
        if (events->grown != NULL)
            events->grown(endpoint->context, &action->places);
        break;
    case OVERLAY_ACTION_LEFT:
        if (events->left != NULL)
            events->left(endpoint->context, &action->places);
        break;
    case OVERLAY_ACTION_RECOVERED:
        if (events->recovered != NULL)
            events->recovered(endpoint->context);
        break;
    case OVERLAY_ACTION_MISSING:
        tell_missing(endpoint, action);
        break;
    default:
        error_set(&why, -ECONNABORTED, "%s", action->text);
        events->ended(endpoint->context, action->end, &why);
    }
}

static bool has_work(const struct endpoint *endpoint)
{
    return endpoint->told < endpoint->upward.count || endpoint->refused_count > 0;
}

static void free_node(struct endpoint *endpoint)
{
    while (endpoint->told < endpoint->upward.count)
        overlay_action_fini(&endpoint->upward.items[endpoint->told++]);
    free(endpoint->upward.items);
    free(endpoint->refused);
    overlay_destroy(endpoint->overlay);
    free(endpoint);
}

static void step_refused(struct endpoint *endpoint)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_DOWN};

    event.place = endpoint->refused[0];
    endpoint->refused_count--;
    for (uint32_t i = 0; i < endpoint->refused_count; i++)
        endpoint->refused[i] = endpoint->refused[i + 1];
    step_overlay(endpoint, &event);
}

/* Makes all pending upcalls, including those that they cause; then sets the timer. */
static void drain_upcalls(struct endpoint *endpoint)
{
    endpoint->telling = true;
    while (has_work(endpoint) && !endpoint->destroyed) {
        struct overlay_action action;

        if (endpoint->told == endpoint->upward.count) {
            step_refused(endpoint);
            continue;
        }
        action = endpoint->upward.items[endpoint->told++];
        make_upcall(endpoint, &action);
        overlay_action_fini(&action);
    }
    endpoint->telling = false;
    if (endpoint->destroyed) {
        free_node(endpoint);
        return;
    }
    free(endpoint->upward.items);
    endpoint->upward = (struct overlay_actions){0};
    endpoint->told = 0;
    arm_deadline(endpoint,
                 overlay_is_ended(endpoint->overlay) ? UINT64_MAX : endpoint->core_deadline_ns);
}

/* An event from the world: upcalls may be made now. */
static void step_below(struct endpoint *endpoint, struct overlay_event *event)
{
    step_overlay(endpoint, event);
    drain_upcalls(endpoint);
}

/* An event from above: upcalls wait until this call is off the stack. */
static void step_above(struct endpoint *endpoint, struct overlay_event *event)
{
    step_overlay(endpoint, event);
    if (!endpoint->telling)
        arm_deadline(endpoint, has_work(endpoint) ? 0 : endpoint->core_deadline_ns);
}

/* ---- transport ---- */

static void transport_up(void *context, uint32_t place, uint32_t incarnation)
{
    struct endpoint *endpoint = context;
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_UP, .place = place, .incarnation = incarnation};

    if (endpoint->events->linked)
        endpoint->events->linked(endpoint->context, place);
    step_below(context, &event);
}

/* Translates the transport's errors (fabric/transport.h) to the core's losses. */
static enum endpoint_loss loss_of(int code)
{
    switch (-code) {
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
    case ESHUTDOWN:
        return ENDPOINT_LOSS_CLOSED;
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
        return ENDPOINT_LOSS_UNREACHABLE;
    case ECONNREFUSED:
        return ENDPOINT_LOSS_REFUSED;
    case ETIME:
        return ENDPOINT_LOSS_SILENT;
    default:
        return ENDPOINT_LOSS_UNKNOWN;
    }
}

static void transport_down(void *context, uint32_t place, const struct error *why)
{
    struct endpoint *endpoint = context;
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_DOWN, .place = place, .loss = loss_of(why->code)};

    if (endpoint->events->unlinked)
        endpoint->events->unlinked(endpoint->context, place, why);
    step_below(endpoint, &event);
}

static void transport_frame(void *context, uint32_t place, const struct frame *frame)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_FRAME, .place = place, .frame = frame};

    count_frame(context, frame);
    step_below(context, &event);
}

static void transport_timer(void *context)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_TIMER};
    struct endpoint *endpoint = context;

    endpoint->armed_ns = UINT64_MAX;
    if (endpoint->ops->now_ns(endpoint->transport) < endpoint->core_deadline_ns) {
        drain_upcalls(endpoint);
        return;
    }
    endpoint->core_deadline_ns = UINT64_MAX;
    step_below(endpoint, &event);
}

const struct transport_events *endpoint_transport_events(void)
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

struct endpoint *endpoint_create(const struct endpoint_config *config,
                                 const struct endpoint_events *events, void *context)
{
    struct endpoint *endpoint = memory_allocate_zeroed(sizeof(*endpoint));

    endpoint->overlay = overlay_create(config);
    endpoint->events = events;
    endpoint->context = context;
    endpoint->core_deadline_ns = UINT64_MAX;
    endpoint->armed_ns = UINT64_MAX;
    return endpoint;
}

void endpoint_attach(struct endpoint *endpoint, const struct transport_ops *ops, void *transport)
{
    endpoint->ops = ops;
    endpoint->transport = transport;
}

void endpoint_observe(struct endpoint *endpoint, endpoint_observer *observer, void *context)
{
    endpoint->observer = observer;
    endpoint->observer_context = context;
}

void endpoint_start(struct endpoint *endpoint, const struct addresses *own)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_START, .own = own};

    assert(endpoint->ops != NULL);
    step_above(endpoint, &event);
}

void endpoint_destroy(struct endpoint *endpoint)
{
    if (endpoint == NULL)
        return;
    endpoint->destroyed = true;
    if (!endpoint->telling)
        free_node(endpoint);
}

/* ---- calls ---- */

int endpoint_broadcast(struct endpoint *endpoint, const struct ranges *set, struct message *payload)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_BROADCAST, .set = set, .payload = payload};
    int rc = overlay_may_broadcast(endpoint->overlay);

    if (rc == 0)
        step_above(endpoint, &event);
    message_release(payload);
    return rc;
}

void endpoint_leave(struct endpoint *endpoint)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_LEAVE};

    step_above(endpoint, &event);
}

uint32_t endpoint_grow(struct endpoint *endpoint, uint32_t count)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_GROW, .id = count};
    uint32_t first = overlay_population(endpoint->overlay);

    if (count == 0 || count > TREE_PLACES_MAX - first || overlay_may_change(endpoint->overlay) < 0)
        return TREE_NO_PLACE;
    step_above(endpoint, &event);
    return first;
}

void endpoint_recover(struct endpoint *endpoint, const struct transport_ops *ops, void *transport)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_RECOVER};
    uint32_t population = overlay_population(endpoint->overlay);

    assert(!endpoint->telling && !endpoint->destroyed);
    endpoint_attach(endpoint, ops, transport);
    endpoint->armed_ns = UINT64_MAX;
    endpoint->core_deadline_ns = UINT64_MAX; /* the step sets it */
    step_overlay(endpoint, &event);
    for (uint32_t place = 1; place < population; place++) {
        event = (struct overlay_event){
            .kind = OVERLAY_EVENT_DOWN, .place = place, .loss = ENDPOINT_LOSS_UNKNOWN};
        step_overlay(endpoint, &event);
    }
    drain_upcalls(endpoint);
}

int endpoint_shrink(struct endpoint *endpoint, const struct ranges *places)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_SHRINK, .set = places};
    int rc = overlay_may_change(endpoint->overlay);

    if (ranges_is_empty(places) || ranges_min(places) == 0 ||
        ranges_max(places) >= overlay_population(endpoint->overlay))
        return -EINVAL;
    if (rc == 0)
        step_above(endpoint, &event);
    return rc;
}

void endpoint_contribute(struct endpoint *endpoint, const struct operation_name *key,
                         const struct ranges *set, struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_CONTRIBUTE, .key = *key, .set = set, .payload = payload};

    step_above(endpoint, &event);
    message_release(payload);
}

void endpoint_cancel(struct endpoint *endpoint, const struct operation_name *key)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_CANCEL, .key = *key};

    step_above(endpoint, &event);
}

void endpoint_ask(struct endpoint *endpoint, const struct operation_name *key)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_ASK, .key = *key};

    step_above(endpoint, &event);
}

void endpoint_forget(struct endpoint *endpoint, uint32_t owner, const struct ranges *places)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_FORGET, .id = owner, .set = places};

    step_above(endpoint, &event);
}

void endpoint_send(struct endpoint *endpoint, uint32_t place, enum frame_class class,
                   struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_SEND, .place = place, .class = class, .payload = payload};

    step_above(endpoint, &event);
    message_release(payload);
}

uint32_t endpoint_request(struct endpoint *endpoint, uint32_t place, struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_REQUEST, .place = place, .payload = payload};

    endpoint->next_request = endpoint->next_request == UINT32_MAX ? 1 : endpoint->next_request + 1;
    event.id = endpoint->next_request;
    step_above(endpoint, &event);
    message_release(payload);
    return event.id;
}

void endpoint_reply(struct endpoint *endpoint, uint32_t source, uint32_t id,
                    struct message *payload)
{
    struct overlay_event event = {
        .kind = OVERLAY_EVENT_REPLY, .place = source, .id = id, .payload = payload};

    step_above(endpoint, &event);
    message_release(payload);
}

void endpoint_place_failed(struct endpoint *endpoint, uint32_t place)
{
    struct overlay_event event = {.kind = OVERLAY_EVENT_FAILED, .place = place};

    step_above(endpoint, &event);
}

/* ---- facts ---- */

uint64_t endpoint_lease_end_ns(const struct endpoint *endpoint)
{
    return overlay_lease_end_ns(endpoint->overlay);
}

int endpoint_is_complete(const struct endpoint *endpoint)
{
    return overlay_is_complete(endpoint->overlay);
}

bool endpoint_has_room(const struct endpoint *endpoint)
{
    return overlay_has_room(endpoint->overlay);
}

bool endpoint_is_departing(const struct endpoint *endpoint)
{
    return overlay_is_departing(endpoint->overlay);
}

void endpoint_missing(const struct endpoint *endpoint, struct ranges *ret_places)
{
    overlay_missing(endpoint->overlay, ret_places);
}

const struct ranges *endpoint_dead(const struct endpoint *endpoint)
{
    return overlay_dead(endpoint->overlay);
}

struct endpoint_traffic endpoint_traffic_now(const struct endpoint *endpoint)
{
    return endpoint->traffic;
}

uint32_t endpoint_population(const struct endpoint *endpoint)
{
    return overlay_population(endpoint->overlay);
}

uint32_t endpoint_parent(const struct endpoint *endpoint)
{
    return overlay_parent(endpoint->overlay);
}

int endpoint_child(const struct endpoint *endpoint, uint32_t index, uint32_t *ret_place,
                   struct addresses *ret_addresses)
{
    return overlay_child(endpoint->overlay, index, ret_place, ret_addresses);
}

uint32_t endpoint_degree(const struct endpoint *endpoint)
{
    return overlay_degree(endpoint->overlay);
}

struct endpoint_costs endpoint_costs_now(const struct endpoint *endpoint)
{
    return measure_costs(endpoint->overlay);
}

uint32_t endpoint_kept_entries(const struct endpoint *endpoint)
{
    return overlay_kept_entries(endpoint->overlay);
}

uint32_t endpoint_kept_operations(const struct endpoint *endpoint)
{
    return overlay_kept_operations(endpoint->overlay);
}

uint32_t endpoint_kept_series(const struct endpoint *endpoint)
{
    return overlay_kept_series(endpoint->overlay);
}

uint64_t endpoint_kept_stream_bytes(const struct endpoint *endpoint)
{
    return overlay_kept_stream_bytes(endpoint->overlay);
}

uint32_t endpoint_early_opens(const struct endpoint *endpoint)
{
    return overlay_early_opens(endpoint->overlay);
}

uint32_t endpoint_lateral_links(const struct endpoint *endpoint)
{
    return overlay_lateral_links(endpoint->overlay);
}

uint32_t endpoint_laterals(const struct endpoint *endpoint,
                           struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX])
{
    return overlay_laterals(endpoint->overlay, ret_laterals);
}

int endpoint_knows_owner(const struct endpoint *endpoint, uint32_t owner)
{
    return overlay_knows_owner(endpoint->overlay, owner);
}
