/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buckets for counting values of any size: below 8 one for each value, above it 8 for each power of two.  So the middle of a
 * bucket is within 1/16 of each value in it.  Pure functions, O(1).
 */
#ifndef BASE_LOG_BUCKETS_H
#define BASE_LOG_BUCKETS_H

#include <stdint.h>

#define LOG_BUCKETS 496u /* of all values of 64 bits */

/* Of a value; greater values are in the same bucket or in a later one. */
uint32_t log_buckets_find(uint64_t value);
/* The middle of bucket, which is less than LOG_BUCKETS. */
uint64_t log_buckets_middle(uint32_t bucket);

#endif
