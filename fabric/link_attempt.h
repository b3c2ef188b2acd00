/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An attempt to connect to a place: its addresses are tried in order, the next one after 200 ms or
 * as soon as one fails; the first at which the right peer authenticates is kept.  It ends within
 * 3.5 s, in a link or in one `down` with the answer of each address.
 */
#ifndef FABRIC_LINK_ATTEMPT_H
#define FABRIC_LINK_ATTEMPT_H

#include "fabric/link_set_private.h"

/* peer has neither link nor attempt.  Nothing happens before the next turn of work. */
void link_attempt_start(struct link_set *set, struct peer *peer, const struct addresses *addresses);
/* Drops the attempt and its connections without a callback. */
void link_attempt_end(struct link_set *set, struct attempt *attempt);
void link_attempt_end_all(struct link_set *set);
/* Starts what is due. */
void link_attempt_advance_all(struct link_set *set, uint64_t now_ns);
/* Reports `down` for attempts that failed. */
void link_attempt_tell_failed(struct link_set *set);
/* 1 while it may still become a link. */
int link_attempt_is_alive(const struct attempt *attempt);
/* One of its connections has authenticated: the others end. */
void link_attempt_choose(struct link_set *set, struct attempt *attempt, const struct link *link);
/* One of its connections has ended. */
void link_attempt_lose(struct link_set *set, struct attempt *attempt, enum link_goodbye goodbye,
                       const struct error *why);

#endif
