/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/time.h"
#include "fabric/channel.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES    3000u
#define LARGE_BYTES (5u * 1024 * 1024)

/* One end and what it has seen. */
struct end {
    struct loop *loop;
    struct channel *channel;
    uint32_t messages;
    uint32_t in_order;
    size_t bytes;
    uint8_t last_type;
    uint32_t closed;
    char why[128];
    uint32_t stop_after; /* messages; 0 = never */
    int destroy_inside;
};

static void on_message(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    struct end *end = context;
    uint32_t number = UINT32_MAX;

    if (payload_bytes >= sizeof(number))
        memcpy(&number, payload, sizeof(number));
    if (number == end->messages)
        end->in_order++;
    end->messages++;
    end->bytes += payload_bytes;
    end->last_type = type;
    if (end->destroy_inside) {
        channel_destroy(end->channel, 0);
        end->channel = NULL;
    }
    if (end->messages == end->stop_after)
        loop_stop(end->loop);
}

static void on_closed(void *context, const char *why)
{
    struct end *end = context;

    end->closed++;
    snprintf(end->why, sizeof(end->why), "%s", why);
    loop_stop(end->loop);
}

static const struct channel_events events = {.message = on_message, .closed = on_closed};

static void make_pair(struct loop *loop, struct end *a, struct end *b)
{
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        bail_out("socketpair: %s", strerror(errno));
    *a = (struct end){.loop = loop};
    *b = (struct end){.loop = loop};
    a->channel = channel_create(loop, fds[0], &events, a);
    b->channel = channel_create(loop, fds[1], &events, b);
}

static void test_order_and_sizes(struct loop *loop)
{
    struct end a, b;
    unsigned char *payload = memory_allocate_zeroed(LARGE_BYTES);
    size_t sent_bytes = 0;

    make_pair(loop, &a, &b);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        size_t bytes = i == MESSAGES / 2 ? LARGE_BYTES : sizeof(i) + i % 777;
        memcpy(payload, &i, sizeof(i));
        channel_send(a.channel, (uint8_t)(i % 251), payload, bytes);
        sent_bytes += bytes;
    }
    ok(channel_queued(a.channel) > sent_bytes, "a send does not block, it queues");
    b.stop_after = MESSAGES;
    loop_run(loop);
    is_uint(b.messages, MESSAGES, "all messages arrive");
    is_uint(b.in_order, MESSAGES, "in order");
    is_uint(b.bytes, sent_bytes, "whole");
    is_uint(b.last_type, (MESSAGES - 1) % 251, "with their types");
    is_uint(channel_queued(a.channel), 0, "nothing is queued any more");
    channel_destroy(a.channel, 0);
    loop_run(loop);
    is_uint(b.closed, 1, "the other end is told of the end once");
    is_string(b.why, "it closed the connection", "in plain words");
    channel_send(b.channel, 1, "late", 4);
    is_uint(channel_queued(b.channel), 0, "what is sent after the end is dropped");
    channel_destroy(b.channel, 0);
    free(payload);
}

static void test_stderr_tail(struct loop *loop)
{
    struct end a, b;
    struct buffer words = {0};

    make_pair(loop, &a, &b);
    buffer_append_string(&words, "last words");
    channel_send_buffer(a.channel, 9, &words);
    is_uint(words.length_bytes, 0, "channel_send_buffer clears the buffer");
    channel_destroy(a.channel, 1000);
    for (int i = 0; i < 100; i++)
        channel_send(b.channel, 1, "into the void", 13);
    loop_run(loop);
    is_uint(b.messages, 1, "what was said before the end arrives, also after a failed send");
    is_uint(b.last_type, 9, "unchanged");
    is_uint(b.closed, 1, "then the end is told");
    channel_destroy(b.channel, 0);
    buffer_fini(&words);
}

static void test_stuck_peer(struct loop *loop)
{
    struct end a, b;
    unsigned char *payload = memory_allocate_zeroed(LARGE_BYTES);
    uint64_t start_ns = loop_now_ns();

    make_pair(loop, &a, &b);
    channel_send(a.channel, 1, payload, LARGE_BYTES);
    channel_destroy(a.channel, 50);
    ok(loop_now_ns() - start_ns < 2ull * NS_PER_S,
       "destroy waits for a stuck peer no longer than said");
    loop_run(loop);
    is_uint(b.messages, 0, "a message that was cut is not delivered");
    is_string(b.why, "it closed the connection in the middle of a message", "but told");
    channel_destroy(b.channel, 0);
    free(payload);
}

static void test_bad_length(struct loop *loop)
{
    struct end a;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        bail_out("socketpair: %s", strerror(errno));
    a = (struct end){.loop = loop};
    a.channel = channel_create(loop, fds[0], &events, &a);
    is_int(write(fds[1], "\xff\xff\xff\xff\x01", 5), 5, "a length above the limit");
    loop_run(loop);
    is_uint(a.closed, 1, "ends the channel");
    is_string(a.why, "it sent a message that is too long", "and says so");
    channel_destroy(a.channel, 0);
    close(fds[1]);
}

static void test_destroy_inside(struct loop *loop)
{
    struct end a, b;

    make_pair(loop, &a, &b);
    b.destroy_inside = 1;
    b.stop_after = 1;
    for (uint32_t i = 0; i < 10; i++)
        channel_send(a.channel, 1, &i, sizeof(i));
    loop_run(loop);
    is_uint(b.messages, 1, "a channel destroyed inside its event tells nothing more");
    loop_run(loop);
    is_uint(a.closed, 1, "its peer sees the end");
    channel_destroy(a.channel, 0);
}

int main(void)
{
    struct loop *loop = loop_create(NULL);

    test_order_and_sizes(loop);
    test_stderr_tail(loop);
    test_stuck_peer(loop);
    test_bad_length(loop);
    test_destroy_inside(loop);
    loop_destroy(loop);
    return done_testing();
}
