/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One large transfer to many places: the result of an operation, of which all members offer pieces,
 * or the payload of a log entry, which the root offers.  Offsets and total are fixed in advance
 * (GO, or the entry).
 *
 * A stream runs over edges, which form a tree (or two, each for one half of the bytes): data
 * received over one edge is forwarded over all others of that tree, unchanged, without a copy.  So
 * each place gets every byte once, from whichever side, upward and downward at the same time, and
 * sends it at most degree - 1 times.  A place that opens an edge sends what it already has and how
 * much may be sent to it; that window is renewed as chunks arrive.  A receiver has room for the
 * whole stream, so places wait for nothing but the network; to bound that room, only the first
 * STREAM_ACTIVE_MAX of the incomplete streams, in the order of their names, which is the same
 * everywhere, open their edges.  The first of all is never held back: no deadlock with any number
 * of streams.
 *
 * On a route via the top bytes go one way only: up the main tree from the offering places to the
 * meeting point, which feeds the roots of the two trees.  Then an edge of the two trees is opened
 * by its lower end only, and one of the main tree by its upper end only.  That takes at most depth
 * + log2(members) hops, whereas going up and down the two trees takes 2 log2(members).
 *
 * An edge without a link is opened over a lateral link (lateral.c).  The lower of its two places
 * asks for that, so it alone handles its closing: it asks again if the edge has not been used yet;
 * otherwise the stream is broken, and its owner (large.c, broadcast_large.c) reroutes it over the
 * main tree.
 *
 * If an incomplete stream that is not held back gets nothing for overlay->stall_ns, it opens all
 * its edges again with what it has: lost messages, for whatever reason, cost only that time.
 *
 * Cost: the bytes, once; 48 bytes per chunk; O(log) per chunk besides sending.
 */
#ifndef OVERLAY_STREAM_H
#define OVERLAY_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/core.h"
#include "overlay/stream_wire.h"

#define STREAM_ACTIVE_MAX 2
/* The window is half of the stream, which is what an edge of two trees brings, plus a chunk, up to
 * this limit; that much may wait in a link's queue, by reference. */
#define STREAM_WINDOW_BYTES_MAX (4u * 1024 * 1024)
#define STREAM_EARLY_MAX        64                   /* OPENs received before the stream is known */
#define STREAM_EARLY_NS         (10000 * 1000000ull) /* how long they are kept */
#define STREAM_STALLS_MAX \
    6 /* in a row; then a stream is broken if an edge still has no
                                   * link */

struct stream_chunk {
    struct message *frame; /* the encoded chunk */
    struct wire_bytes payload;
    uint32_t offset;
    uint32_t from; /* place, or TREE_NO_PLACE if it is ours */
    /* 1: ours, or from below: goes up, if the route is via the top.  A whole word, since padding
     * would hold stack garbage, and the explorer would take equal states for different ones. */
    uint64_t rises;
};

struct stream_edge {
    uint32_t place;
    uint8_t trees;          /* enum stream_trees */
    bool takes;             /* else for sending only: we never open it */
    bool wanted;            /* a lateral link has been requested */
    bool told;              /* OPEN is sent */
    uint32_t cursor;        /* into chunks: earlier ones are sent or need not be */
    uint64_t credit_bytes;  /* that may be sent */
    uint64_t open_bytes;    /* that the other end may still send */
    uint32_t unacked_bytes; /* received, credit not yet renewed */
    struct ranges peer_has;
};

struct stream {
    struct stream *next; /* by name, ascending */
    struct stream_name name;
    uint32_t attempt;
    uint32_t round;
    uint32_t total_bytes;
    uint32_t chunk_bytes;
    uint64_t have_bytes;
    uint32_t rising_first; /* these come from below, on a route via the top */
    uint32_t rising_bytes;
    /* When the first bytes from a peer arrived on this route (0: not yet, or they are not timed), and how
     * many there were then in how many chunks. */
    uint64_t begun_ns;
    uint32_t begun_bytes;
    uint32_t begun_chunks;
    uint64_t moved_ns; /* time of the last bytes from a peer, the route, or the last stall */
    uint32_t stalls;   /* since there were bytes */
    struct ranges have;
    struct stream_chunk *chunks; /* in order of arrival */
    uint32_t chunks_count;
    uint32_t chunks_capacity;
    struct stream_edge *edges;
    uint32_t edges_count;
    bool lateral;           /* the edges need not be links of the main tree */
    bool complete_reported; /* to its owner */
    bool broken;            /* in this round; to be reported */
    bool given_up;          /* that has been reported: no more links are requested */
};

/* Asserts the invariants of a stream; O(1). */
void stream_check(const struct stream *stream);
struct stream *stream_create(struct overlay *overlay, const struct stream_name *name,
                             uint32_t attempt, uint32_t total_bytes, uint32_t chunk_bytes);
void stream_destroy(struct overlay *overlay, struct stream *stream); /* NULL is fine */
struct stream *stream_find(const struct overlay *overlay, const struct stream_name *name);
/* Offers our bytes; cut into chunks and copied. */
void stream_offer(struct overlay *overlay, struct stream *stream, uint32_t offset, const void *data,
                  size_t bytes);
/* Begins a route: no edges, of this attempt and round. */
void stream_route(struct overlay *overlay, struct stream *stream, uint32_t attempt, uint32_t round,
                  bool lateral);
/* Adds an edge of the route, unless it exists. */
void stream_add_edge(struct overlay *overlay, struct stream *stream, uint32_t place, uint8_t trees);
void stream_drop_edge(struct stream *stream, uint32_t place);
/* Adds edges to the neighbours of this place in the two trees over the living members, of which it
 * may be one.  source, or TREE_NO_PLACE: the place that has everything, is not one of them, and is
 * above both roots. */
void stream_add_two_trees(struct overlay *overlay, struct stream *stream,
                          const struct ranges *living, uint32_t source);
/* The same, for data that the source gets over other edges: nothing goes up in these trees. */
void stream_add_down_trees(struct overlay *overlay, struct stream *stream,
                           const struct ranges *living, uint32_t source);
/* These other edges: up the main tree, for that many bytes that are ours or come from below, and
 * from a child.  Bytes from the two trees do not go up. */
void stream_add_parent(struct overlay *overlay, struct stream *stream, uint32_t place,
                       uint32_t first, uint32_t bytes);
void stream_add_child(struct overlay *overlay, struct stream *stream, uint32_t place);
/* All edges are added: handles early messages of peers and begins. */
void stream_go(struct overlay *overlay, struct stream *stream);
bool stream_is_complete(const struct stream *stream);
/* The pieces of a complete stream, each with its length before it, merged in order of offsets; NULL
 * if there are none or they are invalid. */
struct message *stream_merge(const struct stream *stream, endpoint_merge_function *merge);
/* The bytes as they are. */
struct message *stream_bytes(const struct stream *stream);

/* Some stream has an edge to the place, or will have one. */
bool stream_uses(const struct overlay *overlay, uint32_t place);
#endif
