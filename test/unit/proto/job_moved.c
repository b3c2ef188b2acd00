/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of a job that are on another node, on their way: launch/proto/job_moved.h, launch/proto/job_moved_wire.c. */
#include "config.h"

#include "launch/proto/job_moved.h"

#include <errno.h>
#include <stdlib.h>

#include "test/support/tap.h"

static void encode(uint32_t generation, uint32_t moves, uint32_t restart, struct buffer *out)
{
    struct placement_move items[] = {{.from = 3, .to = 9}, {.from = 70000, .to = 10}};
    uint32_t restarts[] = {1, restart};
    struct job_moved message = {.number = 5,
                                .generation = generation,
                                .moves = {.items = items, .count = moves},
                                .restarts = restarts,
                                .restarts_count = 2};

    ranges_add(&message.places, 1, 3);
    ranges_add(&message.places, 10, 11);
    buffer_clear(out);
    job_moved_encode(&message, JOB_MESSAGE_RELAUNCH, out);
    ranges_fini(&message.places);
}

static int decode(struct job_moved *ret_message, const struct buffer *bytes, size_t length_bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, bytes->data, length_bytes);
    if (wire_get_u8(&reader) != JOB_MESSAGE_RELAUNCH)
        return -EBADMSG;
    return job_moved_decode(ret_message, &reader);
}

static void test_good(void)
{
    struct job_moved message;
    struct buffer bytes = {0};

    encode(2, 2, 1000, &bytes);
    is_int(decode(&message, &bytes, bytes.length_bytes), 0, "a message can be read again");
    is_uint(message.number, 5, "job");
    is_uint(message.generation, 2, "generation");
    is_uint(ranges_count(&message.places), 5, "places");
    is_uint(message.moves.count, 2, "moves");
    is_uint(message.moves.items[0].from, 3, "from");
    is_uint(message.moves.items[1].to, 10, "to");
    is_uint(message.restarts_count, 2, "restarts");
    is_uint(message.restarts[1], 1000, "the most there are");
    job_moved_fini(&message);
    for (size_t i = 0; i < bytes.length_bytes; i++)
        if (decode(&message, &bytes, i) == 0) {
            fail("cut after %zu bytes it is read", i);
            job_moved_fini(&message);
        }
    pass("cut anywhere it is refused");
    buffer_fini(&bytes);
}

static void test_bad(void)
{
    struct job_moved message;
    struct buffer bytes = {0};

    encode(2, 0, 1, &bytes);
    is_int(decode(&message, &bytes, bytes.length_bytes), -EBADMSG, "no move");
    encode(2, 1, 1001, &bytes);
    is_int(decode(&message, &bytes, bytes.length_bytes), -EBADMSG,
           "more restarts than there can be");
    encode(2, 1, 1, &bytes);
    bytes.data[1] = 0;
    is_int(decode(&message, &bytes, bytes.length_bytes), -EBADMSG, "no job");
    buffer_fini(&bytes);
}

int main(void)
{
    test_good();
    test_bad();
    return done_testing();
}
