/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one driver that joins the overlay core (overlay/overlay.h, pure) to a world (a transport of
 * fabric/transport.h: links or the simulator).  Everything above the overlay uses only this header.
 * Single-threaded; upcalls never happen inside a call.
 */
#ifndef OVERLAY_ENDPOINT_H
#define OVERLAY_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/frame.h"
#include "base/message.h"
#include "base/ranges.h"
#include "fabric/transport.h"
#include "overlay/endpoint_types.h"

struct endpoint;
struct overlay_event;
struct overlay_actions;

struct endpoint_events {
    /* This place has a parent (called once).  Not called at the root. */
    void (*joined)(void *context);
    /* A place has opened a link to this one, or this one to it: its daemon is up. May be NULL. */
    void (*linked)(void *context, uint32_t place);
    /* A link to a place has ended, or could not be made at any of its addresses. May be NULL. */
    void (*unlinked)(void *context, uint32_t place, const struct error *why);
    /* Root: every place that is not dead has joined (called once, and again after endpoint_grow). */
    void (*complete)(void *context);
    /* A broadcast of the root; each exactly once, in the root's order, at each living member of its
     * set. */
    void (*broadcast)(void *context, struct message *payload);
    /* An operation to which this place contributed (or, ENDPOINT_TARGET_ROOT, at the root) has ended:
     * status 0 and payload (NULL for members of a gather), -EHOSTDOWN and the lost members,
     * -EMSGSIZE, -ETIMEDOUT (endpoint_cancel), or -ECANCELED: the root has forgotten its owner. */
    void (*result)(void *context, const struct operation_name *key, int status,
                   const struct ranges *lost, struct message *payload);
    /* endpoint_send of another place. */
    void (*received)(void *context, uint32_t source, uint8_t class, struct message *payload);
    /* endpoint_request of another place: answer with endpoint_reply, now or later.  May come twice when a
     * relay died: answering must be repeatable. */
    void (*request)(void *context, uint32_t source, uint32_t id, struct message *payload);
    /* The answer to a request of ours; status -EHOSTDOWN if the target died, -EMSGSIZE if request or
     * answer were above ENDPOINT_PAYLOAD_BYTES_MAX. */
    void (*reply)(void *context, uint32_t id, int status, struct message *payload);
    /* Root: how the loss of places was noticed whose death is reported next (`lost`), and for
     * ENDPOINT_LOSS_SILENT how long they had been silent.  May be NULL. */
    void (*seen)(void *context, const struct ranges *places, enum endpoint_loss loss,
                 uint64_t silent_ns);
    /* A child has been silent for that long and is given more time: called once, and again with 0
     * when it responds.  For its own place (only at the root): it has itself been stalled for that
     * long. May be NULL. */
    void (*silent)(void *context, uint32_t place, uint64_t silent_ns);
    /* Places that died, in the root's order of deaths, once each, at every living place. */
    void (*lost)(void *context, const struct ranges *places);
    /* In the same order, at every living place: places are new (they have yet to start), or have
     * been asked to leave, and count as gone from now on.  May be NULL. */
    void (*grown)(void *context, const struct ranges *places);
    void (*left)(void *context, const struct ranges *places);
    /* In the same order, at every living place: the root goes on after the end of its process
     * (endpoint_recover), and what had been sent to it or by it may be lost.  May be NULL. */
    void (*recovered)(void *context);
    /* Only at the head of the range that a set's operation meets in: the exchange has had no
     * progress for endpoint_config.stall_ns, or endpoint_ask was called, and these are the members it waits
     * for.  missing NULL: an exchange reported so has ended.  May be NULL. */
    void (*missing)(void *context, const struct operation_name *key, const struct ranges *set,
                    const struct endpoint_missing *missing);
    /* This place is no longer part of the instance: end everything. The last upcall. */
    void (*ended)(void *context, enum endpoint_end end, const struct error *why);
};

/* The transport must be created with endpoint_transport_events() and endpoint as context, so creation takes
 * two steps: create, then attach.  config is copied. */
struct endpoint *endpoint_create(const struct endpoint_config *config,
                                 const struct endpoint_events *events, void *context);
const struct transport_events *endpoint_transport_events(void);
void endpoint_attach(struct endpoint *endpoint, const struct transport_ops *ops, void *transport);
/* Joins upward (or, at the root, begins to wait for all).  own: actual addresses, if they were not
 * known at creation; may be NULL. */
void endpoint_start(struct endpoint *endpoint, const struct addresses *own);
void endpoint_destroy(struct endpoint *endpoint);
/* From now on observer sees every step of the core before its actions are performed (for
 * recording). */
typedef void endpoint_observer(void *context, const struct overlay_event *event,
                               const struct overlay_actions *actions);
void endpoint_observe(struct endpoint *endpoint, endpoint_observer *observer, void *context);

/* Root only.  set NULL = all places including the root.  Takes the caller's reference of payload.
 * -EAGAIN, without sending, if too many broadcasts have not reached all places yet. */
int endpoint_broadcast(struct endpoint *endpoint, const struct ranges *set,
                       struct message *payload);
/* Root only: all places leave, leaves of the tree first; `ended` is called when all have gone. */
void endpoint_leave(struct endpoint *endpoint);
/* Root only: adds that many places, after all that were ever assigned.  Returns the first;
 * UINT32_MAX, without effect, beyond TREE_PLACES_MAX, while too many broadcasts are pending (as
 * with endpoint_broadcast), or when all leave.  Their daemons must be configured with `places` and
 * `radix` of the others; a place that never joins must be reported with endpoint_place_failed. */
uint32_t endpoint_grow(struct endpoint *endpoint, uint32_t count);
/* Root only: these places leave.  The others treat them as dead from the entry on; operations that
 * they are members of end with -EHOSTDOWN unless decided; they end (ENDPOINT_END_LEFT) when all below
 * them have found another parent, or left too.  -EINVAL if the root is among them or one was never
 * assigned; -EAGAIN or -ESHUTDOWN as with endpoint_grow. */
int endpoint_shrink(struct endpoint *endpoint, const struct ranges *places);
/* Root only: the state of this endpoint is that of one whose process has died, reached again by the
 * same upcalls of a transport and the same calls; from now on ops is its transport, all links have ended,
 * and so have all attempts.  The other places must have been configured with survive_ns; they find this
 * one at its addresses, or it finds them.  O(population). */
void endpoint_recover(struct endpoint *endpoint, const struct transport_ops *ops, void *transport);
/* Contributes to an operation among the places of set (this place must be in it).  Takes the
 * reference of payload (may be NULL: nothing).  `result` says -EINVAL if this place has called that
 * operation before, -EEXIST if the name stands for another set, -EAGAIN if too many operations are
 * open. */
void endpoint_contribute(struct endpoint *endpoint, const struct operation_name *key,
                         const struct ranges *set, struct message *payload);
/* Stops waiting for an operation that was contributed to here: it ends with -ETIMEDOUT at all its
 * members, including those that have yet to call, unless it has been decided already or a member is
 * dead; `result` reports it.  No effect if it has ended here. */
void endpoint_cancel(struct endpoint *endpoint, const struct operation_name *key);
/* Asks for the missing members of an operation whose meeting point is here (a gather: the root).
 * `missing` answers, within about a second; no effect if there is no such operation. */
void endpoint_ask(struct endpoint *endpoint, const struct operation_name *key);
/* Root only: an owner's operations (operation_name) have ended, and are forgotten everywhere: here, by
 * these places, which must be all that could be members of its sets, including dead ones, and by
 * relays between them.  No other event makes places forget.  Waiting callers get -ECANCELED.
 * Reliable as a broadcast. */
void endpoint_forget(struct endpoint *endpoint, uint32_t owner, const struct ranges *places);
/* Routed along the tree, in order per class and pair of places, lost if a relay dies.  Takes the
 * reference. */
void endpoint_send(struct endpoint *endpoint, uint32_t place, enum frame_class class,
                   struct message *payload);
/* Routed, repeated after deaths until answered.  Returns the id that `reply` will name. */
uint32_t endpoint_request(struct endpoint *endpoint, uint32_t place, struct message *payload);
void endpoint_reply(struct endpoint *endpoint, uint32_t source, uint32_t id,
                    struct message *payload);
/* The starter reports that a place never started or has ended. */
void endpoint_place_failed(struct endpoint *endpoint, uint32_t place);

/* Facts. */
uint64_t endpoint_lease_end_ns(const struct endpoint *endpoint); /* UINT64_MAX: none runs */
int endpoint_is_complete(const struct endpoint *endpoint);       /* root */
/* Root: at most half as many broadcasts are pending as there may be. */
bool endpoint_has_room(const struct endpoint *endpoint);
bool endpoint_is_departing(const struct endpoint *endpoint); /* asked to leave, and not all are */
void endpoint_missing(const struct endpoint *endpoint,
                      struct ranges *ret_places); /* not joined, of own scope */
const struct ranges *endpoint_dead(
    const struct endpoint *endpoint);                          /* including places that have left */
uint32_t endpoint_population(const struct endpoint *endpoint); /* places ever assigned */
uint32_t endpoint_parent(const struct endpoint *endpoint); /* linked parent, UINT32_MAX if none */
/* The index-th linked child: 1, its place and addresses; 0 at the end. */
int endpoint_child(const struct endpoint *endpoint, uint32_t index, uint32_t *ret_place,
                   struct addresses *ret_addresses);
uint32_t endpoint_degree(const struct endpoint *endpoint); /* links to parent and children */
/* The costs that choices are based on at present (overlay/measure.h). */
struct endpoint_costs endpoint_costs_now(const struct endpoint *endpoint);
/* What has been sent and received so far, heartbeats and what is relayed included. */
struct endpoint_traffic endpoint_traffic_now(const struct endpoint *endpoint);
/* Log entries and operations kept for others. */
uint32_t endpoint_kept_entries(const struct endpoint *endpoint);
uint32_t endpoint_kept_operations(const struct endpoint *endpoint);
uint32_t endpoint_kept_series(const struct endpoint *endpoint);
uint64_t endpoint_kept_stream_bytes(const struct endpoint *endpoint);
uint32_t endpoint_early_opens(const struct endpoint *endpoint);
uint32_t endpoint_lateral_links(const struct endpoint *endpoint); /* up, or requested */
uint32_t endpoint_laterals(const struct endpoint *endpoint,
                           struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX]);
int endpoint_knows_owner(const struct endpoint *endpoint,
                         uint32_t owner); /* a series of it exists here */

#endif
