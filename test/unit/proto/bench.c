/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements of the tree, on their way: launch/proto/bench.c and bench_wire.c. */
#include "config.h"

#include "launch/proto/bench.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"
#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

static void test_names(void)
{
    enum bench_operation operation = BENCH_LINKS;
    struct bench_request what = {.operation = BENCH_EXCHANGE, .size_bytes = 10};

    ok(bench_operation_find("gather,", 6, &operation) && operation == BENCH_GATHER, "by its name");
    ok(!bench_operation_find("gat", 3, &operation), "the whole name");
    is_uint(bench_operation_bytes(&what, 5), 50, "an exchange brings what all have");
    what.operation = BENCH_BROADCAST;
    is_uint(bench_operation_bytes(&what, 5), 10, "a broadcast what the root has");
    what.operation = BENCH_LINKS;
    is_uint(bench_operation_bytes(&what, 5), 20, "a link there and back");
    what.operation = BENCH_BARRIER;
    is_uint(bench_operation_bytes(&what, 5), 0, "a barrier nothing");
}

static void test_level(void)
{
    struct bench_level *level = bench_level_create(), *other = bench_level_create();

    is_uint(bench_level_quantile_ns(level, 0.5), 0, "no times");
    for (uint64_t ns = 1000; ns <= 100000; ns += 1000)
        bench_level_add(level, 3, ns);
    is_uint(level->times, 100, "a hundred times");
    is_uint(level->min_ns, 1000, "shortest");
    is_uint(level->max_ns, 100000, "longest");
    ok(bench_level_quantile_ns(level, 0.5) > 46000 && bench_level_quantile_ns(level, 0.5) < 54000,
       "the median within 1/16");
    is_uint(bench_level_quantile_ns(level, 1), 100000, "the last is exact");
    bench_level_add(other, 9, 500);
    bench_level_add(other, 9, 200000);
    bench_level_merge(level, other);
    is_uint(level->times, 102, "two more");
    is_uint(level->min_ns, 500, "shortest of both");
    is_uint(level->max_ns, 200000, "longest of both");
    is_uint(level->max_place, 9, "and where that was");
    free(level);
    free(other);
}

static void put(struct buffer *merged, uint32_t number, uint32_t place, uint64_t ns)
{
    struct bench_times times = {.slowest_count = 0};
    struct bench_level *level = bench_level_create();
    struct buffer part = {0};

    bench_level_add(level, place, ns);
    bench_times_put(&times, number, place / 2, level);
    bench_times_encode(&times, &part);
    bench_merge(merged, part.data, part.length_bytes);
    bench_times_fini(&times);
    buffer_fini(&part);
}

static int take(struct bench_times *ret_times, const void *data, size_t bytes)
{
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, data, bytes);
    rc = bench_times_decode(ret_times, &reader);
    if (rc == 0 && wire_finish(&reader) < 0) {
        bench_times_fini(ret_times);
        return -EBADMSG;
    }
    return rc;
}

static void test_merge(void)
{
    struct buffer merged = {0};
    struct bench_times times;

    put(&merged, 0, 0, 70);
    for (uint32_t place = 1; place <= 12; place++)
        put(&merged, 1 + place % 2, place, 100 * place);
    bench_merge(&merged, "\377\377", 2);
    is_int(take(&times, merged.data, merged.length_bytes), 0, "thirteen places, folded");
    is_uint(times.levels[0]->places, 1, "one is the root");
    is_uint(times.levels[1]->places, 6, "six on level 1");
    is_uint(times.levels[2]->times, 6, "and six times on level 2");
    ok(times.levels[3] == NULL, "there is no level 3");
    is_uint(times.slowest_count, BENCH_SLOWEST_MAX, "no more than some are named");
    is_uint(times.slowest[0].place, 12, "the slowest first");
    is_uint(times.slowest[0].parent, 6, "with its parent");
    is_uint(times.slowest[7].place, 5, "the eighth last");
    bench_times_fini(&times);
    for (size_t bytes = 0; bytes < merged.length_bytes; bytes++)
        if (take(&times, merged.data, bytes) != -EBADMSG)
            fail("%zu bytes are taken for all", bytes);
    is_int(take(&times, "\1\33\1\1\1\0\0\0", 8), -EBADMSG, "no tree is that deep");
    is_int(take(&times, "\2\0\1\1\1\0\0\0\1\1\1\0\0\0", 14), -EBADMSG, "a level comes once");
    is_int(take(&times, "\1\0\1\2\1\0\0\0", 8), -EBADMSG, "the longest is not the shortest");
    buffer_fini(&merged);
}

static void test_request(void)
{
    struct bench_request what = {
        .operation = BENCH_GATHER, .size_bytes = 8, .warm_up = 0, .repeat = 3};
    struct bench_request got = {.repeat = 0};
    struct buffer out = {0};
    struct wire_reader reader;

    bench_request_encode(&what, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(bench_request_decode(&got, &reader), 0, "a request arrives");
    ok(got.operation == BENCH_GATHER && got.size_bytes == 8 && got.repeat == 3, "as it was");
    out.data[0] = BENCH_OPERATION_COUNT;
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(bench_request_decode(&got, &reader), -EBADMSG, "there is no such operation");
    buffer_clear(&out);
    what.repeat = 0;
    bench_request_encode(&what, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(bench_request_decode(&got, &reader), -EBADMSG, "of a client, not never");
    buffer_clear(&out);
    what.size_bytes = BENCH_SIZE_MAX + 1;
    bench_request_encode(&what, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(bench_request_decode(&got, &reader), -EBADMSG, "nor that large");
    buffer_fini(&out);
}

static void test_messages(void)
{
    struct bench_order order = {.number = 5, .what = {.operation = BENCH_LINKS, .repeat = 9}}, got;
    struct message *message, *data = bench_data_message(6, 100);
    struct wire_reader reader;
    uint32_t number = 0;

    ranges_add(&order.places, 0, 4);
    message = bench_order_message(&order);
    is_uint(message->data[0], JOB_MESSAGE_BENCH, "an order has its kind");
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 1);
    is_int(bench_message_decode(&reader, &got, &number), 1, "it is one");
    is_uint(got.number, 5, "its number");
    ok(ranges_equal(&got.places, &order.places) && got.what.repeat == 9, "its content");
    ranges_fini(&got.places);
    wire_reader_init(&reader, message->data + 1, message->length_bytes - 2);
    is_int(bench_message_decode(&reader, &got, &number), -EBADMSG, "but not a part of it");
    wire_reader_init(&reader, data->data + 1, data->length_bytes - 1);
    is_int(bench_message_decode(&reader, &got, &number), 0, "data are none");
    is_uint(number, 6, "they have a number, too");
    is_uint(wire_left(&reader), 100, "and bytes");
    wire_reader_init(&reader, "\2\1\0\0\0", 5);
    is_int(bench_message_decode(&reader, &got, &number), -EBADMSG, "there is no third");
    ranges_fini(&order.places);
    message_release(message);
    message_release(data);
}

static void test_answer(void)
{
    struct bench_answer answer = {.radix = 3, .places = 9, .root_count = 2}, got;
    struct buffer out = {0};
    struct wire_reader reader;

    answer.root_ns = memory_allocate_zeroed(2 * sizeof(*answer.root_ns));
    answer.root_ns[1] = 1234567;
    bench_answer_encode(&answer, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(bench_answer_decode(&got, &reader), 0, "an answer arrives");
    ok(got.radix == 3 && got.places == 9 && got.root_count == 2, "as it was");
    is_uint(got.root_ns[1], 1234567, "with its times");
    bench_answer_fini(&got);
    for (size_t bytes = 0; bytes < out.length_bytes; bytes++) {
        wire_reader_init(&reader, out.data, bytes);
        if (bench_answer_decode(&got, &reader) != -EBADMSG)
            fail("%zu bytes are taken for all", bytes);
    }
    bench_answer_fini(&answer);
    buffer_fini(&out);
}

static void test_medians(void)
{
    const uint64_t medians_ns[] = {7, UINT64_MAX};
    uint64_t got_ns[2] = {1, 2};
    struct buffer out = {0};
    struct wire_reader reader;

    bench_medians_encode(medians_ns, 2, &out);
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(bench_medians_decode(got_ns, 1, &reader), -EBADMSG, "medians of more measurements");
    for (size_t bytes = 0; bytes < out.length_bytes; bytes++) {
        wire_reader_init(&reader, out.data, bytes);
        if (bench_medians_decode(got_ns, 2, &reader) != -EBADMSG)
            fail("%zu bytes are taken for all", bytes);
    }
    ok(got_ns[0] == 1 && got_ns[1] == 2, "nothing is taken then");
    wire_reader_init(&reader, out.data, out.length_bytes);
    is_int(bench_medians_decode(got_ns, 2, &reader), 0, "medians of two measurements");
    ok(got_ns[0] == 7 && got_ns[1] == UINT64_MAX, "as they were");
    buffer_fini(&out);
}

int main(void)
{
    test_names();
    test_level();
    test_merge();
    test_request();
    test_messages();
    test_answer();
    test_medians();
    return done_testing();
}
