/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a job is, on its way: launch/proto/progress_wire.c. */
#include "config.h"

#include "launch/proto/progress.h"

#include <errno.h>

#include "test/support/tap.h"

static int take(const void *data, size_t bytes)
{
    struct progress progress;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    return progress_decode(&progress, &reader);
}

static void test_answer(void)
{
    const struct progress sent = {.phase = PROGRESS_PROCESSES,
                                  .nodes = 300,
                                  .nodes_up = 299,
                                  .processes = 4000,
                                  .count = {.started = 3000, .connected = 20}};
    struct progress got;
    struct wire_reader reader;
    struct buffer packed = {0};

    progress_encode(&sent, &packed);
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++)
        if (take(packed.data, bytes) != -EBADMSG)
            fail("%zu bytes are taken for all", bytes);
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_int(progress_decode(&got, &reader), 0, "it arrives");
    is_int(got.phase, PROGRESS_PROCESSES, "phase");
    is_uint(got.nodes, 300, "nodes");
    is_uint(got.nodes_up, 299, "nodes up");
    is_uint(got.processes, 4000, "processes");
    is_uint(got.count.started, 3000, "started");
    is_uint(got.count.connected, 20, "connected");
    packed.data[0] = PROGRESS_PHASE_COUNT;
    is_int(take(packed.data, packed.length_bytes), -EBADMSG, "no phase like that");
    is_int(take("\2\3\4\5\1\1", 6), -EBADMSG, "more nodes up than there are");
    is_int(take("\2\3\3\5\6\1", 6), -EBADMSG, "more processes started than there are");
    is_int(take("\2\3\3\5\1\2", 6), -EBADMSG, "more connected than started");
    is_int(take("\2\3\3\5\5\5", 6), 0, "all of them");
    buffer_fini(&packed);
}

static void test_order(void)
{
    struct buffer packed = {0};
    struct wire_reader reader;
    struct message *order = progress_order_message(7, 3);
    uint32_t job = 0, generation = 0;

    wire_reader_init(&reader, order->data + 1, order->length_bytes - 1);
    is_int(progress_decode_order(&reader, &job, &generation), 0, "an order arrives");
    is_uint(job, 7, "job");
    is_uint(generation, 3, "generation");
    wire_reader_init(&reader, "\7\0\0\0\0\0\0\0", 8);
    is_int(progress_decode_order(&reader, &job, &generation), -EBADMSG, "none without a number");
    message_release(order);
    progress_encode_request(9, &packed);
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_uint(progress_decode_request(&reader), 9, "a question");
    wire_reader_init(&reader, packed.data, packed.length_bytes - 1);
    is_uint(progress_decode_request(&reader), 0, "or none");
    buffer_fini(&packed);
}

static void merge(struct buffer *merged, uint64_t started, uint64_t connected)
{
    struct buffer part = {0};

    progress_encode_count(&(struct progress_count){started, connected}, &part);
    progress_merge(merged, part.data, part.length_bytes);
    buffer_fini(&part);
}

static void is_count(const struct buffer *merged, uint64_t started, uint64_t connected,
                     const char *name)
{
    struct progress_count count = {0};

    is_int(progress_decode_count(&count, merged->data, merged->length_bytes), 0, "%s", name);
    is_uint(count.started, started, "started");
    is_uint(count.connected, connected, "connected");
}

static void test_merge(void)
{
    struct buffer merged = {0};

    merge(&merged, 3, 1);
    merge(&merged, 4, 4);
    is_count(&merged, 7, 5, "the sum of two nodes");
    progress_merge(&merged, "\1\2", 2);
    is_count(&merged, 7, 5, "what cannot be is left out");
    merge(&merged, UINT32_MAX, 0);
    is_count(&merged, 7, 5, "likewise what is too much");
    buffer_fini(&merged);
}

int main(void)
{
    test_answer();
    test_order();
    test_merge();
    return done_testing();
}
