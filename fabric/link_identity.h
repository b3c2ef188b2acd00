/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text that the key of a link is derived from and bound to: session/from/to/incarnation.  `from`
 * is the place that connects and `incarnation` is its own (RFC 9257, 5: both roles are named, so
 * nobody can be reflected onto himself).
 */
#ifndef FABRIC_LINK_IDENTITY_H
#define FABRIC_LINK_IDENTITY_H

#include <stdint.h>

#include "fabric/link_set.h"
#include "fabric/tls.h"

struct link_identity {
    char session[LINK_SESSION_LENGTH_MAX + 1];
    uint32_t from;
    uint32_t to;
    uint32_t incarnation;
};

void link_identity_print(char text[TLS_IDENTITY_BYTES_MAX + 1], const char *session, uint32_t from,
                         uint32_t to, uint32_t incarnation);
/* Only the form that print writes; else -EBADMSG. */
int link_identity_parse(const char *text, struct link_identity *ret_identity);

#endif
