/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first message of a client of libpmix, as versions 2.1 to 5 send it: a header and the sender's
 * identity.  The daemon reads it before libpmix sees the client, because libpmix reads it without a
 * time limit in the one thread that serves all clients.  Only the identity is parsed here; libpmix
 * checks the rest.
 *
 * Sealed: no socket, no clock.
 */
#ifndef PMIX_HELLO_H
#define PMIX_HELLO_H

#include <stddef.h>

#include "pmix/pmi.h"

#define HELLO_HEADER_BYTES 16u
/* With the header; real ones have 150 to 400 bytes, those with a credential of MUNGE 200 more. */
#define HELLO_BYTES_MAX 16384u

struct hello {
    int is_client;                       /* 0: a tool, or an unregistered process */
    int is_tool;                         /* that no PMIx server has started */
    char namespace[PMI_NAMESPACE_BYTES]; /* "": a tool without a name */
    uint32_t rank;
};

/* The length of the whole from its first HELLO_HEADER_BYTES; -EMSGSIZE if that is too long. */
int hello_length(const void *header, size_t *ret_bytes);
/* Parses a whole message; -EBADMSG if it is not valid. */
int hello_read(const void *data, size_t bytes, struct hello *ret_hello);

#endif
