/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/compress.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include <zstd.h>

/* Fast, and within a few percent of higher levels on environments and host names. */
#define COMPRESS_LEVEL 1

enum compress_form { COMPRESS_PLAIN, COMPRESS_ZSTD, COMPRESS_FORM_COUNT };

static void put_plain(struct buffer *out, const void *data, size_t bytes)
{
    wire_put_u8(out, COMPRESS_PLAIN);
    wire_put_bytes(out, data, bytes);
}

void compress_put(struct buffer *out, const void *data, size_t bytes)
{
    size_t room_bytes = ZSTD_compressBound(bytes);
    void *room;
    size_t packed_bytes;

    assert(data != NULL || bytes == 0);
    if (bytes < COMPRESS_BYTES_MIN) {
        put_plain(out, data, bytes);
        return;
    }
    room = memory_allocate(room_bytes);
    packed_bytes = ZSTD_compress(room, room_bytes, data, bytes, COMPRESS_LEVEL);
    if (ZSTD_isError(packed_bytes) || packed_bytes >= bytes) {
        put_plain(out, data, bytes);
    } else {
        wire_put_u8(out, COMPRESS_ZSTD);
        wire_put_varint(out, bytes);
        wire_put_bytes(out, room, packed_bytes);
    }
    free(room);
}

static void get_zstd(struct wire_reader *reader, size_t maximum_bytes, struct buffer *ret_block)
{
    size_t bytes = (size_t)wire_get_varint_max(reader, maximum_bytes);
    struct wire_bytes packed = wire_get_bytes(reader, maximum_bytes);
    void *room;

    if (wire_status(reader) < 0)
        return;
    /* The sender's size is not trusted: the frame must agree before memory is allocated for it. */
    if (ZSTD_getFrameContentSize(packed.data, packed.length_bytes) != bytes) {
        wire_fail(reader);
        return;
    }
    room = buffer_reserve(ret_block, bytes);
    if (ZSTD_decompress(room, bytes, packed.data, packed.length_bytes) != bytes)
        wire_fail(reader);
    else
        buffer_commit(ret_block, bytes);
}

void compress_get(struct wire_reader *reader, size_t maximum_bytes, struct buffer *ret_block)
{
    uint8_t form = wire_get_u8(reader);
    struct wire_bytes plain;

    assert(ret_block->length_bytes <= ret_block->capacity_bytes);
    if (form == COMPRESS_ZSTD) {
        get_zstd(reader, maximum_bytes, ret_block);
        return;
    }
    if (form != COMPRESS_PLAIN) {
        wire_fail(reader);
        return;
    }
    plain = wire_get_bytes(reader, maximum_bytes);
    buffer_append(ret_block, plain.data, plain.length_bytes);
}
