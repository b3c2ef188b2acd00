/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other side of `struct link_guests` (fabric/link_set.h): connects to a place as its guest,
 * proves an identity's key, receives one message, and disconnects.  All addresses are tried at
 * once; the first at which the key is known is used, so that no guest comes twice.  Blocks, with a
 * time limit: for a process that has no event loop yet.
 */
#ifndef FABRIC_LINK_GUEST_H
#define FABRIC_LINK_GUEST_H

#include <stdint.h>

#include "base/addresses.h"
#include "base/error.h"
#include "base/message.h"

#define LINK_GUEST_KEY_BYTES 32

struct link_guest {
    const struct addresses *addresses; /* of the host, whose place is host_place */
    const char *identity;              /* not a link's (fabric/link_identity.h) */
    const unsigned char *key;          /* LINK_GUEST_KEY_BYTES */
    uint32_t place;                    /* the place it claims */
    uint32_t host_place;
    uint32_t patience_ms;
};

/* 0 and *ret_answer, the caller's to wipe and release; or the code of what went wrong, and in error
 * what each address answered: -ETIMEDOUT, -ECONNREFUSED also if the host refused, -EACCES if it
 * does not know the key. */
int link_guest_visit(const struct link_guest *guest, struct message **ret_answer,
                     struct error *error);

#endif
