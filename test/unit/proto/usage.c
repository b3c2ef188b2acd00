/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What processes have used: folded, merged, printed and on its way: launch/proto/usage.c and launch/proto/usage_wire.c.
 */
#include "config.h"

#include "launch/proto/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "test/support/tap.h"

#define RANKS 1001u

static int decode(struct usage *ret_usage, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    usage_decode(&reader, ret_usage);
    return wire_finish(&reader);
}

static void add(struct usage *usage, uint32_t rank, uint64_t value)
{
    struct usage_rank what;

    for (uint32_t i = 0; i < USAGE_KIND_COUNT; i++)
        what.values[i] = value;
    usage_add(usage, rank, &what);
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return left < right ? -1 : left > right;
}

/* Values of all magnitudes, in parts as nodes have them, against the sorted list of all. */
static void check_random(uint64_t seed)
{
    struct usage *sum = memory_allocate_zeroed(sizeof(*sum));
    struct random_state random;
    uint64_t values[RANKS], sorted[RANKS], median, right;
    const struct usage_fold *fold = &sum->folds[USAGE_MEMORY_BYTES];

    random_init(&random, seed);
    for (uint32_t rank = 0; rank < RANKS;) {
        struct usage *part = memory_allocate_zeroed(sizeof(*part));
        uint32_t end = rank + 1 + (uint32_t)random_below(&random, 40);

        for (; rank < end && rank < RANKS; rank++) {
            values[rank] = random_next(&random) >> random_below(&random, 64);
            add(part, rank, values[rank]);
        }
        usage_merge(sum, part);
        free(part);
    }
    memcpy(sorted, values, sizeof(values));
    qsort(sorted, RANKS, sizeof(sorted[0]), compare);
    ok(sum->ranks == RANKS && fold->least == sorted[0] && fold->most == sorted[RANKS - 1],
       "seed %llu: all are counted, least and most are exact", (unsigned long long)seed);
    ok(values[fold->least_rank] == sorted[0] && values[fold->most_rank] == sorted[RANKS - 1],
       "with ranks that have them");
    right = sorted[RANKS / 2];
    median = usage_median(sum, USAGE_MEMORY_BYTES);
    ok((median > right ? median - right : right - median) <= right / 14,
       "the median %llu is near %llu", (unsigned long long)median, (unsigned long long)right);
    free(sum);
}

static void check_few(void)
{
    struct usage *usage = memory_allocate_zeroed(sizeof(*usage));
    struct usage *none = memory_allocate_zeroed(sizeof(*none));

    add(usage, 7, 1000003);
    is_uint(usage_median(usage, USAGE_USER_US), 1000003, "the median of one is exact");
    add(usage, 3, 1000003);
    is_uint(usage->folds[0].least_rank, 3, "of equal values the lowest rank is named");
    is_uint(usage->folds[0].most_rank, 3, "for the most, too");
    usage_merge(usage, none);
    is_uint(usage->ranks, 2, "who has nobody changes nothing");
    add(usage, 9, 0);
    add(usage, 10, UINT64_MAX);
    is_uint(usage->folds[0].least, 0, "the least of all values");
    is_uint(usage->folds[0].most, UINT64_MAX, "and the most");
    usage_merge(none, usage);
    is_uint(none->folds[0].least_rank, 9, "into an empty one it is copied");
    free(usage);
    free(none);
}

static void check_wire(void)
{
    struct usage *usage = memory_allocate_zeroed(sizeof(*usage));
    struct usage *back = memory_allocate_zeroed(sizeof(*back));
    struct buffer bytes = {0};
    int refused = 1;

    usage_encode(usage, &bytes);
    ok(decode(back, bytes.data, bytes.length_bytes) < 0, "of nobody nothing is sent");
    buffer_clear(&bytes);
    for (uint32_t rank = 0; rank < 64; rank++)
        add(usage, rank, (uint64_t)1 << rank);
    usage_encode(usage, &bytes);
    for (size_t cut = 0; cut < bytes.length_bytes; cut++)
        refused &= decode(back, bytes.data, cut) < 0;
    ok(refused, "cut anywhere it is refused");
    is_int(decode(back, bytes.data, bytes.length_bytes), 0, "whole it comes back");
    ok(memcmp(usage, back, sizeof(*usage)) == 0, "as it was");
    ((unsigned char *)bytes.data)[0]++;
    ok(decode(back, bytes.data, bytes.length_bytes) < 0, "more ranks than are in its ranges");
    usage->folds[1].counts[USAGE_RANGES - 1]++;
    buffer_clear(&bytes);
    usage_encode(usage, &bytes);
    ok(decode(back, bytes.data, bytes.length_bytes) < 0, "and fewer are refused");
    buffer_fini(&bytes);
    free(usage);
    free(back);
}

static void check_table(void)
{
    static const char table[] =
        "3 ranks                  least (rank)            median          most (rank)\n"
        "CPU, user              0.002 s (1)              1.507 s      75.250 s (12)\n"
        "CPU, system            0.000 s (0)              0.000 s       0.000 s (0)\n"
        "memory, most           1.0 MiB (0)              1.1 MiB       3.5 GiB (12)\n"
        "storage, read          0.0 KiB (0)              0.0 KiB       0.5 KiB (1)\n"
        "storage, written       0.0 KiB (0)              0.0 KiB       0.0 KiB (0)";
    static const uint64_t megabyte = 1024 * 1024;
    struct usage *usage = memory_allocate_zeroed(sizeof(*usage));
    struct buffer out = {0};

    usage_add(usage, 0, &(struct usage_rank){{1500000, 0, megabyte, 0, 0}});
    usage_add(usage, 1, &(struct usage_rank){{2000, 0, megabyte, 512, 0}});
    usage_add(usage, 12, &(struct usage_rank){{75250000, 0, 3584 * megabyte, 0, 0}});
    usage_print(usage, &out);
    is_string(buffer_string(&out), table, "a table");
    buffer_fini(&out);
    free(usage);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        check_random(seed);
    check_few();
    check_wire();
    check_table();
    return done_testing();
}
