/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's book of join tokens: one for each place, used once, worth nothing after its time.  A place
 * that has been claimed or is alive cannot be claimed.  Time is an argument.
 *
 * Cost: 34 bytes for each place, at the root only, in pages that no core dump holds.
 */
#ifndef LAUNCH_START_JOIN_ROSTER_H
#define LAUNCH_START_JOIN_ROSTER_H

#include <stdint.h>

#include "base/error.h"
#include "base/ranges.h"
#include "launch/start/join_token.h"

struct join_roster;

/* Of places 1..places - 1, good until expires_ns. */
struct join_roster *join_roster_create(const char *session, uint32_t places, uint64_t expires_ns);
void join_roster_destroy(struct join_roster *book); /* NULL is fine */
/* Without addresses. */
void join_roster_token(const struct join_roster *book, uint32_t place,
                       struct join_token *ret_token);
/* The key of an identity of this session, also of a token that is used up or has expired: a peer
 * that proves that it has the token gets that reason.  -EACCES of any other. */
int join_roster_key(const struct join_roster *book, const char *identity,
                    unsigned char ret_key[SECRET_BYTES]);
/* Uses up the token of an identity whose key was proved: 0 and its place, -EEXIST if it has been used
 * or the place is alive, -ETIME if it has expired. */
int join_roster_claim(struct join_roster *book, const char *identity, uint64_t now_ns,
                      uint32_t *ret_place, struct error *error);
void join_roster_joined(struct join_roster *book, uint32_t place);
/* Those that have not joined, added to ret_places. */
void join_roster_missing(const struct join_roster *book, struct ranges *ret_places);
uint32_t join_roster_left(const struct join_roster *book); /* how many these are */

/* The key that both ends derive from a token's secret. */
int join_roster_derive_key(const unsigned char secret[SECRET_BYTES], const char *identity,
                           unsigned char ret_key[SECRET_BYTES]);

#endif
