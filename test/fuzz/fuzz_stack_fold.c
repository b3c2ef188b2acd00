/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks of ranks (launch/proto/stack_fold_wire.c): what is taken is written as it was read, and can be merged. */
#include "config.h"

#include "launch/proto/stack_fold.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct stack_fold_request request;
    struct stack_fold fold, merged = {0};
    struct buffer written = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, data_bytes);
    if (stack_fold_request_decode(&request, &reader) == 0)
        ranges_fini(&request.places);
    wire_reader_init(&reader, data, data_bytes);
    if (stack_fold_decode(&fold, &reader) < 0)
        return 0;
    stack_fold_encode(&fold, &written);
    assert(written.length_bytes == data_bytes);
    assert(memcmp(written.data, data, data_bytes) == 0);
    stack_fold_merge(&merged, &fold);
    stack_fold_merge(&merged, &fold);
    assert(merged.count <= fold.count);
    stack_fold_fini(&merged);
    stack_fold_fini(&fold);
    buffer_fini(&written);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct stack_fold fold = {.left = 3, .more = 1};
    struct buffer sample = {0};
    size_t bytes;

    if (number > 0)
        return 0;
    for (uint32_t rank = 0; rank < 9; rank++)
        stack_fold_add(&fold, rank % 3 > 0 ? "main > poll" : "main", rank % 2 > 0, rank,
                       rank / 2 + 1);
    ranges_add(&fold.silent, 7, 9);
    stack_fold_encode(&fold, &sample);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample.data, bytes);
    stack_fold_fini(&fold);
    buffer_fini(&sample);
    return bytes;
}
