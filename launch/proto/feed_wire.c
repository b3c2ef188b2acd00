/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/feed.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/job_wire.h"

#define RANGES_MAX 65536u

void feed_encode(const struct feed *feed, struct buffer *out)
{
    assert(feed->job > 0);
    wire_put_u32(out, feed->job);
    wire_put_u32(out, feed->rank);
    buffer_append(out, feed->data.data, feed->data.length_bytes);
}

int feed_decode(struct feed *ret_feed, struct wire_reader *reader)
{
    struct feed feed = {.job = wire_get_u32(reader), .rank = wire_get_u32(reader)};

    if (wire_status(reader) < 0 || feed.job == 0)
        return -EBADMSG;
    feed.data.data = reader->position;
    feed.data.length_bytes = wire_left(reader);
    *ret_feed = feed;
    return 0;
}

static struct message *message_of(enum job_message kind, struct buffer *payload)
{
    struct message *message = job_request_message(kind, payload->data, payload->length_bytes);

    buffer_fini(payload);
    return message;
}

struct message *feed_message(const struct feed *feed)
{
    struct buffer payload = {0};

    feed_encode(feed, &payload);
    return message_of(JOB_MESSAGE_FEED, &payload);
}

void feed_end_encode(const struct feed_end *end, struct buffer *out)
{
    assert(end->job > 0);
    wire_put_u32(out, end->job);
    wire_put_u32(out, end->rank);
}

int feed_end_decode(struct feed_end *ret_end, struct wire_reader *reader)
{
    struct feed_end end = {.job = wire_get_u32(reader), .rank = wire_get_u32(reader)};

    if (wire_finish(reader) < 0 || end.job == 0)
        return -EBADMSG;
    *ret_end = end;
    return 0;
}

struct message *feed_end_message(const struct feed_end *end)
{
    struct buffer payload = {0};

    feed_end_encode(end, &payload);
    return message_of(JOB_MESSAGE_FEED_END, &payload);
}

void feed_lost_encode(uint32_t job, const struct ranges *places, struct buffer *out)
{
    assert(job > 0);
    wire_put_u32(out, job);
    ranges_encode(places, out);
}

int feed_lost_decode(uint32_t *ret_job, struct ranges *ret_places, struct wire_reader *reader)
{
    uint32_t job = wire_get_u32(reader);

    *ret_places = (struct ranges){0};
    ranges_decode(reader, RANGES_MAX, ret_places);
    if (wire_finish(reader) < 0 || job == 0) {
        ranges_fini(ret_places);
        return -EBADMSG;
    }
    *ret_job = job;
    return 0;
}
