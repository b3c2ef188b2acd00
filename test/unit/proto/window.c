/* SPDX-License-Identifier: BSD-3-Clause */
/* The size of a terminal on the wire (launch/proto/window_wire.c): a round trip, and what is cut short or too long. */
#include "config.h"

#include "launch/proto/window.h"

#include <errno.h>

#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

int main(void)
{
    const struct window window = {.rows = 24, .columns = 65535};
    struct message *message = window_message(7, &window);
    struct message *no_job = window_message(1, &window);
    struct window again = {0};
    struct wire_reader reader;
    struct buffer bytes = {0};
    uint32_t job = 0;

    is_int(message->data[0], JOB_MESSAGE_WINDOW, "the message has its kind");
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    is_int(window_decode(&job, &again, &reader), 0, "it is read");
    ok(job == 7 && again.rows == 24 && again.columns == 65535, "and is the same");
    for (size_t length = 1; length < message->length_bytes; length++) {
        wire_reader_init(&reader, message->data + 1, length - 1);
        is_int(window_decode(&job, &again, &reader), -EBADMSG, "not of %zu bytes", length);
    }
    wire_reader_init(&reader, message->data, message->length_bytes);
    is_int(window_decode(&job, &again, &reader), -EBADMSG, "nor of one too many");
    no_job->data[1] = 0;
    wire_reader_init(&reader, no_job->data + 1, no_job->length_bytes - 1);
    is_int(window_decode(&job, &again, &reader), -EBADMSG, "there is no job 0");
    window_encode(&window, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    window_get(&reader, &again);
    is_int(wire_finish(&reader), 0, "a client's has nothing more");
    message_release(message);
    message_release(no_job);
    buffer_fini(&bytes);
    return done_testing();
}
