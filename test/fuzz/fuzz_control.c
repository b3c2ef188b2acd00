/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the control channel.  The first byte of an input is the type; what a decoder accepts
 * must encode to the same bytes again.
 */
#include "config.h"

#include "launch/proto/control.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int round_end(struct wire_reader *reader, struct buffer *again)
{
    struct control_end message;
    int rc = control_end_decode(&message, reader);

    if (rc == 0)
        control_end_encode(&message, again);
    return rc;
}

static int round_started(struct wire_reader *reader, struct buffer *again)
{
    struct control_started message;
    int rc = control_started_decode(&message, reader);

    if (rc == 0)
        control_started_encode(&message, again);
    return rc;
}

static int round_job_end(struct wire_reader *reader, struct buffer *again)
{
    struct control_job_end message;
    int rc = control_job_end_decode(&message, reader);

    if (rc == 0)
        control_job_end_encode(&message, again);
    return rc;
}

static int round_output(struct wire_reader *reader, struct buffer *again)
{
    struct control_output message;
    int rc = control_output_decode(&message, reader);

    if (rc == 0)
        control_output_encode(&message, again);
    return rc;
}

/* A NUL ends a text that is encoded, so it is compared up to there only. */
static int round_text(struct wire_reader *reader, struct buffer *again)
{
    struct control_text message;
    char *text;
    int rc = control_text_decode(&message, reader);

    if (rc < 0)
        return rc;
    if (memchr(message.text.data, '\0', message.text.length_bytes) != NULL)
        return -1;
    text = strndup((const char *)message.text.data, message.text.length_bytes);
    control_text_encode(message.level, text, again);
    free(text);
    return 0;
}

/* What another version says has no second encoding here. */
static int round_hello(struct wire_reader *reader, struct buffer *again)
{
    struct control_hello message;

    if (control_hello_decode(&message, reader) < 0 || message.version != CONTROL_VERSION)
        return -1;
    control_hello_encode(&message, again);
    return 0;
}

/* Names of nodes can be written in several ways. */
static int round_welcome(struct wire_reader *reader, struct buffer *again)
{
    struct control_welcome message;

    if (control_welcome_decode(&message, reader) == 0) {
        control_welcome_encode(&message, again);
        allocation_fini(&message.roster);
    }
    return -1;
}

static int round_refused(struct wire_reader *reader, struct buffer *again)
{
    struct control_refused message;
    int rc = control_refused_decode(&message, reader);

    if (rc == 0)
        control_refused_encode(message.request, message.why, again);
    return rc;
}

static int round_ready(struct wire_reader *reader, struct buffer *again)
{
    struct control_ready message;
    int rc = control_ready_decode(&message, reader);

    if (rc == 0)
        control_ready_encode(&message, again);
    return rc;
}

/* Places can be written in several ways. */
static int round_request(struct wire_reader *reader, struct buffer *again)
{
    struct control_request message;

    if (control_request_decode(&message, reader) == 0) {
        control_request_encode(&message, again);
        ranges_fini(&message.places);
    }
    return -1;
}

static int round_answer(struct wire_reader *reader, struct buffer *again)
{
    struct control_answer message;
    int rc = control_answer_decode(&message, reader);

    if (rc == 0)
        control_answer_encode(&message, again);
    return rc;
}

typedef int round_function(struct wire_reader *reader, struct buffer *again);

static round_function *const rounds[] = {round_end,   round_started, round_job_end, round_output,
                                         round_text,  round_hello,   round_welcome, round_refused,
                                         round_ready, round_request, round_answer};

#define ROUNDS_COUNT (sizeof(rounds) / sizeof(rounds[0]))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct buffer again = {0};
    struct wire_reader reader;

    if (data_bytes == 0)
        return 0;
    wire_reader_init(&reader, data + 1, data_bytes - 1);
    if (rounds[data[0] % ROUNDS_COUNT](&reader, &again) == 0) {
        assert(again.length_bytes == data_bytes - 1);
        assert(again.length_bytes == 0 || memcmp(again.data, data + 1, data_bytes - 1) == 0);
    }
    buffer_fini(&again);
    return 0;
}

static void put_sample(unsigned number, struct buffer *out)
{
    static const struct control_end end = {.status = 130, .reason = "interrupted"};
    static const struct control_started started = {.processes = 64, .nodes = 16};
    static const struct control_job_end job_end = {
        .status = 7, .processes_ended = 3, .text = "rank 1 on n1 exited with status 7"};

    static const struct control_hello hello = {.version = CONTROL_VERSION,
                                               .wants = CONTROL_WANTS_ROSTER};
    static const struct control_ready ready = {.nodes = 4, .directory = "/tmp/banyan-0/1.0"};
    static const struct control_output output = {
        .rank = 5,
        .stream = 1,
        .time_ns = 7,
        .place = 3,
        .bytes = {.data = (const unsigned char *)"hello\n", .length_bytes = 6}};
    static const struct control_answer answer = {.status = -2};
    struct control_request request = {.request = 1, .kind = 2};
    struct control_welcome welcome = {.version = CONTROL_VERSION, .session = "0123456789abcdef"};

    wire_put_u8(out, (uint8_t)number);
    switch (number) {
    case 0:
        control_end_encode(&end, out);
        break;
    case 1:
        control_started_encode(&started, out);
        break;
    case 2:
        control_job_end_encode(&job_end, out);
        break;
    case 3:
        control_output_encode(&output, out);
        break;
    case 4:
        control_text_encode(1, "n1: slow", out);
        break;
    case 5:
        control_hello_encode(&hello, out);
        break;
    case 6:
        welcome.has_roster = 1;
        allocation_init(&welcome.roster);
        allocation_generate(&welcome.roster, "n", 4, 2);
        control_welcome_encode(&welcome, out);
        allocation_fini(&welcome.roster);
        break;
    case 7:
        control_refused_encode(1, "the job cannot be read", out);
        break;
    case 8:
        control_ready_encode(&ready, out);
        break;
    case 9:
        ranges_add(&request.places, 1, 4);
        control_request_encode(&request, out);
        ranges_fini(&request.places);
        break;
    default:
        control_answer_encode(&answer, out);
    }
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct buffer sample = {0};
    size_t bytes;

    if (number >= ROUNDS_COUNT)
        return 0;
    put_sample(number, &sample);
    bytes = sample.length_bytes < buffer_bytes ? sample.length_bytes : buffer_bytes;
    memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
