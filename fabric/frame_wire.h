/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire form of the header in base/frame.h.  FRAME_HEADER_BYTES, no allocation, no branches but
 * the checks.
 */
#ifndef FABRIC_FRAME_WIRE_H
#define FABRIC_FRAME_WIRE_H

#include <stdint.h>

#include "base/frame.h"

/* The header as it travels: struct frame without its payload, and what the link fills in. */
struct frame_header {
    uint32_t length_bytes; /* header and payload */
    uint8_t type;
    uint8_t class;
    uint16_t flags;
    uint32_t stream;
    uint32_t sequence;
    uint32_t incarnation;
    uint32_t attempt;
    uint32_t credit;
};

void frame_encode(const struct frame_header *header, unsigned char *bytes);
/* 0 or -EBADMSG: a length below the header's or above the limit, or an unknown class. */
int frame_decode(const unsigned char *bytes, struct frame_header *ret_header);

#endif
