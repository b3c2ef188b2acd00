/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/run_trace.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/job_wire.h"

void run_trace_encode(const struct run_trace *trace, struct buffer *out)
{
    assert(trace->ranks_count <= RUN_TRACE_RANKS_MAX && trace->spans_count <= RUN_TRACE_SPANS_MAX);
    wire_put_varint(out, trace->place);
    wire_put_u64(out, (uint64_t)trace->offset_ns);
    wire_put_u64(out, trace->error_ns);
    for (int i = 0; i < RUN_TRACE_TIME_COUNT; i++)
        wire_put_varint(out, trace->times[i]);
    wire_put_varint(out, trace->ranks_count);
    wire_put_varint(out, trace->ranks_more);
    for (uint32_t i = 0; i < trace->ranks_count; i++) {
        wire_put_varint(out, trace->ranks[i].rank);
        wire_put_varint(out, trace->ranks[i].wait_status);
        wire_put_varint(out, trace->ranks[i].begin_ns);
        wire_put_varint(out, trace->ranks[i].end_ns);
    }
    wire_put_varint(out, trace->spans_count);
    wire_put_varint(out, trace->spans_more);
    for (uint32_t i = 0; i < trace->spans_count; i++) {
        wire_put_u8(out, trace->spans[i].kind);
        wire_put_varint(out, trace->spans[i].begin_ns);
        wire_put_varint(out, trace->spans[i].end_ns);
    }
}

static void get_ranks(struct wire_reader *reader, struct run_trace *trace)
{
    trace->ranks_count = (uint32_t)wire_get_varint_max(reader, RUN_TRACE_RANKS_MAX);
    trace->ranks_more = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    for (uint32_t i = 0; i < trace->ranks_count; i++) {
        struct run_trace_rank *rank = &trace->ranks[i];

        rank->rank = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        rank->wait_status = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        rank->begin_ns = wire_get_varint(reader);
        rank->end_ns = wire_get_varint(reader);
    }
}

static void get_spans(struct wire_reader *reader, struct run_trace *trace)
{
    trace->spans_count = (uint32_t)wire_get_varint_max(reader, RUN_TRACE_SPANS_MAX);
    trace->spans_more = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    for (uint32_t i = 0; i < trace->spans_count; i++) {
        struct run_trace_span *span = &trace->spans[i];

        span->kind = wire_get_u8(reader);
        span->begin_ns = wire_get_varint(reader);
        span->end_ns = wire_get_varint(reader);
        if (span->kind >= RUN_TRACE_KIND_COUNT)
            wire_fail(reader);
    }
}

int run_trace_decode(struct run_trace *ret_trace, struct wire_reader *reader)
{
    struct run_trace trace = {.place = (uint32_t)wire_get_varint_max(reader, UINT32_MAX)};

    trace.offset_ns = (int64_t)wire_get_u64(reader);
    trace.error_ns = wire_get_u64(reader);
    for (int i = 0; i < RUN_TRACE_TIME_COUNT; i++)
        trace.times[i] = wire_get_varint(reader);
    get_ranks(reader, &trace);
    get_spans(reader, &trace);
    if (wire_finish(reader) < 0)
        return -EBADMSG;
    *ret_trace = trace;
    return 0;
}

struct message *run_trace_message(uint32_t job, const struct run_trace *trace)
{
    struct buffer payload = {0};
    struct message *message;

    wire_put_u8(&payload, JOB_MESSAGE_TRACE);
    wire_put_u32(&payload, job);
    run_trace_encode(trace, &payload);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

void run_trace_clock_encode(uint64_t received_ns, uint64_t sent_ns, uint64_t error_ns,
                            struct buffer *out)
{
    wire_put_u64(out, received_ns);
    wire_put_u64(out, sent_ns);
    wire_put_u64(out, error_ns);
}

int run_trace_clock_decode(struct wire_reader *reader, uint64_t *ret_received_ns,
                           uint64_t *ret_sent_ns, uint64_t *ret_error_ns)
{
    uint64_t received_ns = wire_get_u64(reader), sent_ns = wire_get_u64(reader);
    uint64_t error_ns = wire_get_u64(reader);

    if (wire_finish(reader) < 0)
        return -EBADMSG;
    *ret_received_ns = received_ns;
    *ret_sent_ns = sent_ns;
    *ret_error_ns = error_ns;
    return 0;
}
