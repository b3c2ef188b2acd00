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
#include <stdlib.h>

#include "launch/core/daemon_core_internal.h"

static const struct node_order *order_of(const struct daemon_core *core)
{
    const struct allocation *roster = instance_roster(core->instance);

    return roster != NULL ? roster->order : core->shape->order;
}

void daemon_core_shape_open(struct daemon_core *core, const struct node_order *order)
{
    if (order == NULL)
        return;
    core->shape = memory_allocate_zeroed(sizeof(*core->shape));
    core->shape->order = order;
}

void daemon_core_shape_close(struct daemon_core *core)
{
    if (core->shape == NULL)
        return;
    ranges_fini(&core->shape->early_losses);
    free(core->shape);
}

void daemon_core_shape_check(const struct daemon_core *core)
{
    const struct allocation *roster = instance_roster(core->instance);

    assert(core->shape != NULL || roster == NULL || roster->order == NULL);
    assert(core->shape == NULL || (core->shape->tree != NULL) == (core->tree != NULL));
}

uint32_t daemon_core_shape_listed(const struct daemon_core *core, uint32_t tree_place)
{
    return core->shape != NULL ? node_order_listed_place(order_of(core), tree_place) : tree_place;
}

uint32_t daemon_core_shape_tree(const struct daemon_core *core, uint32_t place)
{
    return core->shape != NULL ? node_order_tree_place(order_of(core), place) : place;
}

void daemon_core_shape_tree_places(const struct daemon_core *core, const struct ranges *places,
                                   struct ranges *ret_places)
{
    if (core->shape != NULL)
        node_order_tree_places(order_of(core), places, ret_places);
    else
        ranges_copy(ret_places, places);
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
    rc = core->shape->tree->broadcast(core->shape->tree_context, places != NULL ? &there : NULL,
                                      message);
    ranges_fini(&there);
    return rc;
}

static void shaped_contribute(void *context, const struct operation_name *key,
                              const struct ranges *places, struct message *message)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    node_order_tree_places(order_of(core), places, &there);
    core->shape->tree->contribute(core->shape->tree_context, key, &there, message);
    ranges_fini(&there);
}

static void shaped_forget(void *context, uint32_t owner, const struct ranges *places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    node_order_tree_places(order_of(core), places, &there);
    core->shape->tree->forget(core->shape->tree_context, owner, &there);
    ranges_fini(&there);
}

static void shaped_send(void *context, uint32_t place, enum frame_class class,
                        struct message *message)
{
    struct daemon_core *core = context;

    core->shape->tree->send(core->shape->tree_context, daemon_core_shape_tree(core, place), class,
                            message);
}

static uint32_t shaped_request(void *context, uint32_t place, struct message *message)
{
    struct daemon_core *core = context;

    return core->shape->tree->request(core->shape->tree_context,
                                      daemon_core_shape_tree(core, place), message);
}

static void shaped_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    struct daemon_core *core = context;

    core->shape->tree->reply(core->shape->tree_context, daemon_core_shape_tree(core, source), id,
                             message);
}

static void shaped_place_failed(void *context, uint32_t place)
{
    struct daemon_core *core = context;

    core->shape->tree->place_failed(core->shape->tree_context, daemon_core_shape_tree(core, place));
}

static void shaped_leave(void *context)
{
    struct daemon_core *core = context;

    core->shape->tree->leave(core->shape->tree_context);
}

static int shaped_shrink(void *context, const struct ranges *places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};
    int rc;

    node_order_tree_places(order_of(core), places, &there);
    rc = core->shape->tree->shrink(core->shape->tree_context, &there);
    ranges_fini(&there);
    return rc;
}

/* Places that are added have the same number on both sides. */
static uint32_t shaped_grow(void *context, uint32_t count)
{
    struct daemon_core *core = context;

    return core->shape->tree->grow(core->shape->tree_context, count);
}

static bool shaped_has_room(void *context)
{
    struct daemon_core *core = context;

    return core->shape->tree->has_room(core->shape->tree_context);
}

static void shaped_dead(void *context, struct ranges *ret_places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    core->shape->tree->dead(core->shape->tree_context, &there);
    node_order_listed_places(order_of(core), &there, ret_places);
    ranges_fini(&there);
}

static int shaped_is_complete(void *context)
{
    struct daemon_core *core = context;

    return core->shape->tree->is_complete(core->shape->tree_context);
}

static bool shaped_is_departing(void *context)
{
    struct daemon_core *core = context;

    return core->shape->tree->is_departing(core->shape->tree_context);
}

/* Of the own scope, so the order of the range is enough. */
static void shaped_missing(void *context, struct ranges *ret_places)
{
    struct daemon_core *core = context;
    struct ranges there = {0};

    core->shape->tree->missing(core->shape->tree_context, &there);
    node_order_listed_places(order_of(core), &there, ret_places);
    ranges_fini(&there);
}

static uint32_t shaped_parent(void *context)
{
    struct daemon_core *core = context;
    uint32_t place = core->shape->tree->parent(core->shape->tree_context);

    return place == UINT32_MAX ? place : node_order_listed_place(order_of(core), place);
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
        .parent = shaped_parent,
    };

    assert(core->shape != NULL && core->tree != NULL && core->shape->tree == NULL);
    core->shape->tree = core->tree;
    core->shape->tree_context = core->tree_context;
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

    assert(core->shape != NULL);
    if (is_too_early(core, event)) {
        ranges_add_all(&core->shape->early_losses, event->places);
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
    if (core->shape == NULL || ranges_is_empty(&core->shape->early_losses) ||
        instance_roster(core->instance) == NULL)
        return 0;
    *ret_event = (struct daemon_shaped_event){.event = {.kind = DAEMON_EVENT_LOST}};
    node_order_listed_places(order_of(core), &core->shape->early_losses, &ret_event->places);
    ret_event->event.places = &ret_event->places;
    ranges_clear(&core->shape->early_losses);
    return 1;
}

void daemon_core_shape_event_fini(struct daemon_shaped_event *event)
{
    ranges_fini(&event->places);
    ranges_fini(&event->missing.absent);
    ranges_fini(&event->missing.unjoined);
    ranges_fini(&event->missing.silent);
}
