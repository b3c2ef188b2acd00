/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/numbered.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "launch/proto/job_wire.h"

#define HEADER_BYTES (1u + 1u + 8u) /* with the kind */

static void put_header(struct buffer *out, uint8_t kind, uint8_t stream, uint64_t number)
{
    assert(stream < NUMBERED_STREAMS);
    wire_put_u8(out, kind);
    wire_put_u8(out, stream);
    wire_put_u64(out, number);
    assert(out->length_bytes == HEADER_BYTES);
}

struct message *numbered_message(uint8_t stream, uint64_t number, const struct message *inner)
{
    struct message *message = message_create_blank(HEADER_BYTES + inner->length_bytes);
    struct buffer header = {0};

    assert(inner->length_bytes > 0);
    put_header(&header, JOB_MESSAGE_NUMBERED, stream, number);
    memcpy(message->data, header.data, HEADER_BYTES);
    memcpy(message->data + HEADER_BYTES, inner->data, inner->length_bytes);
    buffer_fini(&header);
    return message;
}

struct message *numbered_taken_message(uint8_t stream, uint64_t number, bool again)
{
    struct buffer payload = {0};
    struct message *message;

    put_header(&payload, JOB_MESSAGE_TAKEN, stream, number);
    wire_put_u8(&payload, again);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

int numbered_decode(uint8_t *ret_stream, uint64_t *ret_number, struct wire_reader *reader)
{
    uint8_t stream = wire_get_u8(reader);
    uint64_t number = wire_get_u64(reader);

    if (wire_status(reader) < 0 || stream >= NUMBERED_STREAMS)
        return -EBADMSG;
    *ret_stream = stream;
    *ret_number = number;
    return 0;
}

int numbered_taken_decode(uint8_t *ret_stream, uint64_t *ret_number, bool *ret_again,
                          struct wire_reader *reader)
{
    int rc = numbered_decode(ret_stream, ret_number, reader);

    *ret_again = wire_get_u8(reader) > 0;
    return rc < 0 || wire_finish(reader) < 0 ? -EBADMSG : 0;
}
