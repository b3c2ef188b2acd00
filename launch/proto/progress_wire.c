/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/progress.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/job_wire.h"

void progress_encode_request(uint32_t job, struct buffer *out)
{
    assert(job > 0);
    wire_put_u32(out, job);
}

uint32_t progress_decode_request(struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);

    return wire_finish(reader) == 0 ? job : 0;
}

struct message *progress_order_message(uint32_t job, uint32_t generation)
{
    struct buffer out = {0};
    struct message *message;

    assert(job > 0 && generation > 0);
    wire_put_u8(&out, JOB_MESSAGE_PROGRESS);
    wire_put_u32(&out, job);
    wire_put_u32(&out, generation);
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

int progress_decode_order(struct wire_reader *reader, uint32_t *ret_job, uint32_t *ret_generation)
{
    uint32_t job = wire_get_u32(reader);
    uint32_t generation = wire_get_u32(reader);

    if (wire_finish(reader) < 0 || job == 0 || generation == 0)
        return -EBADMSG;
    *ret_job = job;
    *ret_generation = generation;
    return 0;
}

static void put_count(struct buffer *out, const struct progress_count *count)
{
    assert(count->connected <= count->started);
    wire_put_varint(out, count->started);
    wire_put_varint(out, count->connected);
}

static void get_count(struct wire_reader *reader, struct progress_count *ret_count)
{
    ret_count->started = wire_get_varint_max(reader, UINT32_MAX);
    ret_count->connected = wire_get_varint_max(reader, ret_count->started);
}

void progress_encode_count(const struct progress_count *count, struct buffer *out)
{
    put_count(out, count);
}

int progress_decode_count(struct progress_count *ret_count, const void *data, size_t bytes)
{
    struct progress_count count;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    get_count(&reader, &count);
    if (wire_finish(&reader) < 0)
        return -EBADMSG;
    *ret_count = count;
    return 0;
}

/* What cannot be read counts as nothing; a sum beyond the limit is one that nobody has contributed to. */
void progress_merge(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct progress_count sum = {0}, part = {0};

    if (merged->length_bytes > 0)
        (void)progress_decode_count(&sum, merged->data, merged->length_bytes);
    if (progress_decode_count(&part, other, other_bytes) == 0 &&
        sum.started + part.started <= UINT32_MAX) {
        sum.started += part.started;
        sum.connected += part.connected;
    }
    buffer_clear(merged);
    progress_encode_count(&sum, merged);
}

void progress_encode(const struct progress *progress, struct buffer *out)
{
    assert(progress->phase < PROGRESS_PHASE_COUNT && progress->nodes_up <= progress->nodes);
    assert(progress->count.started <= progress->processes);
    wire_put_u8(out, progress->phase);
    wire_put_varint(out, progress->nodes);
    wire_put_varint(out, progress->nodes_up);
    wire_put_varint(out, progress->processes);
    put_count(out, &progress->count);
}

int progress_decode(struct progress *ret_progress, struct wire_reader *reader)
{
    struct progress progress = {.phase = wire_get_u8(reader)};

    progress.nodes = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    progress.nodes_up = (uint32_t)wire_get_varint_max(reader, progress.nodes);
    progress.processes = wire_get_varint_max(reader, UINT32_MAX);
    get_count(reader, &progress.count);
    if (wire_finish(reader) < 0 || progress.phase >= PROGRESS_PHASE_COUNT ||
        progress.count.started > progress.processes)
        return -EBADMSG;
    *ret_progress = progress;
    return 0;
}
