/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of streams (overlay/stream.h) and of lateral links (overlay/lateral.c), with the
 * rules of overlay_wire.h.  frame.attempt carries the attempt, frame.stream the round within it.  A
 * chunk's payload names no hop, so it is forwarded unchanged.
 */
#ifndef OVERLAY_STREAM_WIRE_H
#define OVERLAY_STREAM_WIRE_H

#include "overlay/overlay_wire.h"

#define STREAM_BYTES_MAX       ENDPOINT_LARGE_BYTES_MAX /* of one stream */
#define STREAM_CHUNK_BYTES_MAX (256u * 1024)
#define STREAM_CHUNK_BYTES_MIN 4096u
#define STREAM_PIECES_MAX      65536 /* attached to one GO */
#define STREAM_HAVE_MAX        4096  /* ranges in one OPEN */

/* What is streamed: an operation, or the payload of an entry of the log. */
struct stream_name {
    uint64_t entry;            /* sequence; 0: an operation */
    struct operation_name key; /* entry == 0 */
};

enum stream_algorithm {
    STREAM_TWO_TREES, /* over lateral links, half of the data in each tree */
    STREAM_MAIN_TREE, /* over existing links */
    STREAM_VIA_TOP,   /* up the main tree to the meeting point, and from there down two trees */
    STREAM_ALGORITHM_COUNT
};

enum stream_trees {
    STREAM_TREE_FIRST = 1,
    STREAM_TREE_SECOND = 2,
    STREAM_TREE_BOTH = 3,
    STREAM_TREE_UP = 4 /* via the top: up the main tree */
};

/* A piece of the stream that a hop that is not a member hands to one below to offer. */
struct stream_piece {
    uint32_t offset;
    struct wire_bytes payload;
};

struct stream_go {
    struct stream_name name;
    uint8_t algorithm;    /* enum stream_algorithm */
    uint8_t result;       /* 1: a stored result is spread; 0: all members offer */
    uint32_t base;        /* offset of the receiver's own part */
    uint32_t total_bytes; /* 1..STREAM_BYTES_MAX */
    uint32_t chunk_bytes;
    uint32_t pieces_count;
    struct stream_piece *pieces;
};

struct stream_open {
    struct stream_name name;
    uint8_t trees;         /* enum stream_trees: what this edge carries */
    uint32_t credit_bytes; /* bytes that may be sent to the sender of this */
    struct ranges have;    /* of the bytes; need not be complete */
};

struct stream_chunk_frame {
    struct stream_name name;
    uint32_t offset;
    struct wire_bytes payload;
};

struct stream_credit {
    struct stream_name name;
    uint8_t trees;
    uint32_t bytes;
};

/* The payload of the entries LARGE, REROUTE and SETTLED. */
struct stream_large {
    uint64_t sequence; /* of the entry referred to; LARGE: 0 */
    uint32_t total_bytes;
    uint32_t chunk_bytes;
    uint8_t algorithm;
};

struct stream_over {
    struct operation_name key;
    uint32_t stable;
};

void stream_put_large(const struct stream_large *large, struct buffer *out);
int stream_get_large(const struct wire_bytes *payload, struct stream_large *ret_large);

/* What a contribution SIZED or STORED has instead of a payload. */
void stream_put_size(uint64_t bytes, struct buffer *out);
int stream_get_size(const struct wire_bytes *payload, uint64_t *ret_bytes);

int stream_name_compare(const struct stream_name *a, const struct stream_name *b);

void stream_encode_go(const struct stream_go *go, uint32_t attempt, uint32_t round,
                      struct frame *ret_frame);
int stream_decode_go(const struct frame *frame, struct stream_go *ret_go);
void stream_go_fini(struct stream_go *go);
void stream_encode_open(const struct stream_open *open, uint32_t attempt, uint32_t round,
                        struct frame *ret_frame);
int stream_decode_open(const struct frame *frame, struct stream_open *ret_open);
void stream_open_fini(struct stream_open *open);
void stream_encode_chunk(const struct stream_chunk_frame *chunk, struct frame *ret_frame);
int stream_decode_chunk(const struct frame *frame, struct stream_chunk_frame *ret_chunk);
void stream_encode_credit(const struct stream_credit *credit, uint32_t attempt, uint32_t round,
                          struct frame *ret_frame);
int stream_decode_credit(const struct frame *frame, struct stream_credit *ret_credit);
/* A lateral link failed: another algorithm is needed. */
void stream_encode_broken(const struct stream_name *name, uint32_t attempt, uint32_t round,
                          struct frame *ret_frame);
int stream_decode_broken(const struct frame *frame, struct stream_name *ret_name);
/* All members below have the whole of it. */
void stream_encode_done(const struct operation_name *key, uint32_t attempt,
                        struct frame *ret_frame);
int stream_decode_done(const struct frame *frame, struct operation_name *ret_key);
/* All members have it: it will never be requested again. */
void stream_encode_over(const struct stream_over *over, uint32_t attempt, struct frame *ret_frame);
int stream_decode_over(const struct frame *frame, struct stream_over *ret_over);
/* The first frame on a lateral link: its opener does not want to join. */
void stream_encode_lateral(struct frame *ret_frame);
int stream_decode_lateral(const struct frame *frame);

#endif
