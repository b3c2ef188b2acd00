/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/control.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define RANGES_MAX 65536u

/* A flag has one encoding for each of its two values. */
static uint8_t get_flag(struct wire_reader *reader)
{
    uint8_t flag = wire_get_u8(reader);

    if (flag > 1)
        wire_fail(reader);
    return flag;
}

bool control_is_of_client(uint8_t type)
{
    return type <= CONTROL_DOCTOR || type == CONTROL_REQUEST || type == CONTROL_FEED ||
           type == CONTROL_WINDOW;
}

void control_hello_encode(const struct control_hello *message, struct buffer *out)
{
    wire_put_u32(out, message->version);
    wire_put_u8(out, message->wants);
}

/* The fields of other versions after the number are not known. */
int control_hello_decode(struct control_hello *ret_message, struct wire_reader *reader)
{
    struct control_hello message = {.version = wire_get_u32(reader)};

    if (wire_status(reader) == 0 && message.version != CONTROL_VERSION)
        reader->position = reader->end;
    else
        message.wants =
            (uint8_t)wire_get_varint_max(reader, CONTROL_WANTS_TEXTS | CONTROL_WANTS_ROSTER);
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

void control_welcome_encode(const struct control_welcome *message, struct buffer *out)
{
    wire_put_u32(out, message->version);
    wire_put_string(out, message->session);
    wire_put_u8(out, message->has_roster != 0);
    if (message->has_roster)
        allocation_encode(&message->roster, out);
}

int control_welcome_decode(struct control_welcome *ret_message, struct wire_reader *reader)
{
    struct control_welcome message = {.version = wire_get_u32(reader)};
    int rc = 0;

    allocation_init(&message.roster);
    wire_get_string_into(reader, message.session, sizeof(message.session));
    message.has_roster = get_flag(reader);
    if (message.has_roster && wire_status(reader) == 0) {
        allocation_fini(&message.roster);
        rc = allocation_decode(&message.roster, reader);
    }
    if (rc < 0 || wire_finish(reader) < 0) {
        allocation_fini(&message.roster);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

void control_run_encode(uint32_t request, uint8_t flags, const struct job_spec *spec,
                        struct buffer *out)
{
    assert((flags & ~CONTROL_RUN_FLAGS) == 0);
    wire_put_u32(out, request);
    wire_put_u8(out, flags);
    job_spec_encode(spec, out);
}

int control_run_decode(uint32_t *ret_request, uint8_t *ret_flags, struct job_spec *ret_spec,
                       struct wire_reader *reader)
{
    *ret_request = wire_get_u32(reader);
    *ret_flags = wire_get_u8(reader);
    if ((*ret_flags & ~CONTROL_RUN_FLAGS) != 0)
        wire_fail(reader);
    return job_spec_decode(ret_spec, reader);
}

void control_accepted_encode(uint32_t request, uint32_t job, struct buffer *out)
{
    wire_put_u32(out, request);
    wire_put_u32(out, job);
}

int control_accepted_decode(uint32_t *ret_request, uint32_t *ret_job, struct wire_reader *reader)
{
    *ret_request = wire_get_u32(reader);
    *ret_job = wire_get_u32(reader);
    return wire_finish(reader);
}

void control_failed_encode(const char *why, struct buffer *out)
{
    wire_put_string(out, why);
}

int control_failed_decode(char **ret_why, struct wire_reader *reader)
{
    *ret_why = wire_get_string(reader, CONTROL_TEXT_BYTES_MAX);
    return wire_finish(reader);
}

void control_waits_encode(const char *why, struct buffer *out)
{
    wire_put_string(out, why);
}

int control_waits_decode(char **ret_why, struct wire_reader *reader)
{
    *ret_why = wire_get_string(reader, CONTROL_TEXT_BYTES_MAX);
    return wire_finish(reader);
}

void control_refused_encode(uint32_t request, const char *why, struct buffer *out)
{
    wire_put_u32(out, request);
    wire_put_string(out, why);
}

int control_refused_decode(struct control_refused *ret_message, struct wire_reader *reader)
{
    struct control_refused message = {.request = wire_get_u32(reader)};

    wire_get_string_into(reader, message.why, sizeof(message.why));
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

void control_ready_encode(const struct control_ready *message, struct buffer *out)
{
    wire_put_u32(out, message->nodes);
    wire_put_string(out, message->directory);
}

int control_ready_decode(struct control_ready *ret_message, struct wire_reader *reader)
{
    struct control_ready message = {.nodes = wire_get_u32(reader)};

    wire_get_string_into(reader, message.directory, sizeof(message.directory));
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

void control_end_encode(const struct control_end *message, struct buffer *out)
{
    wire_put_u32(out, message->status);
    wire_put_u8(out, message->at_once != 0);
    wire_put_string(out, message->reason);
}

int control_end_decode(struct control_end *ret_message, struct wire_reader *reader)
{
    struct control_end message = {0};

    message.status = wire_get_u32(reader);
    message.at_once = get_flag(reader);
    wire_get_string_into(reader, message.reason, sizeof(message.reason));
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

void control_started_encode(const struct control_started *message, struct buffer *out)
{
    wire_put_u32(out, message->processes);
    wire_put_u32(out, message->nodes);
}

int control_started_decode(struct control_started *ret_message, struct wire_reader *reader)
{
    struct control_started message = {0};

    message.processes = wire_get_u32(reader);
    message.nodes = wire_get_u32(reader);
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

void control_job_end_encode(const struct control_job_end *message, struct buffer *out)
{
    wire_put_u32(out, message->status);
    wire_put_u8(out, message->banyan_failed != 0);
    wire_put_u32(out, message->processes);
    wire_put_u32(out, message->nodes);
    wire_put_u32(out, message->processes_ended);
    wire_put_string(out, message->text);
}

int control_job_end_decode(struct control_job_end *ret_message, struct wire_reader *reader)
{
    struct control_job_end message = {0};

    message.status = wire_get_u32(reader);
    message.banyan_failed = get_flag(reader);
    message.processes = wire_get_u32(reader);
    message.nodes = wire_get_u32(reader);
    message.processes_ended = wire_get_u32(reader);
    wire_get_string_into(reader, message.text, sizeof(message.text));
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

/* All that is left. */
static struct wire_bytes get_rest(struct wire_reader *reader)
{
    struct wire_bytes rest = {.data = reader->position, .length_bytes = wire_left(reader)};

    reader->position = reader->end;
    return rest;
}

void control_request_encode(const struct control_request *message, struct buffer *out)
{
    wire_put_u32(out, message->request);
    wire_put_u8(out, message->kind);
    ranges_encode(&message->places, out);
    buffer_append(out, message->data.data, message->data.length_bytes);
}

int control_request_decode(struct control_request *ret_message, struct wire_reader *reader)
{
    struct control_request message = {.request = wire_get_u32(reader)};

    message.kind = wire_get_u8(reader);
    ranges_decode(reader, RANGES_MAX, &message.places);
    message.data = get_rest(reader);
    if (wire_finish(reader) < 0) {
        ranges_fini(&message.places);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

void control_answer_encode(const struct control_answer *message, struct buffer *out)
{
    assert(message->status <= 0);
    wire_put_u32(out, message->request);
    wire_put_u32(out, (uint32_t)-message->status);
    buffer_append(out, message->data.data, message->data.length_bytes);
}

int control_answer_decode(struct control_answer *ret_message, struct wire_reader *reader)
{
    struct control_answer message = {.request = wire_get_u32(reader)};
    uint32_t code = wire_get_u32(reader);

    if (code > INT32_MAX)
        wire_fail(reader);
    message.status = -(int)(code & INT32_MAX);
    message.data = get_rest(reader);
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

void control_output_encode(const struct control_output *message, struct buffer *out)
{
    assert(message->stream == 1 || message->stream == 2);
    wire_put_u32(out, message->rank);
    wire_put_u8(out, message->stream);
    wire_put_u64(out, message->time_ns);
    wire_put_u32(out, message->place);
    buffer_append(out, message->bytes.data, message->bytes.length_bytes);
}

int control_output_decode(struct control_output *ret_message, struct wire_reader *reader)
{
    struct control_output message = {0};

    message.rank = wire_get_u32(reader);
    message.stream = wire_get_u8(reader);
    if (message.stream != 1 && message.stream != 2)
        wire_fail(reader);
    message.time_ns = wire_get_u64(reader);
    message.place = wire_get_u32(reader);
    message.bytes = get_rest(reader);
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}

void control_put_job(uint32_t job, struct buffer *out)
{
    wire_put_u32(out, job);
}

uint32_t control_get_job(struct wire_reader *reader)
{
    return wire_get_u32(reader);
}

void control_put_written(const struct unwritten_part *part, struct buffer *out)
{
    wire_put_u32(out, part->job);
    wire_put_u32(out, part->place);
    wire_put_u32(out, part->bytes);
}

void control_get_written(struct wire_reader *reader, struct unwritten_part *ret_part)
{
    ret_part->job = wire_get_u32(reader);
    ret_part->place = wire_get_u32(reader);
    ret_part->bytes = wire_get_u32(reader);
}

void control_put_number(uint32_t number, struct buffer *out)
{
    wire_put_u32(out, number);
}

uint32_t control_get_number(struct wire_reader *reader)
{
    return wire_get_u32(reader);
}

/* Truncates what the other side would refuse. */
void control_text_encode(uint8_t level, const char *text, struct buffer *out)
{
    assert(text != NULL);
    wire_put_u8(out, level);
    wire_put_bytes(out, text, strnlen(text, CONTROL_TEXT_BYTES_MAX));
}

int control_text_decode(struct control_text *ret_message, struct wire_reader *reader)
{
    struct control_text message = {0};

    message.level = wire_get_u8(reader);
    message.text = wire_get_bytes(reader, CONTROL_TEXT_BYTES_MAX);
    if (wire_finish(reader) == 0)
        *ret_message = message;
    return wire_finish(reader);
}
