/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum field {
    FIELD_ID = 1u << 0,
    FIELD_JOB = 1u << 1,
    FIELD_RANK = 1u << 2,
    FIELD_STATUS = 1u << 3,
    FIELD_NUMBER = 1u << 4,
    FIELD_TIMEOUT = 1u << 5,
    FIELD_MEMBERS = 1u << 6,
    FIELD_TEXT = 1u << 7,
    FIELD_DATA = 1u << 8, /* the rest of the message */
    FIELD_PROCESS = FIELD_JOB | FIELD_RANK,
};

static const struct {
    unsigned int fields;
    uint32_t numbers; /* of FIELD_NUMBER: exclusive limit; 0: none */
} kinds[PMI_MESSAGE_KIND_COUNT] = {
    [PMI_MESSAGE_START] = {FIELD_DATA, 0},
    [PMI_MESSAGE_OPEN] = {FIELD_DATA, 0},
    [PMI_MESSAGE_CLOSE] = {FIELD_JOB, 0},
    [PMI_MESSAGE_ADMIT] = {FIELD_PROCESS | FIELD_DATA, 0},
    [PMI_MESSAGE_DONE] = {FIELD_ID | FIELD_STATUS | FIELD_DATA, 0},
    [PMI_MESSAGE_PROVIDE] = {FIELD_ID | FIELD_PROCESS | FIELD_TEXT, 0},
    [PMI_MESSAGE_GONE] = {FIELD_PROCESS, 0},
    [PMI_MESSAGE_CHECK] = {FIELD_ID, 0},
    [PMI_MESSAGE_NOTICE] = {FIELD_PROCESS | FIELD_NUMBER | FIELD_DATA, PMI_NOTICE_KIND_COUNT},
    [PMI_MESSAGE_OPENED] = {FIELD_JOB | FIELD_STATUS | FIELD_NUMBER | FIELD_TEXT, 0},
    [PMI_MESSAGE_CLOSED] = {FIELD_JOB | FIELD_NUMBER, 0},
    [PMI_MESSAGE_CONNECTED] = {FIELD_PROCESS, 0},
    [PMI_MESSAGE_REJECTED] = {FIELD_PROCESS, 0},
    [PMI_MESSAGE_FINALIZED] = {FIELD_PROCESS, 0},
    [PMI_MESSAGE_COLLECTIVE] = {FIELD_ID | FIELD_STATUS | FIELD_NUMBER | FIELD_TIMEOUT |
                                    FIELD_MEMBERS | FIELD_TEXT | FIELD_DATA,
                                PMI_KIND_COUNT},
    [PMI_MESSAGE_FETCH] = {FIELD_ID | FIELD_PROCESS | FIELD_TIMEOUT | FIELD_TEXT, 0},
    [PMI_MESSAGE_PROVIDED] = {FIELD_ID | FIELD_JOB | FIELD_STATUS | FIELD_DATA, 0},
    [PMI_MESSAGE_ABORT] = {FIELD_ID | FIELD_PROCESS | FIELD_NUMBER | FIELD_MEMBERS | FIELD_TEXT, 0},
    [PMI_MESSAGE_TEXT] = {FIELD_PROCESS | FIELD_DATA, 0},
    [PMI_MESSAGE_CHECKED] = {FIELD_ID, 0},
    [PMI_MESSAGE_REQUEST] = {FIELD_ID | FIELD_PROCESS | FIELD_STATUS | FIELD_NUMBER |
                                 FIELD_TIMEOUT | FIELD_DATA,
                             PMI_REQUEST_KIND_COUNT},
};

static void put_process(const struct pmi_process *process, struct buffer *out)
{
    wire_put_u32(out, process->job);
    wire_put_u32(out, process->rank);
}

static void get_process(struct wire_reader *reader, struct pmi_process *ret_process)
{
    ret_process->job = wire_get_u32(reader);
    ret_process->rank = wire_get_u32(reader);
}

static void put_members(const struct pmi_message *message, struct buffer *out)
{
    wire_put_u32(out, (uint32_t)message->members_count);
    for (size_t i = 0; i < message->members_count; i++)
        put_process(&message->members[i], out);
}

/* Their number is checked against the message's length before memory is allocated for them. */
static void get_members(struct wire_reader *reader, struct pmi_message *message)
{
    uint32_t count = wire_get_u32(reader);
    struct pmi_process *members;

    if (count > PMI_MEMBERS_MAX || count > wire_left(reader) / 8) {
        wire_fail(reader);
        return;
    }
    members = memory_allocate(count * sizeof(*members));
    for (uint32_t i = 0; i < count; i++)
        get_process(reader, &members[i]);
    message->members = members;
    message->members_count = count;
}

/* A client may send more text than is useful. */
static size_t text_bytes(const struct pmi_message *message)
{
    return message->text != NULL ? strnlen(message->text, PMI_TEXT_BYTES_MAX) : 0;
}

static size_t size_of(const struct pmi_message *message)
{
    return 64 + 8 * message->members_count + message->data_bytes + text_bytes(message);
}

int pmi_message_encode(const struct pmi_message *message, struct buffer *out)
{
    unsigned int fields = kinds[message->kind].fields;
    size_t start = out->length_bytes;
    struct buffer length = {0};

    assert(message->kind < PMI_MESSAGE_KIND_COUNT);
    if (size_of(message) > PMI_FRAME_BYTES_MAX || message->members_count > PMI_MEMBERS_MAX)
        return -EMSGSIZE;
    (void)buffer_reserve(out, size_of(message));
    wire_put_u32(out, 0);
    wire_put_u8(out, (uint8_t)message->kind);
    if (fields & FIELD_ID)
        wire_put_u64(out, message->id);
    if (fields & FIELD_JOB)
        wire_put_u32(out, message->process.job);
    if (fields & FIELD_RANK)
        wire_put_u32(out, message->process.rank);
    if (fields & FIELD_STATUS)
        wire_put_u32(out, (uint32_t)message->status);
    if (fields & FIELD_NUMBER)
        wire_put_u32(out, message->number);
    if (fields & FIELD_TIMEOUT)
        wire_put_u32(out, message->timeout_ms);
    if (fields & FIELD_MEMBERS)
        put_members(message, out);
    if (fields & FIELD_TEXT)
        wire_put_bytes(out, message->text, text_bytes(message));
    if (fields & FIELD_DATA)
        buffer_append(out, message->data, message->data_bytes);
    wire_put_u32(&length, (uint32_t)(out->length_bytes - start - PMI_FRAME_HEADER_BYTES));
    memcpy(out->data + start, length.data, length.length_bytes);
    buffer_fini(&length);
    return 0;
}

int pmi_frame_length(const unsigned char *header, size_t *ret_bytes)
{
    struct wire_reader reader;
    uint32_t bytes;

    wire_reader_init(&reader, header, PMI_FRAME_HEADER_BYTES);
    bytes = wire_get_u32(&reader);
    if (bytes > PMI_FRAME_BYTES_MAX || wire_get_u8(&reader) >= PMI_MESSAGE_KIND_COUNT)
        return -EPROTO;
    *ret_bytes = bytes;
    return 0;
}

static void get_fields(struct wire_reader *reader, unsigned int fields, struct pmi_message *message)
{
    if (fields & FIELD_ID)
        message->id = wire_get_u64(reader);
    if (fields & FIELD_JOB)
        message->process.job = wire_get_u32(reader);
    if (fields & FIELD_RANK)
        message->process.rank = wire_get_u32(reader);
    if (fields & FIELD_STATUS)
        message->status = (int32_t)wire_get_u32(reader);
    if (fields & FIELD_NUMBER)
        message->number = wire_get_u32(reader);
    if (fields & FIELD_TIMEOUT)
        message->timeout_ms = wire_get_u32(reader);
    if (fields & FIELD_MEMBERS)
        get_members(reader, message);
    if (fields & FIELD_TEXT)
        message->text = wire_get_string(reader, PMI_TEXT_BYTES_MAX);
    if ((fields & FIELD_DATA) && wire_status(reader) == 0) {
        message->data = reader->position;
        message->data_bytes = wire_left(reader);
        reader->position = reader->end;
    }
}

int pmi_message_decode(struct pmi_message *ret_message, const void *frame, size_t bytes)
{
    struct pmi_message message = {0};
    struct wire_reader reader;
    uint32_t numbers;

    assert(bytes >= PMI_FRAME_HEADER_BYTES);
    wire_reader_init(&reader, frame, bytes);
    if (wire_get_u32(&reader) != bytes - PMI_FRAME_HEADER_BYTES)
        wire_fail(&reader);
    message.kind = (enum pmi_message_kind)wire_get_u8(&reader);
    if (wire_status(&reader) < 0 || message.kind >= PMI_MESSAGE_KIND_COUNT)
        return -EPROTO;
    get_fields(&reader, kinds[message.kind].fields, &message);
    numbers = kinds[message.kind].numbers;
    if (wire_finish(&reader) < 0 || message.status > 0 ||
        (numbers > 0 && message.number >= numbers)) {
        pmi_message_fini(&message);
        return -EPROTO;
    }
    *ret_message = message;
    return 0;
}

void pmi_message_fini(struct pmi_message *message)
{
    free((void *)(uintptr_t)message->members);
    free((void *)(uintptr_t)message->text);
    message->members = NULL;
    message->text = NULL;
}

size_t pmi_frame_wanted(const struct buffer *in, size_t min_bytes)
{
    size_t bytes = 0;

    assert(min_bytes > 0);
    if (in->length_bytes < PMI_FRAME_HEADER_BYTES || pmi_frame_length(in->data, &bytes) < 0 ||
        bytes + PMI_FRAME_HEADER_BYTES < in->length_bytes + min_bytes)
        return min_bytes;
    return bytes + PMI_FRAME_HEADER_BYTES - in->length_bytes;
}

int pmi_frames_take(struct buffer *in, pmi_frame_function *function, void *context)
{
    size_t taken = 0, bytes = 0;
    int rc = 0;

    while (rc == 0 && in->length_bytes - taken >= PMI_FRAME_HEADER_BYTES) {
        const unsigned char *frame = in->data + taken;
        struct pmi_message message;

        rc = pmi_frame_length(frame, &bytes);
        if (rc < 0 || in->length_bytes - taken - PMI_FRAME_HEADER_BYTES < bytes)
            break;
        rc = pmi_message_decode(&message, frame, PMI_FRAME_HEADER_BYTES + bytes);
        if (rc < 0)
            break;
        rc = function(context, &message);
        pmi_message_fini(&message);
        taken += PMI_FRAME_HEADER_BYTES + bytes;
    }
    assert(taken <= in->length_bytes);
    buffer_consume(in, taken);
    return rc;
}
