/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/address_wire.h"

#include <string.h>

void address_wire_put(const struct addresses *addresses, struct buffer *out)
{
    wire_put_u8(out, addresses->count);
    for (uint8_t i = 0; i < addresses->count; i++)
        wire_put_bytes(out, addresses->items[i].bytes, addresses->items[i].length_bytes);
}

void address_wire_get(struct wire_reader *reader, struct addresses *ret_addresses)
{
    ret_addresses->count = wire_get_u8(reader);
    if (ret_addresses->count > ADDRESSES_MAX) {
        wire_fail(reader);
        ret_addresses->count = 0;
    }
    for (uint8_t i = 0; i < ret_addresses->count; i++) {
        struct wire_bytes bytes = wire_get_bytes(reader, ADDRESS_BYTES_MAX);

        ret_addresses->items[i].length_bytes = (uint8_t)bytes.length_bytes;
        if (bytes.length_bytes > 0)
            memcpy(ret_addresses->items[i].bytes, bytes.data, bytes.length_bytes);
    }
}
