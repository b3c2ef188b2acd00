/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between the overlay's driver (overlay/endpoint.c) and a world that carries frames
 * between places: TLS links over sock (fabric/link_set.c), the simulator (fabric/virtual_network.c), later
 * libfabric.  All calls and upcalls happen on the one thread of the daemon; upcalls never happen
 * inside a call of ops.
 *
 * A link connects two places, is authenticated before `up` is called, keeps the order of frames
 * within a class, and loses nothing while it is up.  There is at most one link per pair of places.
 * If both connect at once, the connection of the lower place becomes the link, and the attempt of
 * the other ends in its `up`.  While a link is up, a connection of a place with the same
 * incarnation is refused, and tried again soon, as the refusing end may not know yet that the other
 * has closed the link; one with a later incarnation replaces the link.
 */
#ifndef FABRIC_TRANSPORT_H
#define FABRIC_TRANSPORT_H

#include <stdint.h>

#include "base/addresses.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/time.h"

/* The time limit of an attempt.  Allows two retransmissions of the first packet.  Less than the time
 * that a joining daemon gives one ancestor (4 s, overlay/join.c), so that the answers of its
 * addresses are known before the next is tried. */
#define TRANSPORT_ATTEMPT_NS (3500 * NS_PER_MS)
/* The wait before a connection refused because of another link is tried again; doubled each time. */
#define TRANSPORT_RETRY_NS    (50 * NS_PER_MS)
#define TRANSPORT_RETRIES_MAX 3

struct transport_ops {
    const char *name;
    /* Opens a link to place, trying its addresses (in order, the next one after a short while or a
     * refusal).  Ends in exactly one `up` or `down`.  Returns -EALREADY if a link or attempt
     * exists. */
    int (*connect)(void *transport, uint32_t place, const struct addresses *addresses);
    /* Queues a frame; takes one reference of its payload in any case.  -ENOTCONN if no link is up.
     * Frames queued in one turn of the loop leave in one write. */
    int (*send)(void *transport, uint32_t place, const struct frame *frame);
    /* Ends a link after what is queued has been written (within a second); no `down` follows. */
    void (*close)(void *transport, uint32_t place);
    /* Monotonic nanoseconds of this world. */
    uint64_t (*now_ns)(void *transport);
    /* The one timer of the overlay: `timer` is called at or after deadline_ns; UINT64_MAX
     * cancels. */
    void (*timer)(void *transport, uint64_t deadline_ns);
};

struct transport_events {
    /* A link is up, whichever side opened it. */
    void (*up)(void *context, uint32_t place, uint32_t incarnation);
    /* A link or an attempt ended.  why->text is for messages; by why->code the overlay
     * distinguishes a process that has exited (-EPIPE, -ECONNRESET, -ECONNREFUSED, -ESHUTDOWN) from
     * a machine that does not answer (-ETIMEDOUT, -EHOSTUNREACH, -EHOSTDOWN, -ENETUNREACH,
     * -ENETDOWN) and from a daemon that stays silent though its machine accepts the connection
     * (-ETIME). */
    void (*down)(void *context, uint32_t place, const struct error *why);
    /* frame and payload are valid during the upcall; reference the payload to keep it. */
    void (*frame)(void *context, uint32_t place, const struct frame *frame);
    void (*timer)(void *context);
};

#endif
