/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a job is (launch/proto/progress_wire.c): what is taken is written as it was read; sums stay within limits. */
#include "config.h"

#include "launch/proto/progress.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static void check_count(const uint8_t *data, size_t data_bytes)
{
    struct progress_count count, sum;
    struct buffer merged = {0};

    progress_merge(&merged, data, data_bytes);
    progress_merge(&merged, data, data_bytes);
    assert(progress_decode_count(&sum, merged.data, merged.length_bytes) == 0);
    if (progress_decode_count(&count, data, data_bytes) == 0)
        assert(sum.started == 2 * count.started || sum.started == count.started);
    else
        assert(sum.started == 0 && sum.connected == 0);
    buffer_fini(&merged);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct progress progress;
    struct buffer written = {0};
    struct wire_reader reader;
    uint32_t job, generation;

    check_count(data, data_bytes);
    wire_reader_init(&reader, data, data_bytes);
    if (progress_decode_order(&reader, &job, &generation) == 0)
        assert(job > 0 && generation > 0);
    wire_reader_init(&reader, data, data_bytes);
    if (progress_decode(&progress, &reader) < 0)
        return 0;
    progress_encode(&progress, &written);
    assert(written.length_bytes == data_bytes);
    assert(memcmp(written.data, data, data_bytes) == 0);
    buffer_fini(&written);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    const struct progress progress = {.phase = PROGRESS_PROCESSES,
                                      .nodes = 1000,
                                      .nodes_up = 999,
                                      .processes = 128000,
                                      .count = {.started = 127000, .connected = 1}};
    struct buffer sample = {0};
    size_t bytes;

    if (number > 2)
        return 0;
    if (number == 0)
        progress_encode(&progress, &sample);
    else if (number == 1)
        progress_encode_count(&progress.count, &sample);
    else
        progress_encode_request(1, &sample);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
