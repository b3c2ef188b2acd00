/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements (launch/proto/bench_wire.c): what is taken is written as it was read, and can be folded. */
#include "config.h"

#include "launch/proto/bench.h"
#include "launch/proto/exchange_plan.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

#define MEDIANS 3u
#define PLACES  3u

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

/* What is taken is written as it was read. */
static void check_move(const uint8_t *data, size_t data_bytes)
{
    struct bench_move move;
    struct buffer written = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, data_bytes);
    if (bench_move_decode(&move, &reader) > 0) {
        bench_move_encode(&move, &written);
        assert(written.length_bytes - 1 + move.data.length_bytes == data_bytes);
        assert(memcmp(written.data + 1, data, written.length_bytes - 1) == 0);
    }
    buffer_fini(&written);
}

static void check_plan(const uint8_t *data, size_t data_bytes)
{
    struct wire_bytes encoded = {data, data_bytes};
    struct exchange_plan_part parts[PLACES];
    struct buffer written = {0};

    if (exchange_plan_check(encoded, PLACES) < 0)
        return;
    for (uint32_t i = 0; i < PLACES; i++)
        assert(exchange_plan_pick(encoded, PLACES, i, &parts[i]) == 0);
    exchange_plan_encode(parts, PLACES, &written);
    assert(written.length_bytes <= data_bytes &&
           memcmp(written.data, data, written.length_bytes) == 0);
    for (uint32_t i = 0; i < PLACES; i++)
        exchange_plan_part_fini(&parts[i]);
    buffer_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct bench_answer answer;
    struct buffer written = {0};
    struct wire_reader reader;

    check_message(data, data_bytes);
    check_move(data, data_bytes);
    check_plan(data, data_bytes);
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

/* All to all at once. */
static void put_plan(struct buffer *out)
{
    struct exchange_plan_part parts[PLACES] = {{.count = 0}};

    for (uint32_t i = 0; i < PLACES; i++) {
        parts[i].steps = 1;
        for (uint32_t peer = 0; peer < PLACES; peer++) {
            struct exchange_plan_move send = {
                .peer = peer, .first = i, .blocks = 1, .is_send = true};
            struct exchange_plan_move receive = {.peer = peer, .first = peer, .blocks = 1};

            if (peer == i)
                continue;
            exchange_plan_part_add(&parts[i], &send);
            exchange_plan_part_add(&parts[i], &receive);
        }
    }
    exchange_plan_encode(parts, PLACES, out);
    for (uint32_t i = 0; i < PLACES; i++)
        exchange_plan_part_fini(&parts[i]);
}

static void put_move(struct buffer *out)
{
    const struct bench_move move = {.number = 1, .round = 2, .step = 3, .first = 4, .blocks = 5};
    struct buffer whole = {0};

    bench_move_encode(&move, &whole);
    buffer_append(out, whole.data + 1, whole.length_bytes - 1); /* without its kind */
    buffer_fini(&whole);
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
    else if (number == 4)
        put_plan(&sample);
    else if (number == 5)
        put_move(&sample);
    bench_times_fini(&times);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    if (bytes > 0)
        memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
