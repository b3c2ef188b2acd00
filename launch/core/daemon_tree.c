/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/core/daemon_tree.h"

#include <stddef.h>

/* ---- upcalls ---- */

static void on_tree_joined(void *context)
{
    daemon_core_step(context, &(struct daemon_event){.kind = DAEMON_EVENT_JOINED});
}

static void on_tree_linked(void *context, uint32_t place)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_LINKED, .place = place};

    daemon_core_step(context, &event);
}

static void on_tree_unlinked(void *context, uint32_t place, const struct error *why)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_UNLINKED, .place = place, .status = why->code, .text = why->text};

    daemon_core_step(context, &event);
}

static void on_tree_complete(void *context)
{
    daemon_core_step(context, &(struct daemon_event){.kind = DAEMON_EVENT_COMPLETE});
}

static void on_tree_broadcast(void *context, struct message *payload)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST, .message = payload};

    daemon_core_step(context, &event);
}

static void on_tree_result(void *context, const struct operation_name *key, int status,
                           const struct ranges *lost, struct message *payload)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_RESULT,
                                 .key = key,
                                 .status = status,
                                 .places = lost,
                                 .message = payload};

    daemon_core_step(context, &event);
}

static void on_tree_received(void *context, uint32_t source, uint8_t class, struct message *payload)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_RECEIVED, .place = source, .message = payload};

    (void)class;
    daemon_core_step(context, &event);
}

static void on_tree_request(void *context, uint32_t source, uint32_t id, struct message *payload)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_REQUEST, .place = source, .id = id, .message = payload};

    daemon_core_step(context, &event);
}

static void on_tree_reply(void *context, uint32_t id, int status, struct message *payload)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_REPLY, .id = id, .status = status, .message = payload};

    daemon_core_step(context, &event);
}

static void on_tree_seen(void *context, const struct ranges *places, enum endpoint_loss loss,
                         uint64_t silent_ns)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_SEEN,
                                 .places = places,
                                 .status = (int)loss,
                                 .number = (int64_t)silent_ns};

    daemon_core_step(context, &event);
}

static void on_tree_silent(void *context, uint32_t place, uint64_t silent_ns)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_SILENT, .place = place, .number = (int64_t)silent_ns};

    daemon_core_step(context, &event);
}

static void on_tree_lost(void *context, const struct ranges *places)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_LOST, .places = places};

    daemon_core_step(context, &event);
}

/* To a job it is the same. */
static void on_tree_left(void *context, const struct ranges *places)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_LOST, .places = places, .number = 1};

    daemon_core_step(context, &event);
}

static void on_tree_missing(void *context, const struct operation_name *key,
                            const struct ranges *set, const struct endpoint_missing *who)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_MISSING, .key = key, .places = set, .missing = who};

    daemon_core_step(context, &event);
}

static void on_tree_recovered(void *context)
{
    daemon_core_step(context, &(struct daemon_event){.kind = DAEMON_EVENT_RECOVERED});
}

static void on_tree_ended(void *context, enum endpoint_end end, const struct error *why)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_END, .status = (int)end, .text = why != NULL ? why->text : NULL};

    daemon_core_step(context, &event);
}

const struct endpoint_events daemon_tree_events = {
    .joined = on_tree_joined,
    .linked = on_tree_linked,
    .unlinked = on_tree_unlinked,
    .complete = on_tree_complete,
    .broadcast = on_tree_broadcast,
    .result = on_tree_result,
    .received = on_tree_received,
    .request = on_tree_request,
    .reply = on_tree_reply,
    .seen = on_tree_seen,
    .silent = on_tree_silent,
    .lost = on_tree_lost,
    .left = on_tree_left,
    .missing = on_tree_missing,
    .recovered = on_tree_recovered,
    .ended = on_tree_ended,
};

/* ---- operations ---- */

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    return endpoint_broadcast(context, places, message);
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    endpoint_contribute(context, key, places, message);
}

static void tree_forget(void *context, uint32_t owner, const struct ranges *places)
{
    endpoint_forget(context, owner, places);
}

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    endpoint_send(context, place, class, message);
}

static uint32_t tree_request(void *context, uint32_t place, struct message *message)
{
    return endpoint_request(context, place, message);
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    endpoint_reply(context, source, id, message);
}

static void tree_place_failed(void *context, uint32_t place)
{
    endpoint_place_failed(context, place);
}

static void tree_leave(void *context)
{
    endpoint_leave(context);
}

static int tree_shrink(void *context, const struct ranges *places)
{
    return endpoint_shrink(context, places);
}

static uint32_t tree_grow(void *context, uint32_t count)
{
    return endpoint_grow(context, count);
}

static bool tree_has_room(void *context)
{
    return endpoint_has_room(context);
}

static void tree_dead(void *context, struct ranges *ret_places)
{
    ranges_copy(ret_places, endpoint_dead(context));
}

static int tree_is_complete(void *context)
{
    return endpoint_is_complete(context);
}

static bool tree_is_departing(void *context)
{
    return endpoint_is_departing(context);
}

static void tree_missing(void *context, struct ranges *ret_places)
{
    endpoint_missing(context, ret_places);
}

static uint32_t tree_parent_now(void *context)
{
    return endpoint_parent(context);
}

void daemon_tree_attach(struct daemon_core *core, struct endpoint *endpoint)
{
    static const struct daemon_tree_ops ops = {
        .broadcast = tree_broadcast,
        .contribute = tree_contribute,
        .forget = tree_forget,
        .send = tree_send,
        .request = tree_request,
        .reply = tree_reply,
        .place_failed = tree_place_failed,
        .leave = tree_leave,
        .shrink = tree_shrink,
        .grow = tree_grow,
        .has_room = tree_has_room,
        .dead = tree_dead,
        .is_complete = tree_is_complete,
        .is_departing = tree_is_departing,
        .missing = tree_missing,
        .parent = tree_parent_now,
    };

    daemon_core_attach(core, &ops, endpoint);
}
