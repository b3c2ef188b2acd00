/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes use (launch/proto/load_wire.c): what is taken is written as it was read, and can be merged. */
#include "config.h"

#include "launch/proto/load.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct load load, merged = {.rows = NULL};
    struct buffer written = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, data_bytes);
    if (load_decode(&load, &reader) < 0)
        return 0;
    load_encode(&load, &written);
    assert(written.length_bytes == data_bytes);
    assert(memcmp(written.data, data, data_bytes) == 0);
    load_merge(&merged, &load, 8);
    load_merge(&merged, &load, 8);
    assert(merged.rows_count <= 8 && merged.jobs_count <= load.jobs_count);
    load_fini(&merged);
    load_fini(&load);
    buffer_fini(&written);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct load load = {.rows = NULL};
    struct buffer sample = {0};
    size_t bytes;

    if (number > 0)
        return 0;
    for (uint32_t place = 1; place < 4; place++) {
        struct load_row row = {.place = place, .figures = {[LOAD_PROCESSES_CPU] = 1000 * place}};

        load_add(&load, &row, LOAD_ROWS_MAX);
        load_add_job(&load, &(struct load_job){.number = place, .cpu = 500, .kib = 300});
    }
    load_sort_jobs(&load);
    ranges_add(&load.silent, 7, 9);
    load_encode(&load, &sample);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample.data, bytes);
    load_fini(&load);
    buffer_fini(&sample);
    return bytes;
}
