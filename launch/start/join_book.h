/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root's book of join tokens: one for each place, used once, worth nothing after its time.  A place
 * that has been claimed or is alive cannot be claimed.  Time is an argument.
 *
 * Cost: 34 bytes for each place, at the root only, in pages that no core dump holds.
 */
#ifndef LAUNCH_START_JOIN_BOOK_H
#define LAUNCH_START_JOIN_BOOK_H

#include <stdint.h>

#include "base/error.h"
#include "base/ranges.h"
#include "launch/start/join_token.h"

struct join_book;

/* Of places 1..places - 1, good until expires_ns. */
struct join_book *join_book_create(const char *session, uint32_t places, uint64_t expires_ns);
void join_book_destroy(struct join_book *book); /* NULL is fine */
/* Without addresses. */
void join_book_token(const struct join_book *book, uint32_t place, struct join_token *ret_token);
/* The key of an identity of this session, also of a token that is used up or has expired: a peer
 * that proves that it has the token gets that reason.  -EACCES of any other. */
int join_book_key(const struct join_book *book, const char *identity,
                  unsigned char ret_key[SECRET_BYTES]);
/* Uses up the token of an identity whose key was proved: 0 and its place, -EEXIST if it has been used
 * or the place is alive, -ETIME if it has expired. */
int join_book_claim(struct join_book *book, const char *identity, uint64_t now_ns,
                    uint32_t *ret_place, struct error *error);
void join_book_joined(struct join_book *book, uint32_t place);
/* Those that have not joined, added to ret_places. */
void join_book_missing(const struct join_book *book, struct ranges *ret_places);
uint32_t join_book_left(const struct join_book *book); /* how many these are */

/* The key that both ends derive from a token's secret. */
int join_key(const unsigned char secret[SECRET_BYTES], const char *identity,
             unsigned char ret_key[SECRET_BYTES]);

#endif
