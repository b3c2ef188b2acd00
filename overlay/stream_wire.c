/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/stream_wire.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/tree.h"

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int stream_name_compare(const struct stream_name *a, const struct stream_name *b)
{
    int order = -compare_u64(a->entry > 0, b->entry > 0); /* the log goes before operations */

    if (order == 0)
        order = compare_u64(a->entry, b->entry);
    if (order == 0)
        order = compare_u64(a->key.generation, b->key.generation);
    if (order == 0)
        order = compare_u64(a->key.set_id, b->key.set_id);
    if (order == 0)
        order = compare_u64(a->key.owner, b->key.owner);
    if (order == 0)
        order = compare_u64(a->key.kind, b->key.kind);
    if (order == 0)
        order = compare_u64(a->key.merge, b->key.merge);
    return order != 0 ? order : compare_u64(a->key.target, b->key.target);
}

static void put_name(const struct stream_name *name, struct buffer *out)
{
    wire_put_varint(out, name->entry);
    if (name->entry == 0)
        overlay_wire_put_key(&name->key, out);
}

static void get_name(struct wire_reader *reader, struct stream_name *ret_name)
{
    memset(ret_name, 0, sizeof(*ret_name));
    ret_name->entry = wire_get_varint(reader);
    if (ret_name->entry == 0)
        overlay_wire_get_key(reader, &ret_name->key);
}

static uint8_t get_u8_max(struct wire_reader *reader, uint8_t maximum)
{
    uint8_t value = wire_get_u8(reader);

    if (value > maximum)
        wire_fail(reader);
    return value;
}

static uint8_t get_trees(struct wire_reader *reader)
{
    uint8_t trees = get_u8_max(reader, STREAM_TREE_UP);

    if (trees == 0)
        wire_fail(reader);
    return trees;
}

void stream_put_large(const struct stream_large *large, struct buffer *out)
{
    wire_put_varint(out, large->sequence);
    wire_put_varint(out, large->total_bytes);
    wire_put_varint(out, large->chunk_bytes);
    wire_put_u8(out, large->algorithm);
}

int stream_get_large(const struct wire_bytes *payload, struct stream_large *ret_large)
{
    struct wire_reader reader;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    ret_large->sequence = wire_get_varint(&reader);
    ret_large->total_bytes = (uint32_t)wire_get_varint_max(&reader, STREAM_BYTES_MAX);
    ret_large->chunk_bytes = (uint32_t)wire_get_varint_max(&reader, STREAM_CHUNK_BYTES_MAX);
    ret_large->algorithm = get_u8_max(&reader, STREAM_MAIN_TREE);
    if (ret_large->total_bytes == 0 || ret_large->chunk_bytes < STREAM_CHUNK_BYTES_MIN)
        wire_fail(&reader);
    return wire_finish(&reader);
}

void stream_put_size(uint64_t bytes, struct buffer *out)
{
    wire_put_varint(out, bytes);
}

/* So that sums over all places do not overflow. */
int stream_get_size(const struct wire_bytes *payload, uint64_t *ret_bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    *ret_bytes = wire_get_varint_max(&reader, UINT64_MAX / 2 / TREE_PLACES_MAX);
    return wire_finish(&reader);
}

static void stamp_frame(struct frame *frame, uint32_t attempt, uint32_t round)
{
    frame->attempt = attempt;
    frame->stream = round;
}

void stream_encode_go(const struct stream_go *go, uint32_t attempt, uint32_t round,
                      struct frame *ret_frame)
{
    struct buffer out = {0};

    put_name(&go->name, &out);
    wire_put_u8(&out, go->algorithm);
    wire_put_u8(&out, go->result);
    wire_put_varint(&out, go->base);
    wire_put_varint(&out, go->total_bytes);
    wire_put_varint(&out, go->chunk_bytes);
    wire_put_varint(&out, go->pieces_count);
    for (uint32_t i = 0; i < go->pieces_count; i++) {
        wire_put_varint(&out, go->pieces[i].offset);
        wire_put_bytes(&out, go->pieces[i].payload.data, go->pieces[i].payload.length_bytes);
    }
    overlay_wire_frame_of(OVERLAY_GO, FRAME_COLLECTIVE, &out, ret_frame);
    stamp_frame(ret_frame, attempt, round);
}

static bool lies_within(uint64_t offset, uint64_t bytes, uint64_t total_bytes)
{
    return offset <= total_bytes && bytes <= total_bytes - offset;
}

static void get_pieces(struct wire_reader *reader, struct stream_go *go)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, STREAM_PIECES_MAX);

    if (count > wire_left(reader)) /* each takes a byte at least */
        wire_fail(reader);
    if (wire_status(reader) < 0 || count == 0)
        return;
    go->pieces = memory_allocate_zeroed(count * sizeof(*go->pieces));
    go->pieces_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct stream_piece *piece = &go->pieces[i];

        piece->offset = overlay_wire_get_varint32(reader);
        piece->payload = wire_get_bytes(reader, STREAM_BYTES_MAX);
        if (!lies_within(piece->offset, piece->payload.length_bytes, go->total_bytes))
            wire_fail(reader);
    }
}

int stream_decode_go(const struct frame *frame, struct stream_go *ret_go)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_go, 0, sizeof(*ret_go));
    get_name(&reader, &ret_go->name);
    ret_go->algorithm = get_u8_max(&reader, STREAM_ALGORITHM_COUNT - 1);
    ret_go->result = get_u8_max(&reader, 1);
    ret_go->base = overlay_wire_get_varint32(&reader);
    ret_go->total_bytes = (uint32_t)wire_get_varint_max(&reader, STREAM_BYTES_MAX);
    ret_go->chunk_bytes = (uint32_t)wire_get_varint_max(&reader, STREAM_CHUNK_BYTES_MAX);
    if (ret_go->base > ret_go->total_bytes || ret_go->total_bytes == 0 ||
        ret_go->chunk_bytes < STREAM_CHUNK_BYTES_MIN)
        wire_fail(&reader);
    get_pieces(&reader, ret_go);
    if (wire_finish(&reader) < 0)
        stream_go_fini(ret_go);
    return wire_finish(&reader);
}

void stream_go_fini(struct stream_go *go)
{
    free(go->pieces);
    go->pieces = NULL;
    go->pieces_count = 0;
}

void stream_encode_open(const struct stream_open *open, uint32_t attempt, uint32_t round,
                        struct frame *ret_frame)
{
    struct buffer out = {0};

    put_name(&open->name, &out);
    wire_put_u8(&out, open->trees);
    wire_put_varint(&out, open->credit_bytes);
    ranges_encode(&open->have, &out);
    overlay_wire_frame_of(OVERLAY_OPEN, FRAME_COLLECTIVE, &out, ret_frame);
    stamp_frame(ret_frame, attempt, round);
}

int stream_decode_open(const struct frame *frame, struct stream_open *ret_open)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_open, 0, sizeof(*ret_open));
    get_name(&reader, &ret_open->name);
    ret_open->trees = get_trees(&reader);
    ret_open->credit_bytes = (uint32_t)wire_get_varint_max(&reader, STREAM_BYTES_MAX);
    ranges_decode(&reader, STREAM_HAVE_MAX, &ret_open->have);
    if (wire_finish(&reader) < 0)
        stream_open_fini(ret_open);
    return wire_finish(&reader);
}

void stream_open_fini(struct stream_open *open)
{
    ranges_fini(&open->have);
}

void stream_encode_chunk(const struct stream_chunk_frame *chunk, struct frame *ret_frame)
{
    struct buffer out = {0};

    put_name(&chunk->name, &out);
    wire_put_varint(&out, chunk->offset);
    buffer_append(&out, chunk->payload.data, chunk->payload.length_bytes);
    overlay_wire_frame_of(OVERLAY_CHUNK, FRAME_BULK, &out, ret_frame);
}

int stream_decode_chunk(const struct frame *frame, struct stream_chunk_frame *ret_chunk)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    get_name(&reader, &ret_chunk->name);
    ret_chunk->offset = overlay_wire_get_varint32(&reader);
    ret_chunk->payload = overlay_wire_get_rest(&reader);
    if (ret_chunk->payload.length_bytes == 0 ||
        ret_chunk->payload.length_bytes > STREAM_CHUNK_BYTES_MAX)
        wire_fail(&reader);
    return wire_finish(&reader);
}

void stream_encode_credit(const struct stream_credit *credit, uint32_t attempt, uint32_t round,
                          struct frame *ret_frame)
{
    struct buffer out = {0};

    put_name(&credit->name, &out);
    wire_put_u8(&out, credit->trees);
    wire_put_varint(&out, credit->bytes);
    overlay_wire_frame_of(OVERLAY_CREDIT, FRAME_COLLECTIVE, &out, ret_frame);
    stamp_frame(ret_frame, attempt, round);
}

int stream_decode_credit(const struct frame *frame, struct stream_credit *ret_credit)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    get_name(&reader, &ret_credit->name);
    ret_credit->trees = get_trees(&reader);
    ret_credit->bytes = (uint32_t)wire_get_varint_max(&reader, STREAM_BYTES_MAX);
    return wire_finish(&reader);
}

void stream_encode_broken(const struct stream_name *name, uint32_t attempt, uint32_t round,
                          struct frame *ret_frame)
{
    struct buffer out = {0};

    put_name(name, &out);
    overlay_wire_frame_of(OVERLAY_BROKEN, FRAME_COLLECTIVE, &out, ret_frame);
    stamp_frame(ret_frame, attempt, round);
}

int stream_decode_broken(const struct frame *frame, struct stream_name *ret_name)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    get_name(&reader, ret_name);
    return wire_finish(&reader);
}

void stream_encode_done(const struct operation_name *key, uint32_t attempt, struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(key, &out);
    overlay_wire_frame_of(OVERLAY_DONE, FRAME_COLLECTIVE, &out, ret_frame);
    stamp_frame(ret_frame, attempt, 0);
}

int stream_decode_done(const struct frame *frame, struct operation_name *ret_key)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    overlay_wire_get_key(&reader, ret_key);
    return wire_finish(&reader);
}

void stream_encode_over(const struct stream_over *over, uint32_t attempt, struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&over->key, &out);
    wire_put_varint(&out, over->stable);
    overlay_wire_frame_of(OVERLAY_OVER, FRAME_COLLECTIVE, &out, ret_frame);
    stamp_frame(ret_frame, attempt, 0);
}

int stream_decode_over(const struct frame *frame, struct stream_over *ret_over)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    overlay_wire_get_key(&reader, &ret_over->key);
    ret_over->stable = overlay_wire_get_varint32(&reader);
    return wire_finish(&reader);
}

void stream_encode_lateral(struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_frame_of(OVERLAY_LATERAL, FRAME_CONTROL, &out, ret_frame);
}

int stream_decode_lateral(const struct frame *frame)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    return wire_finish(&reader);
}
