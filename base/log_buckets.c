/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/log_buckets.h"

#include <assert.h>

#define EXACT_BITS 3u
#define EXACT      (1u << EXACT_BITS) /* values below, and buckets for each power of two */

uint32_t log_buckets_find(uint64_t value)
{
    uint32_t power;

    if (value < EXACT)
        return (uint32_t)value;
    power = 63u - (uint32_t)__builtin_clzll(value);
    return (power - EXACT_BITS + 1) * EXACT + ((value >> (power - EXACT_BITS)) & (EXACT - 1));
}

uint64_t log_buckets_middle(uint32_t bucket)
{
    uint32_t shift;

    assert(bucket < LOG_BUCKETS);
    if (bucket < EXACT)
        return bucket;
    shift = bucket / EXACT - 1;
    return ((uint64_t)(EXACT + bucket % EXACT) << shift) + (((uint64_t)1 << shift) >> 1);
}
