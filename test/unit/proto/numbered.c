/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages with numbers on the wire (launch/proto/numbered_wire.c): a round trip, and what is cut short or wrong. */
#include "config.h"

#include "launch/proto/numbered.h"

#include <errno.h>

#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

static void test_both(void)
{
    struct message *inner = message_create("a message", 9);
    struct message *message = numbered_message(FRAME_BULK, 1ull << 40, inner);
    struct message *taken = numbered_taken_message(FRAME_CONTROL, 77, true);
    struct wire_reader reader;
    uint64_t number = 0;
    uint8_t stream = 0;
    bool again = false;

    is_int(message->data[0], JOB_MESSAGE_NUMBERED, "the message has its kind");
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    is_int(numbered_decode(&stream, &number, &reader), 0, "it is read");
    ok(stream == FRAME_BULK && number == 1ull << 40, "with its stream and number");
    is_bytes(reader.position, wire_left(&reader), "a message", 9, "and the message is the same");
    is_int(taken->data[0], JOB_MESSAGE_TAKEN, "so has the answer");
    wire_reader_init(&reader, taken->data + 1, taken->length_bytes - 1);
    is_int(numbered_taken_decode(&stream, &number, &again, &reader), 0, "it is read");
    ok(stream == FRAME_CONTROL && number == 77 && again,
       "says that all is wanted again, and has nothing more");
    for (size_t length = 0; length < taken->length_bytes - 1; length++) {
        wire_reader_init(&reader, taken->data + 1, length);
        is_int(numbered_taken_decode(&stream, &number, &again, &reader), -EBADMSG,
               "not of %zu bytes", length);
    }
    taken->data[1] = NUMBERED_STREAMS;
    wire_reader_init(&reader, taken->data + 1, taken->length_bytes - 1);
    is_int(numbered_taken_decode(&stream, &number, &again, &reader), -EBADMSG,
           "there is no such stream");
    message_release(inner);
    message_release(message);
    message_release(taken);
}

int main(void)
{
    test_both();
    return done_testing();
}
