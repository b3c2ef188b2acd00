/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/bench.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char *const names[BENCH_OPERATION_COUNT] = {
    [BENCH_BARRIER] = "barrier",   [BENCH_BROADCAST] = "broadcast", [BENCH_GATHER] = "gather",
    [BENCH_EXCHANGE] = "exchange", [BENCH_LINKS] = "links",         [BENCH_PLAN] = "plan",
};

const char *bench_operation_name(enum bench_operation operation)
{
    assert(operation < BENCH_OPERATION_COUNT);
    return names[operation];
}

bool bench_operation_find(const char *name, size_t name_bytes, enum bench_operation *ret_operation)
{
    for (int i = 0; i < BENCH_OPERATION_COUNT; i++) {
        if (i != BENCH_PLAN && strlen(names[i]) == name_bytes &&
            memcmp(names[i], name, name_bytes) == 0) {
            *ret_operation = (enum bench_operation)i;
            return true;
        }
    }
    return false;
}

uint64_t bench_operation_bytes(const struct bench_request *what, uint32_t places)
{
    uint64_t bytes = what->size_bytes;

    assert(what->operation < BENCH_OPERATION_COUNT);
    if (what->operation == BENCH_BARRIER)
        return 0;
    if (what->operation == BENCH_BROADCAST)
        return bytes;
    return what->operation == BENCH_LINKS ? 2 * bytes : bytes * places;
}

/* ---- a level ---- */

struct bench_level *bench_level_create(void)
{
    return memory_allocate_zeroed(sizeof(struct bench_level));
}

void bench_level_add(struct bench_level *level, uint32_t place, uint64_t ns)
{
    if (level->times == 0 || ns < level->min_ns)
        level->min_ns = ns;
    if (level->times == 0 || ns > level->max_ns) {
        level->max_ns = ns;
        level->max_place = place;
    }
    level->times++;
    level->buckets[log_buckets_find(ns)]++;
}

static uint64_t clip(const struct bench_level *level, uint64_t ns)
{
    assert(level->min_ns <= level->max_ns);
    if (ns < level->min_ns)
        return level->min_ns;
    return ns > level->max_ns ? level->max_ns : ns;
}

uint64_t bench_level_quantile_ns(const struct bench_level *level, double share)
{
    uint64_t seen = 0;

    if (level->times == 0)
        return 0;
    for (uint32_t i = 0; i < LOG_BUCKETS; i++) {
        seen += level->buckets[i];
        if (level->buckets[i] > 0 && (double)seen >= share * (double)level->times)
            return clip(level, log_buckets_middle(i));
    }
    return level->max_ns;
}

void bench_level_merge(struct bench_level *level, const struct bench_level *other)
{
    if (other->times > 0 && (level->times == 0 || other->min_ns < level->min_ns))
        level->min_ns = other->min_ns;
    if (other->times > 0 && (level->times == 0 || other->max_ns > level->max_ns)) {
        level->max_ns = other->max_ns;
        level->max_place = other->max_place;
    }
    level->places += other->places;
    level->times += other->times;
    for (uint32_t i = 0; i < LOG_BUCKETS; i++)
        level->buckets[i] += other->buckets[i];
}

/* ---- all levels ---- */

void bench_times_fini(struct bench_times *times)
{
    for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++)
        free(times->levels[i]);
    *times = (struct bench_times){.slowest_count = 0};
}

static void put_slowest(struct bench_times *times, const struct bench_slowest *slow)
{
    uint32_t at = times->slowest_count;

    assert(times->slowest_count <= BENCH_SLOWEST_MAX);
    while (at > 0 && times->slowest[at - 1].median_ns < slow->median_ns)
        at--;
    if (at == BENCH_SLOWEST_MAX)
        return;
    if (times->slowest_count < BENCH_SLOWEST_MAX)
        times->slowest_count++;
    memmove(&times->slowest[at + 1], &times->slowest[at],
            (times->slowest_count - at - 1) * sizeof(*slow));
    times->slowest[at] = *slow;
}

void bench_times_put(struct bench_times *times, uint32_t number, uint32_t parent,
                     struct bench_level *level)
{
    struct bench_slowest slow = {.place = level->max_place,
                                 .parent = parent,
                                 .median_ns = bench_level_quantile_ns(level, 0.5),
                                 .max_ns = level->max_ns};

    assert(number < BENCH_LEVELS_MAX && times->levels[number] == NULL);
    level->places = 1;
    times->levels[number] = level;
    if (level->times > 0)
        put_slowest(times, &slow);
}

void bench_times_fold(struct bench_times *times, const struct bench_times *other)
{
    for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++) {
        if (other->levels[i] == NULL)
            continue;
        if (times->levels[i] == NULL)
            times->levels[i] = bench_level_create();
        bench_level_merge(times->levels[i], other->levels[i]);
    }
    for (uint32_t i = 0; i < other->slowest_count; i++)
        put_slowest(times, &other->slowest[i]);
}

static void decode_part(struct bench_times *times, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    if (bench_times_decode(times, &reader) == 0 && wire_finish(&reader) < 0)
        bench_times_fini(times);
}

/* What cannot be read counts as nothing. */
void bench_merge(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct bench_times sum = {.slowest_count = 0}, part = {.slowest_count = 0};

    decode_part(&sum, merged->data, merged->length_bytes);
    decode_part(&part, other, other_bytes);
    bench_times_fold(&sum, &part);
    buffer_clear(merged);
    bench_times_encode(&sum, merged);
    bench_times_fini(&sum);
    bench_times_fini(&part);
}

void bench_answer_fini(struct bench_answer *answer)
{
    free(answer->root_ns);
    bench_times_fini(&answer->times);
    *answer = (struct bench_answer){.radix = 0};
}
