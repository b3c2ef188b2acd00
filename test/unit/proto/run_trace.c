/* SPDX-License-Identifier: BSD-3-Clause */
/* When things happened on a node, and how its clock is set: launch/proto/run_trace.c and launch/proto/run_trace_wire.c. */
#include "config.h"

#include "launch/proto/run_trace.h"

#include <errno.h>
#include <string.h>

#include "launch/proto/job_wire.h"
#include "test/support/tap.h"

static void test_clock(void)
{
    struct run_trace_clock clock = {.is_known = false};

    /* Ours is 1,000 behind; 100 there, held for 50, 100 back. */
    ok(run_trace_clock_take(&clock, 5000, 6100, 6150, 5250, 0), "clocks are compared");
    is_int(clock.offset_ns, 1000, "the same time on both ways: the offset is exact");
    is_uint(clock.error_ns, 100, "which nobody knows: it may be wrong by one way");
    ok(run_trace_clock_take(&clock, 5000, 6500, 6500, 5510, 0), "a slower answer");
    ok(clock.offset_ns == 1000 && clock.error_ns == 100, "counts for nothing");
    ok(run_trace_clock_take(&clock, 5000, 6030, 6030, 5040, 20),
       "one by a place that may be wrong itself");
    ok(clock.offset_ns == 1010 && clock.error_ns == 40, "adds its error");
    ok(clock.offset_ns - 1000 <= 40, "the true offset is within the error");
    clock.is_known = false;
    ok(run_trace_clock_take(&clock, 900000, 100, 150, 900100, 7), "a clock that is ahead");
    ok(clock.offset_ns == -899925 && clock.error_ns == 32, "is set back");
    clock.is_known = false;
    ok(run_trace_clock_take(&clock, 100, 5000, 5300, 300, 0), "held for longer than it was away");
    is_uint(clock.error_ns, 1, "clocks run at different speeds");
    clock.is_known = false;
    ok(!run_trace_clock_take(&clock, 100, 5300, 5000, 300, 0), "sent before it was received");
    ok(!run_trace_clock_take(&clock, 100, 5300, UINT64_MAX, 300, 0), "a time that is none");
    ok(!run_trace_clock_take(&clock, 100, 5300, 5300, 300, RUN_TRACE_ERROR_UNKNOWN),
       "by a clock that is not known");
    ok(!clock.is_known, "teach nothing");
}

/* Along a path the true offset stays within the sum: each hop is as unequal as it can be. */
static void test_path(void)
{
    struct run_trace_clock parent = {.is_known = true}, child;
    int64_t true_offset = 0;

    for (int hop = 0; hop < 20; hop++) {
        uint64_t asked_ns = 1000000, there_ns = 300 * (uint64_t)(hop % 2), back_ns = 300 - there_ns,
                 arrived_ns;
        int64_t drift = 1000 * hop;

        child = (struct run_trace_clock){.is_known = false};
        true_offset += drift;
        /* The parent's clock, which it takes for the root's by its own estimate. */
        arrived_ns = asked_ns + there_ns + (uint64_t)drift + (uint64_t)parent.offset_ns;
        (void)run_trace_clock_take(&child, asked_ns, arrived_ns, arrived_ns,
                                   asked_ns + there_ns + back_ns, parent.error_ns);
        parent = child;
    }
    ok(parent.offset_ns <= true_offset + (int64_t)parent.error_ns &&
           parent.offset_ns >= true_offset - (int64_t)parent.error_ns,
       "after 20 hops the offset is within its error");
    is_uint(parent.error_ns, 20 * 150, "which is their sum");
}

static void fill(struct run_trace *trace)
{
    *trace = (struct run_trace){.place = 7, .offset_ns = -5, .error_ns = 1234};
    for (uint32_t i = 0; i < RUN_TRACE_TIME_COUNT; i++)
        trace->times[i] = 1000 * i;
    trace->ranks_count = 2;
    trace->ranks_more = 3;
    trace->ranks[1] =
        (struct run_trace_rank){.rank = 9, .wait_status = 256, .begin_ns = 4000, .end_ns = 5000};
    trace->spans_count = 1;
    trace->spans[0] = (struct run_trace_span){.kind = RUN_TRACE_PMIX, .begin_ns = 1, .end_ns = 2};
}

static void test_wire(void)
{
    static struct run_trace trace, taken;
    struct buffer packed = {0};
    struct wire_reader reader;
    struct message *message;

    fill(&trace);
    run_trace_encode(&trace, &packed);
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_int(run_trace_decode(&taken, &reader), 0, "it can be read again");
    ok(memcmp(&taken, &trace, sizeof(trace)) == 0, "and is the same");
    for (size_t bytes = 0; bytes < packed.length_bytes; bytes++) {
        wire_reader_init(&reader, packed.data, bytes);
        if (run_trace_decode(&taken, &reader) != -EBADMSG)
            ok(0, "%zu bytes of it cannot be read", bytes);
    }
    message = run_trace_message(3, &trace);
    ok(message->data[0] == JOB_MESSAGE_TRACE && message->data[1] == 3, "a message of its job");
    is_uint(message->length_bytes, packed.length_bytes + 5, "which has that");
    message_release(message);
    buffer_fini(&packed);
}

static void test_wire_clock(void)
{
    uint64_t received_ns, sent_ns, error_ns;
    struct buffer packed = {0};
    struct wire_reader reader;

    run_trace_clock_encode(1, 2, 3, &packed);
    wire_reader_init(&reader, packed.data, packed.length_bytes);
    is_int(run_trace_clock_decode(&reader, &received_ns, &sent_ns, &error_ns), 0, "an answer");
    ok(received_ns == 1 && sent_ns == 2 && error_ns == 3, "is the same");
    wire_reader_init(&reader, packed.data, packed.length_bytes - 1);
    is_int(run_trace_clock_decode(&reader, &received_ns, &sent_ns, &error_ns), -EBADMSG,
           "a part of one is none");
    buffer_fini(&packed);
}

int main(void)
{
    test_clock();
    test_path();
    test_wire();
    test_wire_clock();
    return done_testing();
}
