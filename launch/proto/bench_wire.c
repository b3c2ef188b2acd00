/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/bench.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "launch/proto/exchange_plan.h"
#include "launch/proto/job_wire.h"

#define RANGES_MAX (1u << 20)

enum bench_part { BENCH_PART_ORDER, BENCH_PART_DATA, BENCH_PART_MOVE, BENCH_PART_WRONG };

/* ---- requests and orders ---- */

void bench_request_encode(const struct bench_request *request, struct buffer *out)
{
    assert(request->operation < BENCH_OPERATION_COUNT);
    wire_put_u8(out, request->operation);
    wire_put_u32(out, request->size_bytes);
    wire_put_u32(out, request->warm_up);
    wire_put_u32(out, request->repeat);
    wire_put_u32(out, request->nodes);
    if (request->operation == BENCH_PLAN)
        wire_put_bytes(out, request->plan.data, request->plan.length_bytes);
}

static struct bench_request get_request(struct wire_reader *reader)
{
    struct bench_request request = {.operation = wire_get_u8(reader)};

    request.size_bytes = wire_get_u32(reader);
    request.warm_up = wire_get_u32(reader);
    request.repeat = wire_get_u32(reader);
    request.nodes = wire_get_u32(reader);
    if (request.operation == BENCH_PLAN)
        request.plan = wire_get_bytes(reader, EXCHANGE_PLAN_BYTES_MAX);
    if (request.operation >= BENCH_OPERATION_COUNT || request.size_bytes > BENCH_SIZE_MAX ||
        request.warm_up > BENCH_REPEAT_MAX || request.repeat > BENCH_REPEAT_MAX)
        wire_fail(reader);
    return request;
}

int bench_request_decode(struct bench_request *ret_request, struct wire_reader *reader)
{
    struct bench_request request = get_request(reader);

    if (wire_finish(reader) < 0 || request.repeat == 0)
        return -EBADMSG;
    *ret_request = request;
    return 0;
}

struct message *bench_order_message(const struct bench_order *order)
{
    struct buffer out = {0};
    struct message *message;

    wire_put_u8(&out, JOB_MESSAGE_BENCH);
    wire_put_u8(&out, BENCH_PART_ORDER);
    wire_put_u32(&out, order->number);
    bench_request_encode(&order->what, &out);
    ranges_encode(&order->places, &out);
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

struct message *bench_data_message(uint32_t number, uint32_t bytes)
{
    struct buffer out = {0};
    struct message *message;

    assert(bytes <= BENCH_SIZE_MAX);
    wire_put_u8(&out, JOB_MESSAGE_BENCH);
    wire_put_u8(&out, BENCH_PART_DATA);
    wire_put_u32(&out, number);
    memset(buffer_reserve(&out, bytes), 'b', bytes);
    buffer_commit(&out, bytes);
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

int bench_message_decode(struct wire_reader *reader, struct bench_order *ret_order,
                         uint32_t *ret_number)
{
    struct bench_order order = {.number = 0};
    uint8_t part = wire_get_u8(reader);

    order.number = wire_get_u32(reader);
    if (wire_status(reader) < 0 || part > BENCH_PART_DATA)
        return -EBADMSG;
    *ret_number = order.number;
    if (part == BENCH_PART_DATA)
        return 0;
    order.what = get_request(reader);
    ranges_decode(reader, RANGES_MAX, &order.places);
    if (wire_finish(reader) < 0) {
        ranges_fini(&order.places);
        return -EBADMSG;
    }
    *ret_order = order;
    return 1;
}

/* ---- moves ---- */

static void put_head(struct buffer *out, enum bench_part part, uint32_t number)
{
    wire_put_u8(out, JOB_MESSAGE_BENCH);
    wire_put_u8(out, (uint8_t)part);
    wire_put_u32(out, number);
}

void bench_move_encode(const struct bench_move *move, struct buffer *out)
{
    assert(move->blocks > 0);
    put_head(out, BENCH_PART_MOVE, move->number);
    wire_put_varint(out, move->round);
    wire_put_varint(out, move->step);
    wire_put_varint(out, move->first);
    wire_put_varint(out, move->blocks);
}

struct message *bench_wrong_message(uint32_t number)
{
    struct buffer out = {0};
    struct message *message;

    put_head(&out, BENCH_PART_WRONG, number);
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

int bench_move_decode(struct bench_move *ret_move, struct wire_reader *reader)
{
    uint8_t part = wire_get_u8(reader);
    struct bench_move move = {.number = wire_get_u32(reader)};

    if (part == BENCH_PART_WRONG && wire_finish(reader) == 0) {
        *ret_move = move;
        return 0;
    }
    move.round = (uint32_t)wire_get_varint_max(reader, 2 * BENCH_REPEAT_MAX);
    move.step = (uint32_t)wire_get_varint_max(reader, EXCHANGE_PLAN_STEPS_MAX - 1);
    move.first = (uint32_t)wire_get_varint_max(reader, EXCHANGE_PLAN_PLACES_MAX - 1);
    move.blocks = (uint32_t)wire_get_varint_max(reader, EXCHANGE_PLAN_PLACES_MAX);
    if (wire_status(reader) < 0 || part != BENCH_PART_MOVE || move.blocks == 0)
        return -EBADMSG;
    move.data = (struct wire_bytes){reader->position, wire_left(reader)};
    *ret_move = move;
    return 1;
}

/* ---- times ---- */

static void put_level(struct buffer *out, uint32_t number, const struct bench_level *level)
{
    uint32_t used = 0, last = 0;

    wire_put_varint(out, number);
    wire_put_varint(out, level->places);
    wire_put_varint(out, level->min_ns);
    wire_put_varint(out, level->max_ns);
    wire_put_varint(out, level->max_place);
    for (uint32_t i = 0; i < LOG_BUCKETS; i++)
        used += level->buckets[i] > 0;
    wire_put_varint(out, used);
    for (uint32_t i = 0; i < LOG_BUCKETS; i++) {
        if (level->buckets[i] == 0)
            continue;
        wire_put_varint(out, i - last);
        wire_put_varint(out, level->buckets[i]);
        last = i;
    }
}

/* Buckets come in their order. */
static void get_buckets(struct wire_reader *reader, struct bench_level *level)
{
    uint32_t used = (uint32_t)wire_get_varint_max(reader, LOG_BUCKETS);
    uint64_t bucket = 0;

    for (uint32_t i = 0; i < used && wire_status(reader) == 0; i++) {
        uint64_t step = wire_get_varint_max(reader, LOG_BUCKETS);

        bucket += step;
        if (bucket >= LOG_BUCKETS || (i > 0 && step == 0)) {
            wire_fail(reader);
            return;
        }
        level->buckets[bucket] = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        level->times += level->buckets[bucket];
        if (level->buckets[bucket] == 0)
            wire_fail(reader);
    }
}

static void get_level(struct wire_reader *reader, struct bench_times *times)
{
    uint32_t number = (uint32_t)wire_get_varint_max(reader, BENCH_LEVELS_MAX - 1);
    struct bench_level *level;

    if (wire_status(reader) < 0 || times->levels[number] != NULL) {
        wire_fail(reader);
        return;
    }
    level = times->levels[number] = bench_level_create();
    level->places = wire_get_varint_max(reader, UINT32_MAX);
    level->min_ns = wire_get_varint(reader);
    level->max_ns = wire_get_varint(reader);
    level->max_place = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    if (level->min_ns > level->max_ns)
        wire_fail(reader);
    get_buckets(reader, level);
}

void bench_times_encode(const struct bench_times *times, struct buffer *out)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++)
        count += times->levels[i] != NULL;
    wire_put_varint(out, count);
    for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++) {
        if (times->levels[i] != NULL)
            put_level(out, i, times->levels[i]);
    }
    assert(times->slowest_count <= BENCH_SLOWEST_MAX);
    wire_put_varint(out, times->slowest_count);
    for (uint32_t i = 0; i < times->slowest_count; i++) {
        wire_put_varint(out, times->slowest[i].place);
        wire_put_varint(out, times->slowest[i].parent);
        wire_put_varint(out, times->slowest[i].median_ns);
        wire_put_varint(out, times->slowest[i].max_ns);
    }
}

static void get_slowest(struct wire_reader *reader, struct bench_times *times)
{
    times->slowest_count = (uint32_t)wire_get_varint_max(reader, BENCH_SLOWEST_MAX);
    for (uint32_t i = 0; i < times->slowest_count; i++) {
        struct bench_slowest *slow = &times->slowest[i];

        slow->place = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        slow->parent = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        slow->median_ns = wire_get_varint(reader);
        slow->max_ns = wire_get_varint(reader);
        if (i > 0 && slow->median_ns > times->slowest[i - 1].median_ns)
            wire_fail(reader);
    }
}

int bench_times_decode(struct bench_times *ret_times, struct wire_reader *reader)
{
    struct bench_times times = {.slowest_count = 0};
    uint32_t count = (uint32_t)wire_get_varint_max(reader, BENCH_LEVELS_MAX);

    for (uint32_t i = 0; i < count && wire_status(reader) == 0; i++)
        get_level(reader, &times);
    get_slowest(reader, &times);
    if (wire_status(reader) < 0) {
        bench_times_fini(&times);
        return -EBADMSG;
    }
    *ret_times = times;
    return 0;
}

/* ---- the answer ---- */

void bench_answer_encode(const struct bench_answer *answer, struct buffer *out)
{
    wire_put_u32(out, answer->radix);
    wire_put_u32(out, answer->places);
    wire_put_varint(out, answer->root_count);
    for (uint32_t i = 0; i < answer->root_count; i++)
        wire_put_varint(out, answer->root_ns[i]);
    bench_times_encode(&answer->times, out);
}

int bench_answer_decode(struct bench_answer *ret_answer, struct wire_reader *reader)
{
    struct bench_answer answer = {.radix = wire_get_u32(reader)};

    answer.places = wire_get_u32(reader);
    answer.root_count = (uint32_t)wire_get_varint_max(reader, BENCH_REPEAT_MAX);
    if (answer.root_count > wire_left(reader)) /* a byte each, at least */
        return -EBADMSG;
    answer.root_ns = memory_allocate_zeroed((answer.root_count + 1) * sizeof(*answer.root_ns));
    for (uint32_t i = 0; i < answer.root_count; i++)
        answer.root_ns[i] = wire_get_varint(reader);
    if (bench_times_decode(&answer.times, reader) < 0 || wire_finish(reader) < 0) {
        bench_answer_fini(&answer);
        return -EBADMSG;
    }
    *ret_answer = answer;
    return 0;
}

/* ---- of the clients of PMIx ---- */

void bench_medians_encode(const uint64_t *medians_ns, uint32_t count, struct buffer *out)
{
    wire_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++)
        wire_put_u64(out, medians_ns[i]);
}

int bench_medians_decode(uint64_t *ret_medians_ns, uint32_t count, struct wire_reader *reader)
{
    if (wire_get_u32(reader) != count || wire_left(reader) != (size_t)count * sizeof(uint64_t))
        return -EBADMSG;
    for (uint32_t i = 0; i < count; i++)
        ret_medians_ns[i] = wire_get_u64(reader);
    return wire_finish(reader);
}
