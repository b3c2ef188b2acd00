/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/wire.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define VARINT_BYTES_MAX 10 /* 9 x 7 bits and one more */

static void put_little_endian(struct buffer *out, uint64_t value, size_t width_bytes)
{
    uint64_t little_endian = htole64(value);

    assert(width_bytes == sizeof(value) || value >> (8 * width_bytes) == 0);
    buffer_append(out, &little_endian, width_bytes);
}

void wire_put_u8(struct buffer *out, uint8_t value)
{
    put_little_endian(out, value, 1);
}

void wire_put_u16(struct buffer *out, uint16_t value)
{
    put_little_endian(out, value, 2);
}

void wire_put_u32(struct buffer *out, uint32_t value)
{
    put_little_endian(out, value, 4);
}

void wire_put_u64(struct buffer *out, uint64_t value)
{
    put_little_endian(out, value, 8);
}

void wire_put_varint(struct buffer *out, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES_MAX];
    size_t length = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (unsigned char)(value | 0x80);
    bytes[length++] = (unsigned char)value;
    buffer_append(out, bytes, length);
}

void wire_put_bytes(struct buffer *out, const void *data, size_t bytes)
{
    wire_put_varint(out, bytes);
    buffer_append(out, data, bytes);
}

void wire_put_string(struct buffer *out, const char *text)
{
    wire_put_bytes(out, text, strlen(text));
}

void wire_put_optional_string(struct buffer *out, const char *text)
{
    wire_put_u8(out, text != NULL);
    if (text != NULL)
        wire_put_string(out, text);
}

void wire_reader_init(struct wire_reader *reader, const void *data, size_t bytes)
{
    static const unsigned char nothing[1];

    assert(bytes == 0 || data != NULL);
    reader->position = bytes > 0 ? data : nothing;
    reader->end = reader->position + bytes;
    reader->failed = 0;
}

/* The next bytes of the input, or NULL and the reader has failed. */
static const unsigned char *wire_take(struct wire_reader *reader, size_t bytes)
{
    const unsigned char *taken = reader->position;

    if (reader->failed || bytes > wire_left(reader)) {
        wire_fail(reader);
        return NULL;
    }
    reader->position += bytes;
    return taken;
}

static uint64_t get_little_endian(struct wire_reader *reader, size_t width_bytes)
{
    const unsigned char *bytes = wire_take(reader, width_bytes);
    uint64_t value = 0;

    assert(width_bytes <= sizeof(value));
    if (bytes != NULL)
        memcpy(&value, bytes, width_bytes);
    return le64toh(value);
}

uint8_t wire_get_u8(struct wire_reader *reader)
{
    return (uint8_t)get_little_endian(reader, 1);
}

uint16_t wire_get_u16(struct wire_reader *reader)
{
    return (uint16_t)get_little_endian(reader, 2);
}

uint32_t wire_get_u32(struct wire_reader *reader)
{
    return (uint32_t)get_little_endian(reader, 4);
}

uint64_t wire_get_u64(struct wire_reader *reader)
{
    return get_little_endian(reader, 8);
}

uint64_t wire_get_varint(struct wire_reader *reader)
{
    uint64_t value = 0;

    for (unsigned int i = 0; i < VARINT_BYTES_MAX; i++) {
        uint8_t byte = wire_get_u8(reader);
        int overlong = byte == 0 && i > 0;
        int overflow = byte > 1 && i == VARINT_BYTES_MAX - 1;

        if (reader->failed || overlong || overflow)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80)
            return value;
    }
    wire_fail(reader);
    return 0;
}

uint64_t wire_get_varint_max(struct wire_reader *reader, uint64_t maximum)
{
    uint64_t value = wire_get_varint(reader);

    if (value > maximum) {
        wire_fail(reader);
        return 0;
    }
    return value;
}

struct wire_bytes wire_get_bytes(struct wire_reader *reader, size_t maximum_bytes)
{
    size_t bytes = (size_t)wire_get_varint_max(reader, maximum_bytes);
    const unsigned char *data = wire_take(reader, bytes);

    return (struct wire_bytes){.data = data, .length_bytes = data != NULL ? bytes : 0};
}

/* As wire_get_bytes, for bytes that must not hold a NUL. */
static struct wire_bytes wire_get_text(struct wire_reader *reader, size_t maximum_bytes)
{
    struct wire_bytes bytes = wire_get_bytes(reader, maximum_bytes);

    if (bytes.length_bytes > 0 && memchr(bytes.data, '\0', bytes.length_bytes) != NULL) {
        wire_fail(reader);
        bytes.length_bytes = 0;
    }
    return bytes;
}

char *wire_get_string(struct wire_reader *reader, size_t maximum_bytes)
{
    struct wire_bytes bytes = wire_get_text(reader, maximum_bytes);
    char *text = memory_allocate(bytes.length_bytes + 1);

    if (bytes.length_bytes > 0)
        memcpy(text, bytes.data, bytes.length_bytes);
    text[bytes.length_bytes] = '\0';
    return text;
}

char *wire_get_optional_string(struct wire_reader *reader, size_t maximum_bytes)
{
    uint64_t present = wire_get_varint_max(reader, 1);

    return present ? wire_get_string(reader, maximum_bytes) : NULL;
}

void wire_get_string_into(struct wire_reader *reader, char *array, size_t array_bytes)
{
    struct wire_bytes bytes;

    assert(array_bytes > 0);
    bytes = wire_get_text(reader, array_bytes - 1);
    if (bytes.length_bytes > 0)
        memcpy(array, bytes.data, bytes.length_bytes);
    array[bytes.length_bytes] = '\0';
}

size_t wire_left(const struct wire_reader *reader)
{
    assert(reader->position <= reader->end);
    return (size_t)(reader->end - reader->position);
}

void wire_fail(struct wire_reader *reader)
{
    reader->failed = 1;
    reader->position = reader->end;
}

int wire_finish(const struct wire_reader *reader)
{
    return wire_left(reader) > 0 ? -EBADMSG : wire_status(reader);
}

int wire_status(const struct wire_reader *reader)
{
    return reader->failed ? -EBADMSG : 0;
}
