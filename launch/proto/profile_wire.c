/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/memory.h"

static void put_times(struct buffer *out, const struct profile_times *times)
{
    uint32_t used = 0, last = 0;

    wire_put_varint(out, times->nodes);
    if (times->nodes == 0)
        return;
    wire_put_varint(out, times->min_ns);
    wire_put_varint(out, times->max_ns);
    wire_put_varint(out, times->slowest_count);
    for (uint32_t i = 0; i < times->slowest_count; i++) {
        wire_put_varint(out, times->slowest[i].place);
        wire_put_varint(out, times->slowest[i].ns);
    }
    for (uint32_t i = 0; i < PROFILE_BUCKETS; i++)
        used += times->buckets[i] > 0;
    wire_put_varint(out, used);
    for (uint32_t i = 0; i < PROFILE_BUCKETS; i++) {
        if (times->buckets[i] == 0)
            continue;
        wire_put_varint(out, i - last);
        wire_put_varint(out, times->buckets[i]);
        last = i;
    }
}

/* Buckets come in their order, and their sum is the number of nodes. */
static void get_buckets(struct wire_reader *reader, struct profile_times *times)
{
    uint32_t used = (uint32_t)wire_get_varint_max(reader, PROFILE_BUCKETS);
    uint64_t nodes = 0, bucket = 0;

    for (uint32_t i = 0; i < used && wire_status(reader) == 0; i++) {
        uint64_t step = wire_get_varint_max(reader, PROFILE_BUCKETS);

        bucket += step;
        if (bucket >= PROFILE_BUCKETS || (i > 0 && step == 0)) {
            wire_fail(reader);
            return;
        }
        times->buckets[bucket] = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        nodes += times->buckets[bucket];
        if (times->buckets[bucket] == 0)
            wire_fail(reader);
    }
    if (nodes != times->nodes)
        wire_fail(reader);
}

static void get_times(struct wire_reader *reader, struct profile_times *times)
{
    times->nodes = wire_get_varint_max(reader, UINT32_MAX);
    if (times->nodes == 0)
        return;
    times->min_ns = wire_get_varint(reader);
    times->max_ns = wire_get_varint(reader);
    times->slowest_count = (uint32_t)wire_get_varint_max(reader, PROFILE_SLOWEST_MAX);
    for (uint32_t i = 0; i < times->slowest_count; i++) {
        times->slowest[i].place = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        times->slowest[i].ns = wire_get_varint(reader);
    }
    if (times->min_ns > times->max_ns)
        wire_fail(reader);
    get_buckets(reader, times);
}

void profile_encode(const struct profile *profile, struct buffer *out)
{
    for (int phase = 0; phase < PROFILE_PHASE_COUNT; phase++)
        put_times(out, &profile->phases[phase]);
}

int profile_decode(struct profile *ret_profile, struct wire_reader *reader)
{
    struct profile *profile = memory_allocate_zeroed(sizeof(*profile));
    int rc;

    for (int phase = 0; phase < PROFILE_PHASE_COUNT && wire_status(reader) == 0; phase++)
        get_times(reader, &profile->phases[phase]);
    rc = wire_finish(reader);
    if (rc == 0)
        *ret_profile = *profile;
    free(profile);
    return rc < 0 ? -EBADMSG : 0;
}
