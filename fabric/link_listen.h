/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The accepting side: a bounded number of connections that are no links yet, each with 5 s.  When
 * there are too many, or descriptors run out, the oldest is dropped: legitimate ones take a
 * millisecond.
 *
 * Cost of one: some 1.5 kB while it sends nothing or garbage, TLS_HELLO_BYTES_MAX more while it
 * sends slowly, and some 43 kB while a handshake is under way, for which the limit is lower.
 */
#ifndef FABRIC_LINK_LISTEN_H
#define FABRIC_LINK_LISTEN_H

#include "fabric/link_set_private.h"

/* On the preferred port, else on one of the set's; the same for all if possible. */
int link_listen_all(struct link_set *set, const struct addresses *addresses, uint16_t wished,
                    struct error *error);
void link_listen_accept(struct link_set *set, struct banyan_sock *listener);
/* Ends a pause for want of descriptors. */
void link_listen_resume(struct link_set *set);
void link_listen_stop(struct link_set *set);
/* TLS for a stranger that has begun a handshake. */
struct tls *link_listen_stranger(struct link *link, struct error *error);
/* Whether a greeted incoming link is a guest's; it then has its answer and is closed. */
int link_listen_guest(struct link_set *set, struct link *link);
/* The time limit of a half-open connection has expired. */
void link_listen_expire(struct link_set *set, struct link *link);

#endif
