/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core of the overlay: one place's part in the tree as a pure function.  An event goes in, with
 * the time; actions come out, to be performed in order.  No socket, clock or thread: the same
 * object runs in the daemon (overlay/endpoint.c) and in the simulator.  doc/protocol.rst has the rules.
 *
 * Memory of a place: O(radix) for its child ranges, O(open operations), the entries of the log that
 * its subtree has not acknowledged, and what is pending.  Only `dead` and `arrived` can grow with
 * the number of places, as ranges.  Only the root has the tail of the log, `dead` and `arrived`,
 * and these can be collected again from below.  Places not yet added cost nothing.
 */
#ifndef OVERLAY_OVERLAY_H
#define OVERLAY_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addresses.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/message.h"
#include "base/ranges.h"
#include "overlay/endpoint_types.h"

struct overlay;

enum overlay_event_kind {
    OVERLAY_EVENT_START, /* own may be NULL */
    /* From the world. */
    OVERLAY_EVENT_UP,    /* place, incarnation */
    OVERLAY_EVENT_DOWN,  /* place, loss */
    OVERLAY_EVENT_FRAME, /* place, frame */
    OVERLAY_EVENT_TIMER,
    /* From above: the calls of endpoint.h. */
    OVERLAY_EVENT_BROADCAST,  /* set (NULL: all), payload */
    OVERLAY_EVENT_LEAVE,      /* */
    OVERLAY_EVENT_GROW,       /* id: number of places to add */
    OVERLAY_EVENT_SHRINK,     /* set: they leave */
    OVERLAY_EVENT_CONTRIBUTE, /* key, set, payload */
    OVERLAY_EVENT_FORGET,     /* id: the owner; set: possible members */
    OVERLAY_EVENT_ASK,        /* key */
    OVERLAY_EVENT_CANCEL,     /* key */
    OVERLAY_EVENT_SEND,       /* place, class, payload */
    OVERLAY_EVENT_REQUEST,    /* place, id (the caller's, unique), payload */
    OVERLAY_EVENT_REPLY,      /* place, id, payload */
    OVERLAY_EVENT_FAILED,     /* place */
    OVERLAY_EVENT_RECOVER,    /* the root, in another process: its links have ended */
    OVERLAY_EVENT_KIND_COUNT
};

/* Borrows everything it points to; the core takes its own references. */
struct overlay_event {
    enum overlay_event_kind kind;
    uint64_t now_ns; /* never less than in the event before */
    uint32_t place;
    uint32_t incarnation;
    uint32_t id;
    enum frame_class class;
    enum endpoint_loss loss;
    struct operation_name key;
    const struct frame *frame;
    const struct addresses *own;
    const struct ranges *set;
    struct message *payload;
};

enum overlay_action_kind {
    /* To the world. */
    OVERLAY_ACTION_CONNECT, /* place, addresses */
    OVERLAY_ACTION_CLOSE,   /* place */
    OVERLAY_ACTION_SEND,    /* place, frame */
    OVERLAY_ACTION_TIMER,   /* deadline_ns */
    /* Upward: the events of endpoint.h. */
    OVERLAY_ACTION_JOINED,
    OVERLAY_ACTION_COMPLETE,
    OVERLAY_ACTION_BROADCAST, /* payload */
    OVERLAY_ACTION_RESULT,    /* key, status, places (the lost), payload */
    OVERLAY_ACTION_RECEIVED,  /* place, class, payload */
    OVERLAY_ACTION_REQUEST,   /* place, id, payload */
    OVERLAY_ACTION_REPLY,     /* id, status, payload */
    OVERLAY_ACTION_SEEN,      /* places, id: enum endpoint_loss, deadline_ns: how long silent */
    OVERLAY_ACTION_SILENT,    /* place, deadline_ns: for how long */
    OVERLAY_ACTION_DEAD,      /* places */
    OVERLAY_ACTION_GROWN,     /* places */
    OVERLAY_ACTION_LEFT,      /* places */
    OVERLAY_ACTION_RECOVERED, /* */
    OVERLAY_ACTION_MISSING,   /* key, places (the set), payload (of ROLL; NULL: none any longer) */
    OVERLAY_ACTION_ENDED,     /* end, error; the last action of all */
    OVERLAY_ACTION_KIND_COUNT
};

#define OVERLAY_ACTION_FIRST_UPWARD OVERLAY_ACTION_JOINED

/* Owns what it points to. */
struct overlay_action {
    enum overlay_action_kind kind;
    uint32_t place;
    uint32_t id;
    int status; /* negative errno */
    enum frame_class class;
    enum endpoint_end end;
    uint64_t deadline_ns;
    struct operation_name key;
    struct frame frame;
    struct message *payload;
    struct ranges places;
    struct addresses *addresses;
    char *text; /* why, for messages */
};

struct overlay_actions {
    struct overlay_action *items;
    uint32_t count;
    uint32_t capacity;
};

void overlay_action_fini(struct overlay_action *action);
void overlay_actions_fini(struct overlay_actions *actions); /* including actions that were not
                                                             * taken */

/* config is copied.  Nothing happens before OVERLAY_EVENT_START. */
struct overlay *overlay_create(const struct endpoint_config *config);
void overlay_destroy(struct overlay *overlay);
/* Appends to actions, which starts empty (zeroed) or with actions not yet performed.  After
 * OVERLAY_ACTION_ENDED every event is ignored. */
void overlay_step(struct overlay *overlay, const struct overlay_event *event,
                  struct overlay_actions *actions);

/* Facts. */
int overlay_is_joined(const struct overlay *overlay); /* has a parent (or is the root) now */
int overlay_is_complete(const struct overlay *overlay);
/* This place was asked to leave, the others were not. */
bool overlay_is_departing(const struct overlay *overlay);
int overlay_is_ended(const struct overlay *overlay);
uint32_t overlay_parent(const struct overlay *overlay);       /* linked parent or TREE_NO_PLACE */
uint32_t overlay_degree(const struct overlay *overlay);       /* links to parent and children */
uint64_t overlay_lease_end_ns(const struct overlay *overlay); /* UINT64_MAX: none runs */
void overlay_missing(const struct overlay *overlay, struct ranges *ret_places);
/* Root: 0, or -EAGAIN if too many entries have not been acknowledged yet. */
int overlay_may_broadcast(const struct overlay *overlay);
/* Root: 0, or -EAGAIN as above, or -ESHUTDOWN because all places leave. */
bool overlay_has_room(const struct overlay *overlay);
int overlay_may_change(const struct overlay *overlay);
const struct ranges *overlay_dead(const struct overlay *overlay); /* including places that have
                                                                   * left */
uint32_t overlay_population(const struct overlay *overlay);       /* places ever assigned */
/* The index-th child range that has a linked head: 1, its head and that one's addresses; 0 at the
 * end. */
int overlay_child(const struct overlay *overlay, uint32_t index, uint32_t *ret_place,
                  struct addresses *ret_addresses);
/* Amounts kept: for tests and for `banyan top`. */
uint32_t overlay_kept_entries(const struct overlay *overlay);
uint64_t overlay_looked_at_entries(const struct overlay *overlay); /* number of looks at kept
                                                                    * entries, ever */
uint32_t overlay_kept_operations(const struct overlay *overlay);
uint32_t overlay_kept_series(const struct overlay *overlay);
uint32_t overlay_lateral_links(const struct overlay *overlay); /* up, or requested */
/* The same, each with the owners of series for whose next operation it is kept. */
uint32_t overlay_laterals(const struct overlay *overlay,
                          struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX]);
/* A series of the owner exists here. */
int overlay_knows_owner(const struct overlay *overlay, uint32_t owner);
/* Of streams, with their records: at rest 0, whether or not their sets are forgotten. */
uint64_t overlay_kept_stream_bytes(const struct overlay *overlay);
/* Messages of peers about streams that are not known here; 0 some seconds later. */
uint32_t overlay_early_opens(const struct overlay *overlay);

#endif
