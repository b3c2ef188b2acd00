/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/profile.h"

#include <assert.h>

#include "base/log_buckets.h"

const char *profile_phase_name(enum profile_phase phase)
{
    static const char *const names[PROFILE_PHASE_COUNT] = {
        [PROFILE_JOIN] = "join", [PROFILE_WAIT] = "wait",   [PROFILE_START] = "start",
        [PROFILE_RUN] = "run",   [PROFILE_DRAIN] = "drain",
    };

    assert(phase < PROFILE_PHASE_COUNT);
    return names[phase];
}

static uint32_t bucket_of(uint64_t ns)
{
    uint32_t bucket = log_buckets_find(ns);

    return bucket < PROFILE_BUCKETS ? bucket : PROFILE_BUCKETS - 1;
}

/* Equal ones by place, so that the order of merges does not matter. */
static int is_slower(const struct profile_slowest *a, const struct profile_slowest *b)
{
    return a->ns != b->ns ? a->ns > b->ns : a->place < b->place;
}

static void add_slowest(struct profile_times *times, struct profile_slowest new)
{
    uint32_t at = times->slowest_count;

    if (at == PROFILE_SLOWEST_MAX && !is_slower(&new, &times->slowest[at - 1]))
        return;
    if (at < PROFILE_SLOWEST_MAX)
        times->slowest_count++;
    else
        at--;
    for (; at > 0 && is_slower(&new, &times->slowest[at - 1]); at--)
        times->slowest[at] = times->slowest[at - 1];
    times->slowest[at] = new;
}

void profile_add(struct profile *profile, enum profile_phase phase, uint32_t place, uint64_t ns)
{
    struct profile_times *times = &profile->phases[phase];

    assert(phase < PROFILE_PHASE_COUNT && place > 0);
    if (times->nodes == 0 || ns < times->min_ns)
        times->min_ns = ns;
    if (ns > times->max_ns)
        times->max_ns = ns;
    times->nodes++;
    times->buckets[bucket_of(ns)]++;
    add_slowest(times, (struct profile_slowest){.place = place, .ns = ns});
}

static void merge_times(struct profile_times *times, const struct profile_times *other)
{
    if (other->nodes == 0)
        return;
    if (times->nodes == 0 || other->min_ns < times->min_ns)
        times->min_ns = other->min_ns;
    if (other->max_ns > times->max_ns)
        times->max_ns = other->max_ns;
    times->nodes += other->nodes;
    for (uint32_t i = 0; i < PROFILE_BUCKETS; i++)
        times->buckets[i] += other->buckets[i];
    for (uint32_t i = 0; i < other->slowest_count; i++)
        add_slowest(times, other->slowest[i]);
}

void profile_merge(struct profile *profile, const struct profile *other)
{
    assert(profile != other);
    for (int phase = 0; phase < PROFILE_PHASE_COUNT; phase++)
        merge_times(&profile->phases[phase], &other->phases[phase]);
}

uint64_t profile_quantile_ns(const struct profile_times *times, double share)
{
    uint64_t below = 0, wanted = (uint64_t)(share * (double)times->nodes), ns = 0;
    uint32_t bucket = 0;

    assert(share >= 0 && share <= 1);
    if (times->nodes == 0)
        return 0;
    if ((double)wanted < share * (double)times->nodes || wanted == 0)
        wanted++;
    for (; bucket < PROFILE_BUCKETS - 1; bucket++) {
        below += times->buckets[bucket];
        if (below >= wanted)
            break;
    }
    ns = log_buckets_middle(bucket);
    if (ns < times->min_ns)
        return times->min_ns;
    return ns > times->max_ns || wanted == times->nodes ? times->max_ns : ns;
}
