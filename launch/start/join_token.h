/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What admits a daemon that banyan did not start to an instance (`--starter join`): one token for
 * one place.  It has a separate secret, which is not the session's, and says where the root listens.
 *
 *     token   banyan-join-VERSION-HEX, VERSION is BOOT_PROTOCOL_VERSION
 *     HEX     session string | place varint | addresses u8 and bytes each | secret 32 | check sum u32
 *     file    lines "NODE TOKEN", empty lines and # comments; or one token alone
 *
 * The check sum finds what was cut or mistyped; the secret alone keeps others out.
 */
#ifndef LAUNCH_START_JOIN_TOKEN_H
#define LAUNCH_START_JOIN_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/addresses.h"
#include "base/buffer.h"
#include "base/error.h"
#include "launch/proto/instance_spec.h"

#define JOIN_TOKEN_BYTES_MAX   2048 /* as text */
#define JOIN_FILE_BYTES_MAX    (64u * 1024 * 1024)
#define JOIN_IDENTITY_BYTES    64
#define JOIN_TIMEOUT_DEFAULT_S 600 /* a token's life, and how long the root waits */
#define JOIN_FILE_DEFAULT      "banyan.join"

struct join_token {
    char session[SESSION_ID_BYTES];
    uint32_t place;
    struct addresses addresses;
    unsigned char secret[SECRET_BYTES];
};

/* What stands in HEX, as bytes.  decode: 0 or -EBADMSG, and then token is undefined. */
void join_token_encode(const struct join_token *token, struct buffer *out);
int join_token_decode(const unsigned char *data, size_t bytes, struct join_token *token);
void join_token_print(const struct join_token *token, struct buffer *out);
/* Untouched on failure: -EBADMSG garbled or no token, -EPROTO of another version. */
int join_token_parse(const char *text, size_t bytes, struct join_token *ret_token,
                     struct error *error);
/* The token of the node of that name in the text of a file, or the only one. */
int join_token_find(const char *text, size_t bytes, const char *node_name,
                    struct join_token *ret_token, struct error *error);
/* "SESSION/join/PLACE": what a daemon calls itself when it proves that it has the token. */
void join_token_identity_print(char text[JOIN_IDENTITY_BYTES], const char *session, uint32_t place);
/* Only the form that print writes; -EBADMSG else. */
int join_token_identity_parse(const char *text, const char *session, uint32_t *ret_place);

#endif
