/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The types that the core (overlay/overlay.h) and its driver (overlay/endpoint.h) share with all code
 * above: names of operations, the configuration of a place, how membership ends.  No code.
 */
#ifndef OVERLAY_ENDPOINT_TYPES_H
#define OVERLAY_ENDPOINT_TYPES_H

#include <stdint.h>

#include "base/addresses.h"
#include "base/buffer.h"
#include "base/frame.h"
#include "base/ranges.h"

/* Of one send, request, reply or gather: a frame with room for what the overlay adds.  Operations
 * above it end with -EMSGSIZE. */
#define ENDPOINT_PAYLOAD_BYTES_MAX (FRAME_PAYLOAD_BYTES_MAX - 1024 * 1024)

/* Of one broadcast, and of all contributions to one exchange together: large ones are streamed. */
#define ENDPOINT_LARGE_BYTES_MAX (1024u * 1024 * 1024)

/* An operation's name: equal at all its members.  set_id names the set of participants (the
 * caller's hash, for instance of ranks); owner is the owner of the operation (a job's number),
 * never reused after endpoint_forget; generation counts operations of one set in the order in which
 * each member starts them: it may begin anywhere, leave gaps, and wraps. */
struct operation_name {
    uint64_t set_id;
    uint32_t generation;
    uint32_t owner;    /* part of the name */
    uint8_t kind;      /* the caller's: purpose of the operation; part of the name */
    uint8_t merge;     /* index into endpoint_config.merges */
    uint8_t target;    /* enum endpoint_target */
    uint8_t unused[5]; /* 0: equal names have equal bytes, which the explorer hashes */
};

enum endpoint_target {
    ENDPOINT_TARGET_ALL,  /* exchange: every member gets the merged result */
    ENDPOINT_TARGET_ROOT, /* gather: the root gets it, members only the status */
    ENDPOINT_TARGET_COUNT
};

/* Pure: merged := merged + other, neither of them empty.  Must be associative; called in ascending
 * order of places. */
typedef void endpoint_merge_function(struct buffer *merged, const void *other, size_t other_bytes);

/* The living members that an operation waits for, by reason.  At most ENDPOINT_MISSING_RANGES_MAX
 * ranges of each set are listed. */
#define ENDPOINT_MISSING_RANGES_MAX 64

struct endpoint_missing {
    struct ranges absent;   /* joined; has not contributed */
    struct ranges unjoined; /* has never joined */
    struct ranges silent;   /* does not answer, or is cut off */
    uint64_t more;          /* number of members not listed */
};

struct endpoint_ancestor {
    uint32_t place;
    struct addresses addresses;
};

/* Costs of the network and of a daemon, for the choice between equivalent methods (stream_cost.h).
 * Only the place that decides for an operation uses them, once, and sends the others its choice.  So
 * places may have different ones, and they may change.  In a configuration: 0 = as measured
 * (measure.h), or the default (stream_cost.c) if nothing has been measured. */
struct endpoint_costs {
    uint32_t hop_ns;     /* of a small message, one way; more than 10 ms counts as that */
    uint32_t message_ns; /* of CPU, at each of the two ends; the same; never measured */
    uint32_t byte_ps;    /* more than 1 us counts as that */
};

/* How large data go to all: as costs less, or always over one tree, or over two at once where they can. */
enum endpoint_trees {
    ENDPOINT_TREES_CHEAPEST,
    ENDPOINT_TREES_ONE,
    ENDPOINT_TREES_TWO,
    ENDPOINT_TREES_COUNT
};

struct endpoint_config {
    uint32_t place;
    uint32_t places; /* initial number, including the root */
    uint32_t radix;
    uint32_t incarnation;  /* from 1 */
    uint64_t heartbeat_ns; /* 0 = 1 s */
    uint64_t lease_ns;     /* 0 = 120 s; a place silent for half of it while its link stays up is
                         * lost */
    uint64_t rejoin_ns;    /* 0 = 4 s: an orphan without a parent by then ends */
    /* 0, or how long a place goes on without the root: it then neither ends as an orphan nor with its lease
     * before that, so that a root that is recovered (endpoint_recover) finds it.  The same at all places. */
    uint64_t survive_ns;
    uint64_t first_join_ns; /* 0 = 16 s: the first join may find no place up for that long */
    uint64_t stall_ns;      /* 0 = 5 s: an exchange without progress for that long is reported
                            * (missing) */
    /* 0 = 64 KiB: larger exchanges are streamed.  Does not change, as costs do: what a place says twice
     * in one attempt must be the same. */
    uint32_t inline_bytes;
    struct endpoint_costs costs;
    uint8_t trees; /* enum endpoint_trees; only the place that decides uses it, like the costs */
    uint32_t long_set_ranges; /* 0 = 65: sets of at least that many ranges are held in
                                            * slices */
    struct addresses own;     /* where this place listens */
    const struct endpoint_ancestor *ancestors; /* nearest first, the root last; copied */
    uint32_t ancestors_count;
    endpoint_merge_function *const *merges; /* static */
    uint32_t merges_count;
};

/* Links outside the tree (overlay/lateral.c). */
#define ENDPOINT_LATERAL_OWNERS_MAX 4
#define ENDPOINT_LATERALS_USED_MAX  8 /* in use, or closed by this end */
#define ENDPOINT_LATERALS_IDLE_MAX  8 /* to be closed by the others; beyond it they are asked to */
#define ENDPOINT_LATERALS_ASKED_MAX 4 /* further ones accepted meanwhile */
#define ENDPOINT_LATERALS_MAX \
    (ENDPOINT_LATERALS_USED_MAX + ENDPOINT_LATERALS_IDLE_MAX + ENDPOINT_LATERALS_ASKED_MAX)

struct endpoint_lateral {
    uint32_t place;
    uint32_t owners[ENDPOINT_LATERAL_OWNERS_MAX];
    uint32_t owners_count;
};

/* Messages of this place and those that it relays: at each end of a link each counts once. */
struct endpoint_traffic {
    uint64_t messages;
    uint64_t bytes; /* of their payloads */
};

/* How the loss of a place was noticed. */
enum endpoint_loss {
    ENDPOINT_LOSS_UNKNOWN,     /* its link broke, or it was cut off with the place above it */
    ENDPOINT_LOSS_ENDED,       /* its starter reported the end of its daemon */
    ENDPOINT_LOSS_CLOSED,      /* its daemon closed the connection */
    ENDPOINT_LOSS_UNREACHABLE, /* its machine does not answer */
    ENDPOINT_LOSS_SILENT,      /* its machine answers, its daemon is silent */
    ENDPOINT_LOSS_REFUSED,     /* its machine refuses the connection */
    ENDPOINT_LOSS_COUNT
};

enum endpoint_end {
    ENDPOINT_END_LEFT,   /* the root asked all places, or this one, to leave; all below have gone */
    ENDPOINT_END_ORPHAN, /* no living ancestor could be reached in time */
    ENDPOINT_END_LEASE,  /* no heartbeat for the length of a lease */
    ENDPOINT_END_EVICTED, /* the instance counts this place (or incarnation) as dead */
    ENDPOINT_END_REFUSED, /* version, place or state did not fit */
    ENDPOINT_END_COUNT
};

#endif
