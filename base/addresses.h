/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport address as the floors above a transport see it: opaque bytes, compared and carried,
 * never read.  For tcp it is family (1 byte: 4 or 6), port (2 bytes, little-endian), and 4 or 16
 * bytes of IP address (fabric/address.h makes them); the simulator puts a place number in.
 */
#ifndef BASE_ADDRESSES_H
#define BASE_ADDRESSES_H

#include <stdint.h>

#define ADDRESS_BYTES_MAX 64
#define ADDRESSES_MAX     8 /* of one place */

struct address {
    uint8_t length_bytes;
    uint8_t bytes[ADDRESS_BYTES_MAX];
};

/* All addresses at which one place listens, best first. */
struct addresses {
    uint8_t count;
    struct address items[ADDRESSES_MAX];
};

#endif
