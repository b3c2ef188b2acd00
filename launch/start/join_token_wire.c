/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/join_token.h"

#include <errno.h>
#include <string.h>

#include "base/address_wire.h"
#include "base/hash.h"
#include "overlay/tree.h"

#define CHECK_SEED  0x6a6f696eu
#define CHECK_BYTES 4

static uint32_t check_sum(const unsigned char *data, size_t bytes)
{
    return (uint32_t)hash_bytes(data, bytes, CHECK_SEED);
}

void join_token_encode(const struct join_token *token, struct buffer *out)
{
    size_t start_bytes = out->length_bytes;

    wire_put_string(out, token->session);
    wire_put_varint(out, token->place);
    address_wire_put(&token->addresses, out);
    wire_put_bytes(out, token->secret, sizeof(token->secret));
    wire_put_u32(out, check_sum(out->data + start_bytes, out->length_bytes - start_bytes));
}

int join_token_decode(const unsigned char *data, size_t bytes, struct join_token *token)
{
    struct wire_reader reader;
    struct wire_bytes secret;

    if (bytes <= CHECK_BYTES)
        return -EBADMSG;
    wire_reader_init(&reader, data, bytes);
    wire_get_string_into(&reader, token->session, sizeof(token->session));
    token->place = (uint32_t)wire_get_varint_max(&reader, TREE_PLACES_MAX - 1);
    address_wire_get(&reader, &token->addresses);
    secret = wire_get_bytes(&reader, SECRET_BYTES);
    if (secret.length_bytes == SECRET_BYTES)
        memcpy(token->secret, secret.data, SECRET_BYTES);
    if (secret.length_bytes != SECRET_BYTES || token->session[0] == '\0' || token->place == 0 ||
        wire_get_u32(&reader) != check_sum(data, bytes - CHECK_BYTES))
        wire_fail(&reader);
    return wire_finish(&reader);
}
