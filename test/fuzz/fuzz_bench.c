/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements (launch/proto/bench_wire.c): what is taken is written as it was read, and can be folded. */
#include "config.h"

#include "launch/proto/bench.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

#define MEDIANS 3u

static void check_message(const uint8_t *data, size_t data_bytes)
{
    struct bench_order order;
    struct bench_request request;
    struct wire_reader reader;
    uint64_t medians_ns[MEDIANS];
    uint32_t number;

    wire_reader_init(&reader, data, data_bytes);
    if (bench_message_decode(&reader, &order, &number) > 0) {
        assert(order.number == number);
        ranges_fini(&order.places);
    }
    wire_reader_init(&reader, data, data_bytes);
    if (bench_medians_decode(medians_ns, MEDIANS, &reader) == 0)
        assert(data_bytes == sizeof(uint32_t) + sizeof(medians_ns));
    wire_reader_init(&reader, data, data_bytes);
    if (bench_request_decode(&request, &reader) == 0)
        assert(request.repeat > 0 && request.operation < BENCH_OPERATION_COUNT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct bench_answer answer;
    struct buffer written = {0};
    struct wire_reader reader;

    check_message(data, data_bytes);
    bench_merge(&written, data, data_bytes);
    bench_merge(&written, data, data_bytes);
    buffer_clear(&written);
    wire_reader_init(&reader, data, data_bytes);
    if (bench_answer_decode(&answer, &reader) == 0) {
        for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++)
            if (answer.times.levels[i] != NULL)
                (void)bench_level_quantile_ns(answer.times.levels[i], 0.5);
        bench_answer_encode(&answer, &written);
        assert(written.length_bytes <= data_bytes);
        bench_answer_fini(&answer);
    }
    buffer_fini(&written);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    const struct bench_request request = {.operation = BENCH_GATHER, .repeat = 9};
    const uint64_t medians_ns[MEDIANS] = {1, 2, 3};
    struct bench_times times = {.slowest_count = 0};
    struct bench_answer answer = {.radix = 2, .places = 3};
    struct bench_level *level = bench_level_create();
    struct buffer sample = {0};
    size_t bytes;

    if (number == 0)
        bench_request_encode(&request, &sample);
    bench_level_add(level, 3, 1000);
    bench_times_put(&times, 1, 2, level);
    answer.times = times;
    if (number == 1)
        bench_times_encode(&times, &sample);
    else if (number == 2)
        bench_answer_encode(&answer, &sample);
    else if (number == 3)
        bench_medians_encode(medians_ns, MEDIANS, &sample);
    bench_times_fini(&times);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    if (bytes > 0)
        memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
