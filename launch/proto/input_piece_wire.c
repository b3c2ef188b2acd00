/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/input_piece.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/job_wire.h"

#define RANGES_MAX 65536u

struct message *input_piece_message(const struct input_piece *piece)
{
    struct buffer payload = {0};
    struct message *message;

    assert(piece->job > 0 && piece->data.length_bytes <= INPUT_PIECE_BYTES_MAX);
    wire_put_u8(&payload, JOB_MESSAGE_STDIN_ALL);
    wire_put_u32(&payload, piece->job);
    wire_put_u64(&payload, piece->offset);
    wire_put_u8(&payload, piece->is_end);
    wire_put_u32(&payload, piece->generation);
    ranges_encode(&piece->places, &payload);
    buffer_append(&payload, piece->data.data, piece->data.length_bytes);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

int input_piece_decode(struct input_piece *ret_piece, struct wire_reader *reader)
{
    struct input_piece piece = {.job = wire_get_u32(reader)};

    piece.offset = wire_get_u64(reader);
    piece.is_end = wire_get_u8(reader);
    piece.generation = wire_get_u32(reader);
    ranges_decode(reader, RANGES_MAX, &piece.places);
    if (wire_status(reader) < 0 || piece.job == 0 || piece.is_end > 1 ||
        piece.offset > UINT64_MAX - INPUT_PIECE_BYTES_MAX ||
        wire_left(reader) > INPUT_PIECE_BYTES_MAX) {
        ranges_fini(&piece.places);
        return -EBADMSG;
    }
    piece.data.data = reader->position;
    piece.data.length_bytes = wire_left(reader);
    *ret_piece = piece;
    return 0;
}

void input_piece_fini(struct input_piece *piece)
{
    ranges_fini(&piece->places);
}
