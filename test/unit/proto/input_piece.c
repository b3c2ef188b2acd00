/* SPDX-License-Identifier: BSD-3-Clause */
/* Input for all processes on the wire (launch/proto/input_piece_wire.c): a round trip, what is cut short, what is too large. */
#include "config.h"

#include "launch/proto/input_piece.h"

#include <errno.h>
#include <stdlib.h>

#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

static struct wire_reader reader_of(const struct message *message, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, message->data + 1, bytes - 1);
    return reader;
}

static void test_round_trip(void)
{
    struct input_piece piece = {.job = 7,
                                .offset = 1ull << 40,
                                .is_end = 1,
                                .generation = 9,
                                .data = {.data = (const unsigned char *)"abc", .length_bytes = 3}};
    struct input_piece again;
    struct message *message;
    struct wire_reader reader;

    ranges_add(&piece.places, 1, 3);
    message = input_piece_message(&piece);
    is_int(message->data[0], JOB_MESSAGE_STDIN_ALL, "the message has its kind");
    reader = reader_of(message, message->length_bytes);
    is_int(input_piece_decode(&again, &reader), 0, "a piece is read");
    ok(again.job == 7 && again.offset == 1ull << 40 && again.is_end == 1 && again.generation == 9,
       "with its numbers");
    is_uint(ranges_count(&again.places), 3, "its places");
    is_bytes(again.data.data, again.data.length_bytes, "abc", 3, "and its bytes");
    input_piece_fini(&again);
    for (size_t bytes = 1; bytes < message->length_bytes - 3; bytes++) {
        reader = reader_of(message, bytes);
        is_int(input_piece_decode(&again, &reader), -EBADMSG, "not of %zu bytes", bytes);
    }
    reader = reader_of(message, message->length_bytes - 3);
    is_int(input_piece_decode(&again, &reader), 0, "one without bytes");
    input_piece_fini(&again);
    message_release(message);
    ranges_fini(&piece.places);
}

static void refuses(size_t at, unsigned char byte, const char *name)
{
    struct input_piece piece = {.job = 1, .offset = 2}, again;
    struct message *message = input_piece_message(&piece);
    struct wire_reader reader;

    message->data[at] = byte;
    reader = reader_of(message, message->length_bytes);
    is_int(input_piece_decode(&again, &reader), -EBADMSG, "%s", name);
    message_release(message);
}

static void test_limits(void)
{
    char *bytes = calloc(1, INPUT_PIECE_BYTES_MAX + 1);
    struct input_piece piece = {
        .job = 1, .data = {.data = (unsigned char *)bytes, .length_bytes = INPUT_PIECE_BYTES_MAX}};
    struct input_piece again;
    struct message *message = input_piece_message(&piece);
    struct message *longer = message_create_blank(message->length_bytes + 1);
    struct wire_reader reader = reader_of(message, message->length_bytes);

    is_int(input_piece_decode(&again, &reader), 0, "the longest piece is read");
    input_piece_fini(&again);
    for (size_t i = 0; i < longer->length_bytes; i++)
        longer->data[i] = i < message->length_bytes ? message->data[i] : 0;
    reader = reader_of(longer, longer->length_bytes);
    is_int(input_piece_decode(&again, &reader), -EBADMSG, "one that is longer is not");
    message_release(message);
    message_release(longer);
    free(bytes);
    refuses(1, 0, "there is no job 0");
    refuses(13, 2, "the end is 0 or 1");
}

/* The offset cannot wrap. */
static void test_offset(void)
{
    struct input_piece piece = {.job = 1, .offset = UINT64_MAX}, again;
    struct message *message = input_piece_message(&piece);
    struct wire_reader reader = reader_of(message, message->length_bytes);

    is_int(input_piece_decode(&again, &reader), -EBADMSG, "an offset at the end of all numbers");
    message_release(message);
}

int main(void)
{
    test_round_trip();
    test_limits();
    test_offset();
    return done_testing();
}
