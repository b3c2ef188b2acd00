/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of nodes (launch/proto/run_trace_wire.c): what is taken can be written and read again. */
#include "config.h"

#include "launch/proto/run_trace.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    static struct run_trace trace, again;
    struct run_trace_clock clock = {.is_known = false};
    uint64_t received_ns, sent_ns, error_ns;
    struct buffer written = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, data_bytes);
    if (run_trace_clock_decode(&reader, &received_ns, &sent_ns, &error_ns) == 0)
        (void)run_trace_clock_take(&clock, 5, received_ns, sent_ns, 9, error_ns);
    wire_reader_init(&reader, data, data_bytes);
    if (run_trace_decode(&trace, &reader) < 0)
        return 0;
    run_trace_encode(&trace, &written);
    wire_reader_init(&reader, written.data, written.length_bytes);
    assert(run_trace_decode(&again, &reader) == 0);
    assert(memcmp(&again, &trace, sizeof(trace)) == 0);
    buffer_fini(&written);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static struct run_trace trace;
    struct buffer sample = {0};
    size_t bytes;

    if (number > 0)
        return 0;
    memset(&trace, 0, sizeof(trace));
    trace.place = 3;
    trace.ranks_count = 4;
    trace.spans_count = 2;
    run_trace_encode(&trace, &sample);
    bytes = sample.length_bytes;
    assert(bytes <= buffer_bytes);
    memcpy(buffer, sample.data, bytes);
    buffer_fini(&sample);
    return bytes;
}
