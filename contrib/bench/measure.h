/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the programs of contrib/bench measure with: two clocks and the median.
 */
#ifndef CONTRIB_BENCH_MEASURE_H
#define CONTRIB_BENCH_MEASURE_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t measure_clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ns(void)
{
    return measure_clock_ns(CLOCK_MONOTONIC);
}

/* Of this process and its threads; what /proc tells of a running process is old. */
static inline uint64_t cpu_ns(void)
{
    return measure_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline int measure_compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;

    return (*a > *b) - (*a < *b);
}

/* Sorts them. */
static inline uint64_t median(uint64_t *samples, size_t count)
{
    qsort(samples, count, sizeof(*samples), measure_compare);
    return samples[count / 2];
}

#endif
