/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The accepting side: a bounded number of connections that are no links yet, each with 5 s.  When
 * there are too many, or descriptors run out, the oldest goes: honest ones take a millisecond.
 *
 * Cost of one: some 1.5 kB while it says nothing or garbage, TLS_HELLO_BYTES_MAX more while it talks
 * slowly, and some 43 kB while a handshake is under way, which only who has seen one can begin; of
 * those there are fewer.
 */
#ifndef FABRIC_LINK_LISTEN_H
#define FABRIC_LINK_LISTEN_H

#include "fabric/link_set_private.h"

/* On the wished port, else on one of the set's; the same for all if it can be had. */
int link_listen_all(struct link_set *set, const struct addresses *addresses, uint16_t wished,
                    struct error *error);
void link_listen_accept(struct link_set *set, struct banyan_sock *listener);
/* Ends a pause for want of descriptors. */
void link_listen_resume(struct link_set *set);
void link_listen_stop(struct link_set *set);
/* TLS for a stranger that has begun a handshake. */
struct tls *link_listen_stranger(struct link *link, struct error *error);
/* Of a greeted link that came in: whether it is a guest's, which has its answer and goes then. */
int link_listen_guest(struct link_set *set, struct link *link);
/* The time of a half-open connection is over. */
void link_listen_expire(struct link_set *set, struct link *link);

#endif
