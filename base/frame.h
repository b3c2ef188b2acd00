/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What travels on a link: a fixed header and a payload.  The header has one little-endian form from
 * the first release on (FRAME_HEADER_BYTES, encoded in fabric/frame_wire.c):
 *
 *     length u32 | type u8 | class u8 | flags u16 | stream u32 | sequence u32 |
 *     incarnation u32 | attempt u32 | credit u32
 *
 * length counts header and payload.  sequence counts the frames of a class on a link, from 1; the
 * link fills length, sequence and credit, the overlay the rest.
 */
#ifndef BASE_FRAME_H
#define BASE_FRAME_H

#include <stdint.h>

struct message;

#define FRAME_HEADER_BYTES      28
#define FRAME_PAYLOAD_BYTES_MAX (64u * 1024 * 1024) /* until streaming comes; then 64 KiB */

enum frame_class { FRAME_CONTROL, FRAME_COLLECTIVE, FRAME_BULK, FRAME_CLASS_COUNT };

struct frame {
    uint8_t type;  /* enum overlay_message, or the link's own (0..7) */
    uint8_t class; /* enum frame_class */
    uint16_t flags;
    uint32_t stream;         /* operation or stream number, 0 if none */
    uint32_t incarnation;    /* of the sender */
    uint32_t attempt;        /* of the operation, 0 if none */
    struct message *payload; /* may be NULL; a reference owned by the holder of the frame */
    uint8_t may_wait;        /* a short while, for a frame to travel with; not on the wire */
    uint8_t unused[7];       /* 0: equal frames have equal bytes, which the explorer hashes */
};

#endif
