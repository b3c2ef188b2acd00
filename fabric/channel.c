/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages queued in one turn of the loop leave with one send.  A peer that no longer reads (EPIPE)
 * may have sent something before, so a failed send only drops the queue; the reading side reports
 * the end.
 */
#include "config.h"

#include "fabric/channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"

#define READ_BYTES        (64u * 1024)
#define KEEP_BYTES_MAX    (1024u * 1024) /* a larger buffer is freed once it is empty */
#define FLUSH_POLL_MS_MAX 1000

struct channel {
    struct loop *loop;
    struct loop_watch *watch;
    int fd;
    const struct channel_events *events;
    void *context;
    struct buffer in;
    struct buffer out;
    size_t out_sent_bytes; /* of the front of out */
    int flush_deferred;
    int write_failed;
    int closed;    /* reported to the owner, or the owner has destroyed it */
    int busy;      /* inside a call to the owner: destroy waits until it returns */
    int destroyed; /* by the owner, inside such a call */
};

static void channel_free(struct channel *channel)
{
    assert(!channel->busy);
    loop_watch_destroy(channel->watch);
    loop_defer_cancel(channel->loop, channel);
    close(channel->fd);
    buffer_fini(&channel->in);
    buffer_fini(&channel->out);
    free(channel);
}

static void channel_update_interest(struct channel *channel)
{
    unsigned int interest = 0;

    if (!channel->closed)
        interest |= LOOP_READ;
    if (!channel->closed && channel_queued(channel) > 0)
        interest |= LOOP_WRITE;
    loop_watch_set(channel->watch, interest);
}

static void channel_drop_output(struct channel *channel)
{
    buffer_fini(&channel->out);
    channel->out_sent_bytes = 0;
}

/* Frees the space of what was sent, without moving each byte more than about once. */
static void channel_trim_output(struct channel *channel)
{
    struct buffer *out = &channel->out;

    assert(channel->out_sent_bytes <= out->length_bytes);
    if (channel->out_sent_bytes == out->length_bytes) {
        buffer_clear(out);
        channel->out_sent_bytes = 0;
        if (out->capacity_bytes > KEEP_BYTES_MAX)
            buffer_fini(out);
    } else if (channel->out_sent_bytes > out->length_bytes / 2) {
        buffer_consume(out, channel->out_sent_bytes);
        channel->out_sent_bytes = 0;
    }
}

/* Sends what the peer takes now. */
static void channel_flush(struct channel *channel)
{
    while (channel_queued(channel) > 0) {
        ssize_t sent = send(channel->fd, channel->out.data + channel->out_sent_bytes,
                            channel_queued(channel), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS))
            return;
        if (sent < 0) {
            channel->write_failed = 1;
            channel_drop_output(channel);
            return;
        }
        channel->out_sent_bytes += (size_t)sent;
        channel_trim_output(channel);
    }
}

static void channel_flush_deferred(void *context)
{
    struct channel *channel = context;

    channel->flush_deferred = 0;
    channel_flush(channel);
    channel_update_interest(channel);
}

/* Returns 1 if the channel still exists. */
static int channel_leave_call(struct channel *channel)
{
    assert(channel->busy);
    channel->busy = 0;
    if (!channel->destroyed)
        return 1;
    channel_free(channel);
    return 0;
}

static void channel_close(struct channel *channel, const char *why)
{
    assert(!channel->closed && !channel->busy);
    channel->closed = 1;
    channel_drop_output(channel);
    channel_update_interest(channel);
    channel->busy = 1;
    channel->events->closed(channel->context, why);
    channel_leave_call(channel);
}

/* The length of the first message's payload; 0 if its header is not complete. */
static int channel_peek(const struct channel *channel, size_t consumed_bytes, uint32_t *ret_bytes)
{
    uint8_t type;

    if (channel->in.length_bytes - consumed_bytes < CHANNEL_HEADER_BYTES)
        return 0;
    channel_header_get(channel->in.data + consumed_bytes, ret_bytes, &type);
    return 1;
}

/* Hands out the complete messages.  Returns 1 if the channel still exists and is open. */
static int channel_dispatch(struct channel *channel)
{
    size_t consumed = 0;
    uint32_t payload_bytes;

    while (channel_peek(channel, consumed, &payload_bytes)) {
        const unsigned char *message = channel->in.data + consumed;

        if (payload_bytes > CHANNEL_MESSAGE_BYTES_MAX) {
            channel_close(channel, "it sent a message that is too long");
            return 0;
        }
        if (channel->in.length_bytes - consumed - CHANNEL_HEADER_BYTES < payload_bytes)
            break;
        consumed += CHANNEL_HEADER_BYTES + payload_bytes;
        channel->busy = 1;
        channel->events->message(channel->context, message[CHANNEL_HEADER_BYTES - 1],
                                 message + CHANNEL_HEADER_BYTES, payload_bytes);
        if (!channel_leave_call(channel))
            return 0;
    }
    assert(consumed <= channel->in.length_bytes);
    buffer_consume(&channel->in, consumed);
    if (channel->in.length_bytes == 0 && channel->in.capacity_bytes > KEEP_BYTES_MAX)
        buffer_fini(&channel->in);
    return 1;
}

/* How much to read at once: the rest of a long message in one piece. */
static size_t channel_wanted(const struct channel *channel)
{
    uint32_t payload_bytes = 0;

    if (channel_peek(channel, 0, &payload_bytes) &&
        payload_bytes + CHANNEL_HEADER_BYTES > channel->in.length_bytes + READ_BYTES)
        return payload_bytes + CHANNEL_HEADER_BYTES - channel->in.length_bytes;
    return READ_BYTES;
}

static void channel_read(struct channel *channel)
{
    size_t wanted = channel_wanted(channel);
    ssize_t got = recv(channel->fd, buffer_reserve(&channel->in, wanted), wanted, MSG_DONTWAIT);

    if (got > 0) {
        buffer_commit(&channel->in, (size_t)got);
        channel_dispatch(channel);
    } else if (got == 0) {
        channel_close(channel, channel->in.length_bytes > 0
                                   ? "it closed the connection in the middle of a message"
                                   : "it closed the connection");
    } else if (errno != EAGAIN && errno != EINTR) {
        channel_close(channel, strerror(errno));
    }
}

static void channel_ready(void *context, int fd, unsigned int ready)
{
    struct channel *channel = context;

    if (ready & LOOP_WRITE) {
        channel_flush(channel);
        channel_update_interest(channel);
    }
    if ((ready & LOOP_READ) && !channel->closed)
        channel_read(channel);
}

struct channel *channel_create(struct loop *loop, int fd, const struct channel_events *events,
                               void *context)
{
    struct channel *channel = memory_allocate_zeroed(sizeof(*channel));

    assert(fd >= 0 && events != NULL);
    channel->loop = loop;
    channel->fd = fd;
    channel->events = events;
    channel->context = context;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    channel->watch = loop_watch_create(loop, fd, LOOP_READ, channel_ready, channel);
    return channel;
}

void channel_destroy(struct channel *channel, uint32_t flush_ms)
{
    uint64_t deadline_ns;

    if (channel == NULL)
        return;
    deadline_ns = loop_now_ns() + (uint64_t)flush_ms * NS_PER_MS;
    channel_flush(channel);
    while (channel_queued(channel) > 0 && loop_now_ns() < deadline_ns) {
        uint64_t left_ms = (deadline_ns - loop_now_ns()) / NS_PER_MS + 1;
        struct pollfd writable = {.fd = channel->fd, .events = POLLOUT};
        poll(&writable, 1, left_ms < FLUSH_POLL_MS_MAX ? (int)left_ms : FLUSH_POLL_MS_MAX);
        channel_flush(channel);
    }
    channel->closed = 1;
    if (channel->busy)
        channel->destroyed = 1;
    else
        channel_free(channel);
}

void channel_send(struct channel *channel, uint8_t type, const void *payload, size_t payload_bytes)
{
    assert(payload_bytes <= CHANNEL_MESSAGE_BYTES_MAX);
    if (channel->closed || channel->write_failed)
        return;
    channel_header_put((uint32_t)payload_bytes, type, &channel->out);
    buffer_append(&channel->out, payload, payload_bytes);
    if (!channel->flush_deferred) {
        channel->flush_deferred = 1;
        loop_defer(channel->loop, channel_flush_deferred, channel);
    }
}

void channel_send_buffer(struct channel *channel, uint8_t type, struct buffer *payload)
{
    channel_send(channel, type, payload->data, payload->length_bytes);
    buffer_clear(payload);
}

size_t channel_queued(const struct channel *channel)
{
    return channel->out.length_bytes - channel->out_sent_bytes;
}
