/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The accepting side: a bounded number of connections that are no links yet, each with 5 s.  When
 * there are too many, or descriptors run out, the oldest goes: honest ones take a millisecond.
 */
#ifndef FABRIC_LINK_LISTEN_H
#define FABRIC_LINK_LISTEN_H

#include "fabric/link_set_private.h"

int link_listen_all(struct link_set *set, const struct addresses *addresses, struct error *error);
void link_listen_accept(struct link_set *set, struct sock *listener);
/* Ends a pause for want of descriptors. */
void link_listen_resume(struct link_set *set);
void link_listen_stop(struct link_set *set);
/* The time of a half-open connection is over. */
void link_listen_expire(struct link_set *set, struct link *link);

#endif
