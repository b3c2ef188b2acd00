/* SPDX-License-Identifier: BSD-3-Clause */
/* How long nodes took (launch/proto/profile_wire.c): what is taken comes back, and can be merged and read. */
#include "config.h"

#include "launch/proto/profile.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static int take(struct profile *ret_profile, const void *data, size_t bytes)
{
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    return profile_decode(ret_profile, &reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    static struct profile profile, again;
    struct buffer written = {0};

    if (take(&profile, data, data_bytes) < 0)
        return 0;
    profile_encode(&profile, &written);
    assert(take(&again, written.data, written.length_bytes) == 0);
    for (int phase = 0; phase < PROFILE_PHASE_COUNT; phase++) {
        const struct profile_times *times = &again.phases[phase];

        assert(times->nodes == profile.phases[phase].nodes);
        assert(profile_quantile_ns(times, 0.5) <= profile_quantile_ns(times, 1));
    }
    profile_merge(&again, &profile);
    assert(again.phases[0].nodes == 2 * profile.phases[0].nodes);
    buffer_fini(&written);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static struct profile profile;
    struct buffer sample = {0};
    size_t bytes;

    if (number > 0)
        return 0;
    memset(&profile, 0, sizeof(profile));
    for (uint32_t i = 0; i < 30; i++)
        profile_add(&profile, (enum profile_phase)(i % PROFILE_PHASE_COUNT), i + 1, 77ull << i);
    profile_encode(&profile, &sample);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
