/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The TLS links of one daemon: `struct transport_ops` (fabric/transport.h) over fabric/link.  It
 * listens, connects, decides which of two crossing connections is kept, and reports to its user.
 *
 * Which one is kept: a second connection of a place (same incarnation) is refused while a link is
 * up; a newer incarnation replaces the link (`down`, then `up`).  When two places connect to each
 * other at once, the connection opened by the lower place is kept.
 *
 * error->code of `down`: -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH and the like as reported by the
 * system (-ETIMEDOUT also of a link that is up, within 8 s, when the peer's machine no longer
 * answers TCP probes); -ETIME an attempt whose connection the peer's machine accepted while its
 * daemon stayed silent; -EPIPE the peer closed without a word (it died); -ESHUTDOWN it closed in
 * order; -EACCES the answering daemon belongs to another instance, or is another place; -EPROTO it
 * does not speak our protocol or version; -EEXIST it has a link to us already; -ESTALE a newer
 * incarnation took the link over; -EDESTADDRREQ no address was given; -ENOBUFS it took too little
 * of what was sent to it.
 *
 * A child forked without exec forgets its parent's set, as it does the loop, and closes the
 * descriptors; it must not destroy it.
 *
 * Cost: some 250 kB for the set, of which what is never used is never touched; about 16 kB per idle
 * link.
 */
#ifndef FABRIC_LINK_SET_H
#define FABRIC_LINK_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/addresses.h"
#include "base/error.h"
#include "fabric/transport.h"

#define LINK_SECRET_BYTES       32
#define LINK_SESSION_LENGTH_MAX 32

struct loop;
struct link_set;

/* Guests: a daemon that has no place yet connects with an identity other than a link's and a
 * separate key, is given one message and disconnected.  Guests count as strangers until then. */
struct link_guests {
    /* 0 and the key of the identity (32 bytes), or -EACCES. */
    int (*find_key)(void *context, const char *identity, unsigned char *ret_key);
    /* The guest has proved that it knows the key: returns the message for it, which is wiped when
     * sent, or NULL and why it is refused. */
    struct message *(*answer)(void *context, const char *identity, struct error *why);
};

struct link_set_config {
    struct loop *loop;
    const unsigned char *secret; /* LINK_SECRET_BYTES; copied */
    const char *session;         /* 1..LINK_SESSION_LENGTH_MAX hexadecimal digits */
    uint32_t place;
    uint32_t incarnation;
    struct addresses listen_on; /* none: this place only connects */
    uint16_t port_first;        /* for addresses with port 0; 0, 0 = any */
    uint16_t port_last;
    uint16_t port_wished; /* tried before those; 0: no preference */
    const struct transport_events *events;
    void *context;
    const struct link_guests *guests; /* NULL: none are accepted */
    void *guests_context;
};

/* Listens on all addresses, on one port if possible.  NULL if any of them fails. */
struct link_set *link_set_create(const struct link_set_config *config, struct error *error);
/* Ends everything at once, without callbacks.  Not inside an upcall.  NULL is fine. */
void link_set_destroy(struct link_set *set);
/* Closes every link in order and stops listening; `finished` is called from the loop when all is
 * written or after one second.  No `down` follows. */
void link_set_finish(struct link_set *set, void (*finished)(void *context), void *context);

const struct transport_ops *link_set_ops(void); /* transport = struct link_set * */
/* Where it listens, with the actual ports. */
void link_set_addresses(const struct link_set *set, struct addresses *ret_addresses);
/* The session's secret, for a daemon that is started later.  The caller clears its copy. */
void link_set_copy_secret(const struct link_set *set, unsigned char ret_secret[LINK_SECRET_BYTES]);
/* The key shared by both ends of the link to place for messages sent outside the link
 * (fabric/tls_seal.h, TLS_SEAL_KEY_BYTES).  0, -ENOTCONN or -EPROTO. */
int link_set_export_key(const struct link_set *set, uint32_t place, uint32_t from, uint32_t to,
                        unsigned char *ret_key);
size_t link_set_count(const struct link_set *set); /* links that are up */

#endif
