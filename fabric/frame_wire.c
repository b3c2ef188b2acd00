/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/frame_wire.h"

#include <errno.h>
#include <endian.h>
#include <string.h>

static unsigned char *put_u32(unsigned char *bytes, uint32_t value)
{
    value = htole32(value);
    memcpy(bytes, &value, sizeof(value));
    return bytes + sizeof(value);
}

static const unsigned char *get_u32(const unsigned char *bytes, uint32_t *ret_value)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof(value));
    *ret_value = le32toh(value);
    return bytes + sizeof(value);
}

void frame_encode(const struct frame_header *header, unsigned char *bytes)
{
    bytes = put_u32(bytes, header->length_bytes);
    *bytes++ = header->type;
    *bytes++ = header->class;
    *bytes++ = (unsigned char)(header->flags & 0xff);
    *bytes++ = (unsigned char)(header->flags >> 8);
    bytes = put_u32(bytes, header->stream);
    bytes = put_u32(bytes, header->sequence);
    bytes = put_u32(bytes, header->incarnation);
    bytes = put_u32(bytes, header->attempt);
    put_u32(bytes, header->credit);
}

int frame_decode(const unsigned char *bytes, struct frame_header *ret_header)
{
    struct frame_header header;

    bytes = get_u32(bytes, &header.length_bytes);
    header.type = *bytes++;
    header.class = *bytes++;
    header.flags = (uint16_t)(bytes[0] | bytes[1] << 8);
    bytes = get_u32(bytes + 2, &header.stream);
    bytes = get_u32(bytes, &header.sequence);
    bytes = get_u32(bytes, &header.incarnation);
    bytes = get_u32(bytes, &header.attempt);
    get_u32(bytes, &header.credit);
    if (header.length_bytes < FRAME_HEADER_BYTES ||
        header.length_bytes - FRAME_HEADER_BYTES > FRAME_PAYLOAD_BYTES_MAX ||
        header.class >= FRAME_CLASS_COUNT)
        return -EBADMSG;
    *ret_header = header;
    return 0;
}
