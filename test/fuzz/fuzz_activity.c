/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks are doing (launch/proto/activity_wire.c): what is taken is written as it was read, and can be merged. */
#include "config.h"

#include "launch/proto/activity.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct activity activity, merged = {0};
    struct buffer written = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, data_bytes);
    if (activity_decode(&activity, &reader) < 0)
        return 0;
    activity_encode(&activity, &written);
    assert(written.length_bytes == data_bytes);
    assert(memcmp(written.data, data, data_bytes) == 0);
    activity_merge(&merged, &activity);
    activity_merge(&merged, &activity);
    assert(merged.count <= activity.count);
    activity_fini(&merged);
    activity_fini(&activity);
    buffer_fini(&written);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct activity activity = {.more = 3};
    struct buffer sample = {0};
    size_t bytes;

    if (number > 0)
        return 0;
    for (uint32_t rank = 0; rank < 9; rank++)
        activity_add(&activity,
                     &(struct activity_rank){
                         .state = 'S', .pmi = (uint8_t)(rank % ACTIVITY_PMI_COUNT), .channel = "x"},
                     rank, rank / 2 + 1);
    ranges_add(&activity.silent, 7, 9);
    activity_encode(&activity, &sample);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample.data, bytes);
    activity_fini(&activity);
    buffer_fini(&sample);
    return bytes;
}
