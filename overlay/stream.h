/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One large run of bytes on its way to many: the result of an operation, of which everyone offers
 * pieces, or the payload of a log entry, which the root offers.  Offsets and total are agreed before
 * (GO, or the entry).
 *
 * A stream runs over edges, which form a tree (or two, each for one half of the bytes): what comes
 * over one edge goes on over all others of that tree, as it came, without a copy.  So everyone gets
 * every byte once, from whatever side it comes, upward and downward at the same time, and sends it
 * at most degree - 1 times.  Who opens an edge tells what it has already and how much may be sent
 * to it; that window is renewed as chunks arrive.  A receiver has room for the whole stream, so
 * nobody ever waits for anybody but the network; to bound that room, only the STREAM_ACTIVE_MAX
 * first of the incomplete streams, in the order of their names, which is the same everywhere, open
 * their edges.  The first of all is never held back: no deadlock with any number of streams.
 *
 * On a route via the top bytes go one way only: up the main tree from who offers them to the meeting
 * point, which feeds the roots of the two trees.  Then only the lower end of an edge of these opens it,
 * and only the upper one of an edge of the main tree.  That is depth + log2(members) hops at most,
 * where going up and down the two trees takes 2 log2(members).
 *
 * An edge whose link is not there is opened over a lateral link (lateral.c).  The lower of its two
 * places asks for that, so it alone judges a link that closes: it asks again if the edge has not been
 * used yet; else the stream is broken, and its owner (large.c, broadcast.c) routes it anew over the
 * main tree.
 *
 * If an incomplete stream that is not held back gets nothing for overlay->stall_ns, it opens all its
 * edges again with what it has: whatever was lost, by whatever mistake, costs that time and no more.
 *
 * Cost: the bytes, once; 48 bytes per chunk; O(log) per chunk beside the sending.
 */
#ifndef OVERLAY_STREAM_H
#define OVERLAY_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/core.h"
#include "overlay/stream_wire.h"

#define STREAM_ACTIVE_MAX 2
/* Half of the stream, which is what an edge of two trees brings, and a chunk, up to this; so much may
 * wait in a link's queue, by reference. */
#define STREAM_WINDOW_BYTES_MAX (4u * 1024 * 1024)
#define STREAM_EARLY_MAX        64 /* OPENs that came before we know of the stream */
#define STREAM_EARLY_NS         (10000 * 1000000ull) /* so long they are kept */
#define STREAM_STALLS_MAX       6 /* in a row; then a stream is broken if an edge still has no link */

struct stream_chunk {
    struct message *frame; /* the encoded chunk */
    struct wire_bytes payload;
    uint32_t offset;
    uint32_t from; /* place, or TREE_NO_PLACE if it is ours */
    /* 1: ours, or came from below: goes up, where the route is via the top.  A whole word, as padding
     * would hold what the stack held, and the explorer would take equal states for different ones. */
    uint64_t rises;
};

struct stream_edge {
    uint32_t place;
    uint8_t trees;         /* enum stream_trees */
    bool takes;            /* else it is for sending only: we never open it */
    bool wanted;           /* a lateral link is asked for */
    bool told;             /* OPEN is sent */
    uint32_t cursor;       /* into chunks: what was before is sent or not to be sent */
    uint64_t credit_bytes; /* so much may be sent */
    uint64_t open_bytes;   /* so much the other end may send yet */
    uint32_t owed_bytes;   /* received, credit not yet renewed */
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
    uint64_t moved_ns; /* last bytes from a peer, or the route, or the last stall */
    uint32_t stalls;   /* since there were bytes */
    struct ranges have;
    struct stream_chunk *chunks; /* in order of arrival */
    uint32_t chunks_count;
    uint32_t chunks_capacity;
    struct stream_edge *edges;
    uint32_t edges_count;
    bool lateral;       /* the edges need not be links of the main tree */
    bool complete_told; /* to its owner */
    bool broken;        /* in this round; to be told */
    bool given_up;      /* that has been told: no more links are asked for */
};

/* Who owns streams is told at the end of a step. */
void large_stream_complete(struct overlay *overlay, struct stream *stream);
void large_stream_broken(struct overlay *overlay, struct stream *stream);
void broadcast_stream_complete(struct overlay *overlay);
void broadcast_stream_broken(struct overlay *overlay, uint64_t sequence);

/* Asserts what holds of a stream at any time; O(1). */
void stream_check(const struct stream *stream);
struct stream *stream_create(struct overlay *overlay, const struct stream_name *name,
                             uint32_t attempt, uint32_t total_bytes, uint32_t chunk_bytes);
void stream_destroy(struct overlay *overlay, struct stream *stream); /* NULL is fine */
struct stream *stream_find(const struct overlay *overlay, const struct stream_name *name);
/* Bytes of ours; cut into chunks and copied. */
void stream_offer(struct overlay *overlay, struct stream *stream, uint32_t offset, const void *data,
                  size_t bytes);
/* Begins a route: no edges, of this attempt and round. */
void stream_route(struct overlay *overlay, struct stream *stream, uint32_t attempt, uint32_t round,
                  bool lateral);
/* An edge of the route; nothing if it is there. */
void stream_add_edge(struct overlay *overlay, struct stream *stream, uint32_t place, uint8_t trees);
void stream_drop_edge(struct stream *stream, uint32_t place);
/* Edges to the neighbours of this place in the two trees over the living members, of whom it may be
 * one.  source, or TREE_NO_PLACE: who has everything, is none of them, and stands above both roots. */
void stream_add_two_trees(struct overlay *overlay, struct stream *stream,
                          const struct ranges *living, uint32_t source);
/* The same, for what the source gets over other edges: nothing goes up in these trees. */
void stream_add_down_trees(struct overlay *overlay, struct stream *stream,
                           const struct ranges *living, uint32_t source);
/* These other edges: up the main tree, for so many bytes that are ours or come from below, and from a
 * child.  What came over the two trees does not go up. */
void stream_add_parent(struct overlay *overlay, struct stream *stream, uint32_t place,
                       uint32_t first, uint32_t bytes);
void stream_add_child(struct overlay *overlay, struct stream *stream, uint32_t place);
/* All edges are added: takes what peers have said already and begins. */
void stream_go(struct overlay *overlay, struct stream *stream);
bool stream_is_complete(const struct stream *stream);
/* The pieces of a complete stream, each with its length before it, merged in order of offsets; NULL
 * if there are none or they cannot be. */
struct message *stream_merge(const struct stream *stream, node_merge_function *merge);
/* As it is. */
struct message *stream_bytes(const struct stream *stream);

/* Some stream has an edge to the place, or will have one. */
bool stream_uses(const struct overlay *overlay, uint32_t place);
#endif
