/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording of a core is read as it was written, and no part of an entry is taken for the whole.
 */
#include "config.h"

#include "overlay/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/core_bench.h"
#include "test/support/tap.h"

/* Without what stands before the first entry: the line of the form, and each entry's length. */
static struct wire_reader entry_of(const struct buffer *text, size_t skipped_bytes)
{
    struct wire_reader reader;
    uint32_t bytes;

    wire_reader_init(&reader, text->data + skipped_bytes, text->length_bytes - skipped_bytes);
    bytes = wire_get_u32(&reader);
    is_uint(bytes, wire_left(&reader), "the length of the entry");
    return reader;
}

static void test_config(void)
{
    struct endpoint_ancestor parents[2] = {{.place = 3}, {.place = 0}}, *ancestors;
    struct endpoint_config config = {.place = 9,
                                     .places = 100,
                                     .radix = 4,
                                     .incarnation = 2,
                                     .stall_ns = 5000000000ull,
                                     .costs = {.hop_ns = 1, .message_ns = 2, .byte_ps = 3},
                                     .trees = ENDPOINT_TREES_TWO,
                                     .own = {.count = 1, .items = {{1, "a"}}},
                                     .ancestors = parents,
                                     .ancestors_count = 2};
    struct endpoint_config copy = {.merges_count = 7};
    struct buffer text = {0};
    struct wire_reader reader, cut;

    trace_encode_config(&config, &text);
    is_bytes(text.data, strlen(RECORD_MAGIC), RECORD_MAGIC, strlen(RECORD_MAGIC),
             "a recording says its form first");
    reader = entry_of(&text, strlen(RECORD_MAGIC));
    cut = reader;
    cut.end--;
    is_int(trace_decode_config(&cut, &copy, &ancestors), -EBADMSG, "a part of it is refused");
    is_int(trace_decode_config(&reader, &copy, &ancestors), 0, "a configuration can be read again");
    is_uint(copy.place, 9, "place");
    is_uint(copy.places, 100, "places");
    is_uint(copy.radix, 4, "radix");
    is_uint(copy.stall_ns, 5000000000ull, "when it stalls");
    is_uint(copy.costs.byte_ps, 3, "costs");
    is_uint(copy.trees, ENDPOINT_TREES_TWO, "trees");
    is_uint(copy.own.count, 1, "addresses");
    is_uint(copy.ancestors_count, 2, "ancestors");
    is_uint(copy.ancestors[0].place, 3, "the nearest first");
    is_uint(copy.merges_count, 7, "merges stay those of the reader");
    free(ancestors);
    buffer_fini(&text);
}

static void test_step(void)
{
    struct bench bench;
    struct frame frame;
    struct overlay_event event;
    struct trace_step step;
    struct buffer text = {0};
    struct wire_reader reader;
    size_t taken = 0;

    bench_open(&bench, 0, 3);
    bench_step_up(&bench, 1);
    bench_make_join(1, 1, 1, 3, &frame);
    event = (struct overlay_event){
        .kind = OVERLAY_EVENT_FRAME, .now_ns = bench.now_ns, .place = 1, .frame = &frame};
    overlay_actions_fini(&bench.actions);
    overlay_step(bench.overlay, &event, &bench.actions);
    ok(bench.actions.count > 0, "a step has actions");
    trace_encode_step(&event, &bench.actions, &text);
    reader = entry_of(&text, 0);
    is_int(trace_decode_step(reader.position, wire_left(&reader), &step), 1,
           "a step can be read again");
    is_int(step.event.kind, OVERLAY_EVENT_FRAME, "its event");
    is_uint(step.event.place, 1, "from whom");
    is_uint(step.event.frame->type, frame.type, "its frame");
    is_bytes(step.frame.payload->data, step.frame.payload->length_bytes, frame.payload->data,
             frame.payload->length_bytes, "with its payload");
    is_uint(step.actions_count, bench.actions.count, "how many actions");
    is_uint(step.actions_hash, trace_hash_actions(&bench.actions), "which");
    trace_step_fini(&step);
    for (size_t bytes = 0; bytes < wire_left(&reader); bytes++)
        taken += trace_decode_step(reader.position, bytes, &step) != -EBADMSG;
    is_uint(taken, 0, "no part of a step is taken for the whole");
    buffer_clear(&text);
    trace_encode_limit(&text);
    reader = entry_of(&text, 0);
    is_int(trace_decode_step(reader.position, wire_left(&reader), &step), 0,
           "the limit is no step");
    message_release(frame.payload);
    buffer_fini(&text);
    bench_close(&bench);
}

int main(void)
{
    test_config();
    test_step();
    return done_testing();
}
