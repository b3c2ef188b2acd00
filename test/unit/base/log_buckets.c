/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/log_buckets.h"

#include "test/support/tap.h"

/* The middle is in the bucket, and near each value that is. */
static int is_near(uint64_t value)
{
    uint32_t bucket = log_buckets_find(value);
    uint64_t middle = log_buckets_middle(bucket);
    uint64_t off = middle > value ? middle - value : value - middle;

    return bucket < LOG_BUCKETS && log_buckets_find(middle) == bucket && off <= value / 16 + 1;
}

int main(void)
{
    uint32_t wrong = 0;

    for (uint64_t value = 0; value < 8; value++)
        wrong += log_buckets_find(value) != value || log_buckets_middle((uint32_t)value) != value;
    is_uint(wrong, 0, "small values have a bucket each");
    for (uint32_t power = 3; power < 64; power++)
        for (uint64_t step = 0; step < 16; step++)
            wrong += !is_near(((uint64_t)1 << power) + (((uint64_t)1 << power) / 16) * step);
    is_uint(wrong, 0, "the middle of a bucket is near its values");
    for (uint64_t value = 1; value < 100000; value++)
        wrong += log_buckets_find(value) < log_buckets_find(value - 1) ||
                 log_buckets_find(value) > log_buckets_find(value - 1) + 1;
    is_uint(wrong, 0, "buckets follow each other without a gap");
    is_uint(log_buckets_find(UINT64_MAX), LOG_BUCKETS - 1, "the last one has the greatest value");
    return done_testing();
}
