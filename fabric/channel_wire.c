/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/channel.h"

#include "base/wire.h"

void channel_header_put(uint32_t payload_bytes, uint8_t type, struct buffer *out)
{
    wire_put_u32(out, payload_bytes);
    wire_put_u8(out, type);
}

void channel_header_get(const unsigned char *header, uint32_t *ret_payload_bytes, uint8_t *ret_type)
{
    struct wire_reader reader;

    wire_reader_init(&reader, header, CHANNEL_HEADER_BYTES);
    *ret_payload_bytes = wire_get_u32(&reader);
    *ret_type = wire_get_u8(&reader);
}
