/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames from place to place along the tree.  A frame that cannot be forwarded now, because its
 * link is being re-established or because this place does not yet know its whole range, is held in
 * one list, in order, and retried when something changes; the list is bounded.  Frames for dead
 * places are dropped.
 *
 * A request is kept by the requester until it is answered, and sent again when a place on its path
 * or its answer's dies: only such a death can have lost it.  The path leads over the heads of fixed
 * ranges, which stay as long as they live; so it is enough to check it in the tree before the
 * death.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "overlay/core.h"
#include "overlay/limits.h"

struct held {
    struct held *next;
    uint32_t destination;
    bool downward; /* it came from the parent and must not go back */
    struct frame frame;
};

struct request {
    uint32_t id;
    uint32_t place;
    bool is_hit; /* a place on its path has died: it is sent again */
    struct message *payload;
};

void route_check(const struct overlay *overlay)
{
    const struct route *route = &overlay->route;

    assert((route->held_count == 0) == (route->first == NULL));
    assert((route->held_count == 0) == (route->last == NULL));
    assert(route->held_count > 0 || route->held_bytes == 0);
    assert(route->last == NULL || route->last->next == NULL);
}

/* ---- one hop ---- */

enum hop { HOP_SENT, HOP_HELD, HOP_DROPPED };

static enum hop hop_up(struct overlay *overlay, const struct frame *frame, bool downward)
{
    if (downward)
        return overlay_is_ready(overlay) ? HOP_DROPPED : HOP_HELD;
    if (!join_has_parent(overlay))
        return overlay_is_root(overlay) ? HOP_DROPPED : HOP_HELD;
    overlay_send_copy(overlay, overlay->join.target, frame);
    return HOP_SENT;
}

static enum hop hop_try(struct overlay *overlay, uint32_t destination, const struct frame *frame,
                        bool downward)
{
    struct tree tree = overlay_tree(overlay);
    struct range scope = tree_scope(&tree, overlay->place);
    const struct child *child;

    if (ranges_contains(&overlay->dead, destination))
        return HOP_DROPPED;
    if (destination >= overlay->population && !overlay_is_root(overlay) &&
        destination >= scope.first && destination <= scope.last &&
        membership_child_of(overlay, destination) == NULL)
        return HOP_HELD; /* a new place, whose GROW this has overtaken */
    if (destination < scope.first || destination > scope.last)
        return hop_up(overlay, frame, downward);
    child = membership_child_of(overlay, destination);
    if (child == NULL || child->state == CHILD_GONE)
        return HOP_DROPPED;
    if (child->state != CHILD_LINKED)
        return HOP_HELD;
    overlay_send_copy(overlay, child->head, frame);
    return HOP_SENT;
}

static void held_destroy(struct held *held)
{
    message_release(held->frame.payload);
    free(held);
}

static void refuse_request(struct overlay *overlay, const struct frame *frame);

static void hold_frame(struct overlay *overlay, uint32_t destination, const struct frame *frame,
                       bool downward)
{
    struct route *route = &overlay->route;
    uint64_t bytes = frame->payload != NULL ? frame->payload->length_bytes : 0;
    struct held *held;

    assert(overlay_is_routed(frame->type) && destination != overlay->place);
    if (frame->type != OVERLAY_REPLY && (route->held_count >= OVERLAY_HELD_MAX ||
                                         route->held_bytes + bytes > OVERLAY_HELD_BYTES_MAX)) {
        if (frame->type == OVERLAY_REQUEST)
            refuse_request(overlay, frame);
        return;
    }
    held = memory_allocate_zeroed(sizeof(*held));
    held->destination = destination;
    held->downward = downward;
    held->frame = *frame;
    message_reference(held->frame.payload);
    if (route->last != NULL)
        route->last->next = held;
    else
        route->first = held;
    route->last = held;
    route->held_count++;
    route->held_bytes += bytes;
}

static void forward_frame(struct overlay *overlay, uint32_t destination, const struct frame *frame,
                          bool downward)
{
    if (hop_try(overlay, destination, frame, downward) == HOP_HELD)
        hold_frame(overlay, destination, frame, downward);
}

void route_flush(struct overlay *overlay)
{
    struct route *route = &overlay->route;
    struct held **link = &route->first;

    route->last = NULL;
    while (*link != NULL) {
        struct held *held = *link;

        if (hop_try(overlay, held->destination, &held->frame, held->downward) == HOP_HELD) {
            route->last = held;
            link = &held->next;
        } else {
            *link = held->next;
            route->held_count--;
            route->held_bytes -=
                held->frame.payload != NULL ? held->frame.payload->length_bytes : 0;
            held_destroy(held);
        }
    }
}

/* ---- the two ends ---- */

static void send_from_here(struct overlay *overlay, enum overlay_message type,
                           enum frame_class class, const struct overlay_data *data)
{
    struct frame frame;

    overlay_encode_data(type, class, data, &frame);
    forward_frame(overlay, data->destination, &frame, false);
    message_release(frame.payload);
}

static void tell_reply(struct overlay *overlay, uint32_t id, int status, struct message *payload)
{
    struct overlay_action *action = overlay_act(overlay, OVERLAY_ACTION_REPLY);

    action->id = id;
    action->status = status;
    action->payload = payload;
}

static void request_destroy(struct request *request)
{
    message_release(request->payload);
    free(request);
}

/* Ends a request; takes payload.  A second answer, or one of another place, is dropped. */
static void request_end(struct overlay *overlay, uint32_t place, uint32_t id, int status,
                        struct message *payload)
{
    struct hash_map *requests = overlay->route.requests;
    struct request *request = requests != NULL ? hash_map_get_u64(requests, id) : NULL;

    if (request == NULL || request->place != place) {
        message_release(payload);
        return;
    }
    hash_map_remove_u64(requests, id);
    tell_reply(overlay, id, status, payload);
    request_destroy(request);
}

static void deliver_data(struct overlay *overlay, uint8_t type, uint8_t class,
                         const struct overlay_data *data, struct message *payload)
{
    struct overlay_action *action;

    if (type == OVERLAY_ASK || type == OVERLAY_ANSWER) {
        if (type == OVERLAY_ASK)
            lateral_on_ask(overlay, data->source, &data->payload);
        else
            lateral_on_answer(overlay, data->source);
        message_release(payload);
        return;
    }
    if (type == OVERLAY_REPLY) {
        request_end(overlay, data->source, data->id, overlay_status_errno(data->status), payload);
        return;
    }
    action = overlay_act(overlay,
                         type == OVERLAY_DATA ? OVERLAY_ACTION_RECEIVED : OVERLAY_ACTION_REQUEST);
    action->place = data->source;
    action->class = class;
    action->id = data->id;
    action->payload = payload;
}

static struct wire_bytes bytes_of(const struct message *payload)
{
    if (payload == NULL)
        return (struct wire_bytes){NULL, 0};
    return (struct wire_bytes){payload->data, payload->length_bytes};
}

/* Sends a frame for a call from above; one to this place is delivered at once. */
static void originate_frame(struct overlay *overlay, enum overlay_message type,
                            enum frame_class class, uint32_t destination, uint32_t id,
                            struct message *payload)
{
    struct overlay_data data = {.source = overlay->place, .destination = destination, .id = id};

    if (destination == overlay->place) {
        deliver_data(overlay, (uint8_t)type, (uint8_t) class, &data, message_reference(payload));
        return;
    }
    data.payload = bytes_of(payload);
    if (data.payload.length_bytes > ENDPOINT_PAYLOAD_BYTES_MAX) {
        if (type != OVERLAY_REPLY)
            return; /* the caller has not checked the limit */
        data.status = OVERLAY_STATUS_TOO_LARGE;
        data.payload = (struct wire_bytes){NULL, 0};
    }
    send_from_here(overlay, type, class, &data);
}

/* Replies on behalf of the target: the frame cannot even be held here. */
static void refuse_request(struct overlay *overlay, const struct frame *frame)
{
    struct overlay_data data, answer;

    if (overlay_decode_data(frame, &data) < 0)
        return;
    answer = (struct overlay_data){.source = data.destination,
                                   .destination = data.source,
                                   .id = data.id,
                                   .status = OVERLAY_STATUS_BUSY};
    if (data.source == overlay->place)
        request_end(overlay, data.destination, data.id, -EAGAIN, NULL);
    else
        send_from_here(overlay, OVERLAY_REPLY, FRAME_COLLECTIVE, &answer);
}

void route_send(struct overlay *overlay, const struct overlay_event *event)
{
    originate_frame(overlay, OVERLAY_DATA, event->class, event->place, 0, event->payload);
}

void route_reply(struct overlay *overlay, const struct overlay_event *event)
{
    originate_frame(overlay, OVERLAY_REPLY, FRAME_COLLECTIVE, event->place, event->id,
                    event->payload);
}

static void request_send(struct overlay *overlay, const struct request *request)
{
    originate_frame(overlay, OVERLAY_REQUEST, FRAME_COLLECTIVE, request->place, request->id,
                    request->payload);
}

void route_tell(struct overlay *overlay, enum overlay_message type, uint32_t destination,
                struct message *payload)
{
    originate_frame(overlay, type, FRAME_COLLECTIVE, destination, 0, payload);
}

void route_request(struct overlay *overlay, const struct overlay_event *event)
{
    struct request *request;

    if (ranges_contains(&overlay->dead, event->place) ||
        (overlay_is_root(overlay) && event->place >= overlay->population)) {
        tell_reply(overlay, event->id, -EHOSTDOWN, NULL);
        return;
    }
    if (event->payload != NULL && event->payload->length_bytes > ENDPOINT_PAYLOAD_BYTES_MAX) {
        tell_reply(overlay, event->id, -EMSGSIZE, NULL);
        return;
    }
    if (overlay->route.requests == NULL)
        overlay->route.requests = hash_map_create();
    if (hash_map_count(overlay->route.requests) >= OVERLAY_REQUESTS_MAX) {
        tell_reply(overlay, event->id, -EAGAIN, NULL);
        return;
    }
    request = memory_allocate_zeroed(sizeof(*request));
    request->id = event->id;
    request->place = event->place;
    request->payload = message_reference(event->payload);
    hash_map_put_u64(overlay->route.requests, request->id, request);
    request_send(overlay, request);
}

static bool is_in(struct range range, uint32_t place)
{
    return range.first <= place && place <= range.last;
}

/* Whether one of these, which are about to die, is between here and there. */
static bool is_on_way(const struct overlay *overlay, uint32_t there, const struct ranges *places)
{
    struct tree tree = overlay_tree(overlay);
    uint32_t top = overlay->place;

    while (!is_in(tree_scope(&tree, top), there)) {
        top = tree_parent(&tree, top);
        if (ranges_contains(places, top))
            return true;
    }
    for (uint32_t place = there; place != top; place = tree_parent(&tree, place)) {
        if (ranges_contains(places, place))
            return true;
    }
    return false;
}

void route_dying(struct overlay *overlay, const struct ranges *places)
{
    struct request *request;
    size_t cursor = 0;

    if (overlay->route.requests == NULL)
        return;
    while ((request = hash_map_next(overlay->route.requests, &cursor)) != NULL) {
        if (ranges_contains(&overlay->dead, request->place))
            continue; /* it ends */
        request->is_hit = request->is_hit || places == NULL ||
                          request->place >= overlay->population ||
                          is_on_way(overlay, request->place, places);
    }
}

void route_death(struct overlay *overlay)
{
    struct request *request;
    size_t cursor = 0;

    route_flush(overlay);
    if (overlay->route.requests == NULL)
        return;
    while ((request = hash_map_next(overlay->route.requests, &cursor)) != NULL) {
        bool is_hit = request->is_hit;

        request->is_hit = false;
        if (ranges_contains(&overlay->dead, request->place))
            request_end(overlay, request->place, request->id, -EHOSTDOWN, NULL);
        else if (is_hit && request->place != overlay->place)
            request_send(overlay, request);
    }
}

int route_on_data(struct overlay *overlay, uint32_t from, const struct frame *frame)
{
    struct overlay_data data;
    int rc = overlay_decode_data(frame, &data);

    if (rc < 0)
        return rc;
    if (data.source >= TREE_PLACES_MAX || data.destination >= TREE_PLACES_MAX ||
        frame->class >= FRAME_CLASS_COUNT)
        return -EBADMSG;
    if (data.destination == overlay->place)
        deliver_data(overlay, frame->type, frame->class, &data,
                     message_create(data.payload.data, data.payload.length_bytes));
    else
        forward_frame(overlay, data.destination, frame, from == overlay->join.target);
    return 0;
}

void route_fini(struct overlay *overlay)
{
    struct request *request;
    size_t cursor = 0;

    while (overlay->route.first != NULL) {
        struct held *held = overlay->route.first;

        overlay->route.first = held->next;
        held_destroy(held);
    }
    if (overlay->route.requests == NULL)
        return;
    while ((request = hash_map_next(overlay->route.requests, &cursor)) != NULL)
        request_destroy(request);
    hash_map_destroy(overlay->route.requests);
}
