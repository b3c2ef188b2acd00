/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance whose tree does not go by the allocation (alloc/node_order.h).  Everything above the overlay goes
 * by the order of the allocation, and this file is the border: it translates the places in operations on the
 * tree and in its events.  Without an order it is not involved.
 *
 * The whole order comes with the roster.  Until then a daemon knows the part of the range that it heads, which is
 * all that can concern it but for losses elsewhere: they are handled when the roster is here.
 *
 * Cost: that of the sets, which may fall into more stretches on the other side.
 */
#include "config.h"

#include <assert.h>

#include "launch/core/daemon_core_internal.h"

static const struct node_order *order_of(const struct daemon_core *core)
{
    const struct allocation *roster = instance_roster(core->instance);

    return roster != NULL ? roster->order : core->order;
}

void daemon_core_shape_check(const struct daemon_core *core)
{
    const struct allocation *roster = instance_roster(core->instance);

    assert(core->order != NULL || roster == NULL || roster->order == NULL);
    assert((core->shaped_tree != NULL) == (core->order != NULL && core->tree != NULL));
}

uint32_t daemon_core_shape_listed(const struct daemon_core *core, uint32_t tree_place)
{
    return core->order != NULL ? node_order_listed_place(order_of(core), tree_place) : tree_place;
}

uint32_t daemon_core_shape_tree(const struct daemon_core *core, uint32_t place)
{
    return core->order != NULL ? node_order_tree_place(order_of(core), place) : place;
}

const char *daemon_core_shape_name(const struct daemon_core *core, uint32_t place,
                                   char name[HOST_NAME_BYTES_MAX + 1])
{
    return core->ops->starter->name(core->context, daemon_core_shape_tree(core, place), name);
}

/* ---- operations ---- */

static int shaped_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct daemon_core *core = context;
    struct ranges there = {0};
    int rc;

    if (places != NULL)
        node_order_tree_places(order_of(core), places, &there);
    rc =
        core->shaped_tree->broadcast(core->shaped_context, places != NULL ? &there : NULL, message);
    ranges_fini(&there);
    return rc;
}

static void shaped_contribute(void *context, const struct operation_name *key,
                              const struct ranges *places, struct message *message)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    node_order_tree_places(order_of(core), places, &there);
    core->shaped_tree->contribute(core->shaped_context, key, &there, message);
    ranges_fini(&there);
}

static void shaped_forget(void *context, uint32_t owner, const struct ranges *places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    node_order_tree_places(order_of(core), places, &there);
    core->shaped_tree->forget(core->shaped_context, owner, &there);
    ranges_fini(&there);
}

static void shaped_send(void *context, uint32_t place, enum frame_class class,
                        struct message *message)
{
    struct daemon_core *core = context;

    core->shaped_tree->send(core->shaped_context, daemon_core_shape_tree(core, place), class,
                            message);
}

static uint32_t shaped_request(void *context, uint32_t place, struct message *message)
{
    struct daemon_core *core = context;

    return core->shaped_tree->request(core->shaped_context, daemon_core_shape_tree(core, place),
                                      message);
}

static void shaped_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct daemon_core *core = context;

    core->shaped_tree->reply(core->shaped_context, daemon_core_shape_tree(core, source), id,
                             message);
}

static void shaped_place_failed(void *context, uint32_t place)
{
    struct daemon_core *core = context;

    core->shaped_tree->place_failed(core->shaped_context, daemon_core_shape_tree(core, place));
}

static void shaped_leave(void *context)
{
    struct daemon_core *core = context;

    core->shaped_tree->leave(core->shaped_context);
}

static int shaped_shrink(void *context, const struct ranges *places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};
    int rc;

    node_order_tree_places(order_of(core), places, &there);
    rc = core->shaped_tree->shrink(core->shaped_context, &there);
    ranges_fini(&there);
    return rc;
}

/* Places that are added have the same number on both sides. */
static uint32_t shaped_grow(void *context, uint32_t count)
{
    struct daemon_core *core = context;

    return core->shaped_tree->grow(core->shaped_context, count);
}

static bool shaped_has_room(void *context)
{
    struct daemon_core *core = context;

    return core->shaped_tree->has_room(core->shaped_context);
}

static void shaped_dead(void *context, struct ranges *ret_places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    core->shaped_tree->dead(core->shaped_context, &there);
    node_order_listed_places(order_of(core), &there, ret_places);
    ranges_fini(&there);
}

static int shaped_is_complete(void *context)
{
    struct daemon_core *core = context;

    return core->shaped_tree->is_complete(core->shaped_context);
}

static bool shaped_is_departing(void *context)
{
    struct daemon_core *core = context;

    return core->shaped_tree->is_departing(core->shaped_context);
}

/* Of the own scope, so the order of the range is enough. */
static void shaped_missing(void *context, struct ranges *ret_places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    core->shaped_tree->missing(core->shaped_context, &there);
    node_order_listed_places(order_of(core), &there, ret_places);
    ranges_fini(&there);
}

void daemon_core_shape_attach(struct daemon_core *core)
{
    static const struct daemon_tree_ops ops = {
        .broadcast = shaped_broadcast,
        .contribute = shaped_contribute,
        .forget = shaped_forget,
        .send = shaped_send,
        .request = shaped_request,
        .reply = shaped_reply,
        .place_failed = shaped_place_failed,
        .leave = shaped_leave,
        .shrink = shaped_shrink,
        .grow = shaped_grow,
        .has_room = shaped_has_room,
        .dead = shaped_dead,
        .is_complete = shaped_is_complete,
        .is_departing = shaped_is_departing,
        .missing = shaped_missing,
    };

    assert(core->order != NULL && core->tree != NULL && core->shaped_tree == NULL);
    core->shaped_tree = core->tree;
    core->shaped_context = core->tree_context;
    core->tree = &ops;
    core->tree_context = core;
}

/* ---- events ---- */

static void missing_make(const struct node_order *order, const struct endpoint_missing *there,
                         struct endpoint_missing *ret_missing)
{
    ret_missing->more = there->more;
    node_order_listed_places(order, &there->absent, &ret_missing->absent);
    node_order_listed_places(order, &there->unjoined, &ret_missing->unjoined);
    node_order_listed_places(order, &there->silent, &ret_missing->silent);
}

static int is_too_early(const struct daemon_core *core, const struct daemon_event *event)
{
    return event->kind == DAEMON_EVENT_LOST && instance_roster(core->instance) == NULL;
}

int daemon_core_shape_event(struct daemon_core *core, const struct daemon_event *event,
                            struct daemon_shaped_event *ret_event)
{
    const struct node_order *order = order_of(core);

    assert(core->order != NULL);
    if (is_too_early(core, event)) {
        ranges_add_all(&core->early_losses, event->places);
        return 0;
    }
    *ret_event = (struct daemon_shaped_event){.event = *event};
    switch (event->kind) {
    case DAEMON_EVENT_RECEIVED:
    case DAEMON_EVENT_REQUEST:
    case DAEMON_EVENT_SILENT:
    case DAEMON_EVENT_PLACE_FAILED:
    case DAEMON_EVENT_LINE:
        ret_event->event.place = node_order_listed_place(order, event->place);
        break;
    case DAEMON_EVENT_RESULT:
    case DAEMON_EVENT_SEEN:
    case DAEMON_EVENT_LOST:
    case DAEMON_EVENT_MISSING:
        if (event->places != NULL) {
            node_order_listed_places(order, event->places, &ret_event->places);
            ret_event->event.places = &ret_event->places;
        }
        if (event->missing != NULL) {
            missing_make(order, event->missing, &ret_event->missing);
            ret_event->event.missing = &ret_event->missing;
        }
        break;
    default:
        break; /* without places, or with the tree's for the starter */
    }
    return 1;
}

int daemon_core_shape_losses(struct daemon_core *core, struct daemon_shaped_event *ret_event)
{
    if (ranges_is_empty(&core->early_losses) || instance_roster(core->instance) == NULL)
        return 0;
    *ret_event = (struct daemon_shaped_event){.event = {.kind = DAEMON_EVENT_LOST}};
    node_order_listed_places(order_of(core), &core->early_losses, &ret_event->places);
    ret_event->event.places = &ret_event->places;
    ranges_clear(&core->early_losses);
    return 1;
}

void daemon_core_shape_event_fini(struct daemon_shaped_event *event)
{
    ranges_fini(&event->places);
    ranges_fini(&event->missing.absent);
    ranges_fini(&event->missing.unjoined);
    ranges_fini(&event->missing.silent);
}
