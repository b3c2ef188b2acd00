/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of input for each process (launch/proto/feed_wire.c): a round trip, and all that is cut short. */
#include "config.h"

#include "launch/proto/feed.h"

#include <errno.h>
#include <string.h>

#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

static struct wire_reader reader_of(const struct buffer *bytes, size_t length)
{
    struct wire_reader reader;

    wire_reader_init(&reader, bytes->data, length);
    return reader;
}

static void test_feed(void)
{
    const struct feed feed = {
        .job = 7, .rank = 3, .data = {.data = (const unsigned char *)"abc", .length_bytes = 3}};
    struct feed again = {.job = 0};
    struct buffer bytes = {0};
    struct message *message = feed_message(&feed);
    struct wire_reader reader;

    feed_encode(&feed, &bytes);
    ok(message->length_bytes == bytes.length_bytes + 1 && message->data[0] == JOB_MESSAGE_FEED &&
           memcmp(message->data + 1, bytes.data, bytes.length_bytes) == 0,
       "a message to a node has its kind and the same form");
    message_release(message);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(feed_decode(&again, &reader), 0, "input is read");
    ok(again.job == 7 && again.rank == 3, "for the same process");
    is_bytes(again.data.data, again.data.length_bytes, "abc", 3, "the same bytes");
    for (size_t length = 0; length < 8; length++) {
        reader = reader_of(&bytes, length);
        is_int(feed_decode(&again, &reader), -EBADMSG, "not of %zu bytes", length);
    }
    reader = reader_of(&bytes, 8);
    is_int(feed_decode(&again, &reader), 0, "the end of its input");
    is_uint(again.data.length_bytes, 0, "has no bytes");
    memset(bytes.data, 0, 4);
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(feed_decode(&again, &reader), -EBADMSG, "there is no job 0");
    buffer_fini(&bytes);
}

static void test_end(void)
{
    const struct feed_end end = {.job = 7, .rank = 3};
    struct feed_end again = {.job = 0};
    struct buffer bytes = {0};
    struct message *message = feed_end_message(&end);
    struct wire_reader reader;

    feed_end_encode(&end, &bytes);
    ok(message->length_bytes == bytes.length_bytes + 1 && message->data[0] == JOB_MESSAGE_FEED_END,
       "a message to the root has its kind");
    message_release(message);
    for (size_t length = 0; length <= bytes.length_bytes; length++) {
        reader = reader_of(&bytes, length);
        is_int(feed_end_decode(&again, &reader), length == bytes.length_bytes ? 0 : -EBADMSG,
               "an end of %zu bytes", length);
    }
    ok(again.job == 7 && again.rank == 3, "is that of the same process");
    buffer_fini(&bytes);
}

static void test_lost(void)
{
    struct ranges places = {0}, again;
    struct buffer bytes = {0}, text = {0};
    struct wire_reader reader;
    uint32_t job = 0;

    ranges_add(&places, 2, 4);
    ranges_add(&places, 9, 9);
    feed_lost_encode(7, &places, &bytes);
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        reader = reader_of(&bytes, length);
        is_int(feed_lost_decode(&job, &again, &reader), -EBADMSG, "no loss in %zu bytes", length);
    }
    reader = reader_of(&bytes, bytes.length_bytes);
    is_int(feed_lost_decode(&job, &again, &reader), 0, "a loss is read");
    ranges_print(&again, &text);
    is_string(buffer_string(&text), "2-4,9", "the same places");
    is_uint(job, 7, "of the same job");
    ranges_fini(&places);
    ranges_fini(&again);
    buffer_fini(&bytes);
    buffer_fini(&text);
}

int main(void)
{
    test_feed();
    test_end();
    test_lost();
    return done_testing();
}
