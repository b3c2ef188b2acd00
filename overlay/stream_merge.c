/* SPDX-License-Identifier: BSD-3-Clause */
/* Reassembles a message from its chunks. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "overlay/stream.h"

static int compare_offsets(const void *a, const void *b)
{
    const struct stream_chunk *const *one = a;
    const struct stream_chunk *const *other = b;

    return (*one)->offset < (*other)->offset ? -1 : (*one)->offset > (*other)->offset;
}

/* The chunks in order of their offsets; the caller frees the array. */
static const struct stream_chunk **sort_chunks(const struct stream *stream)
{
    const struct stream_chunk **sorted = memory_allocate(stream->chunks_count * sizeof(*sorted));

    for (uint32_t i = 0; i < stream->chunks_count; i++)
        sorted[i] = &stream->chunks[i];
    qsort(sorted, stream->chunks_count, sizeof(*sorted), compare_offsets);
    return sorted;
}

/* One copy: all that a large broadcast costs at each place besides its frames. */
struct message *stream_bytes(const struct stream *stream)
{
    struct message *message = message_create_blank(stream->total_bytes);

    assert(stream_is_complete(stream));
    for (uint32_t i = 0; i < stream->chunks_count; i++) {
        const struct stream_chunk *chunk = &stream->chunks[i];

        memcpy(message->data + chunk->offset, chunk->payload.data, chunk->payload.length_bytes);
    }
    return message;
}

/* Reads across the borders of chunks. */
struct chunk_reader {
    const struct stream_chunk **sorted;
    uint32_t count;
    uint32_t index;
    size_t at;               /* within the chunk */
    struct buffer assembled; /* a run across several chunks */
};

static bool read_is_at_end(const struct chunk_reader *reader)
{
    return reader->index == reader->count;
}

/* The next bytes: as many as wanted, at most up to the end of the chunk. */
static struct wire_bytes read_run(struct chunk_reader *reader, size_t wanted)
{
    const struct wire_bytes *payload = &reader->sorted[reader->index]->payload;
    struct wire_bytes run = {payload->data + reader->at, payload->length_bytes - reader->at};

    if (run.length_bytes > wanted)
        run.length_bytes = wanted;
    reader->at += run.length_bytes;
    if (reader->at == payload->length_bytes) {
        reader->index++;
        reader->at = 0;
    }
    return run;
}

static int read_length(struct chunk_reader *reader, uint64_t *ret_length)
{
    struct buffer digits = {0};
    struct wire_reader wire;
    struct wire_bytes byte;
    int rc;

    do {
        if (read_is_at_end(reader) || digits.length_bytes == 10) {
            buffer_fini(&digits);
            return -EBADMSG;
        }
        byte = read_run(reader, 1);
        buffer_append(&digits, byte.data, 1);
    } while ((byte.data[0] & 0x80) != 0);
    wire_reader_init(&wire, digits.data, digits.length_bytes);
    *ret_length = wire_get_varint_max(&wire, STREAM_BYTES_MAX);
    rc = wire_finish(&wire);
    buffer_fini(&digits);
    return rc;
}

static int read_piece(struct chunk_reader *reader, struct wire_bytes *ret_piece)
{
    uint64_t length = 0;
    int rc = read_length(reader, &length);

    if (rc < 0 || length == 0 || read_is_at_end(reader))
        return -EBADMSG;
    *ret_piece = read_run(reader, length);
    if (ret_piece->length_bytes == length)
        return 0;
    buffer_clear(&reader->assembled);
    buffer_append(&reader->assembled, ret_piece->data, ret_piece->length_bytes);
    while (reader->assembled.length_bytes < length) {
        struct wire_bytes run;

        if (read_is_at_end(reader))
            return -EBADMSG;
        run = read_run(reader, length - reader->assembled.length_bytes);
        buffer_append(&reader->assembled, run.data, run.length_bytes);
    }
    *ret_piece = (struct wire_bytes){reader->assembled.data, reader->assembled.length_bytes};
    return 0;
}

struct message *stream_merge(const struct stream *stream, endpoint_merge_function *merge)
{
    struct chunk_reader reader = {.sorted = sort_chunks(stream), .count = stream->chunks_count};
    struct buffer merged = {0};
    struct message *message = NULL;
    struct wire_bytes piece;
    int rc = 0;

    assert(stream_is_complete(stream));
    (void)buffer_reserve(&merged, stream->total_bytes); /* what is not used is not touched */
    while (rc == 0 && !read_is_at_end(&reader)) {
        rc = read_piece(&reader, &piece);
        if (rc == 0 && merged.length_bytes == 0)
            buffer_append(&merged, piece.data, piece.length_bytes);
        else if (rc == 0)
            merge(&merged, piece.data, piece.length_bytes);
    }
    if (rc == 0 && merged.length_bytes > 0)
        message = message_from_buffer(&merged);
    buffer_fini(&merged);
    buffer_fini(&reader.assembled);
    free(reader.sorted);
    return message;
}
