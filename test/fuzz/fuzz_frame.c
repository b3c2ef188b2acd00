/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer that knows the secret may send: plaintext that fabric/link_in.c cuts into frames.  The
 * first byte of an input says what the host does (FLAG_*), the second in pieces of which length the
 * rest comes.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fabric/link_private.h"
#include "fabric/link_wire.h"
#include "test/fuzz/fuzz.h"

#define FLAG_REFUSE 1 /* closes when HELLO has come */
#define FLAG_CLOSE  2 /* closes inside the first frame's upcall */
#define FLAG_DROP   4 /* drops instead of closing */
#define HEAD_BYTES  2

static struct link_host host;
static uint8_t flags;
static int ended;
static int gone;

static void finish(struct link *link)
{
    if (flags & FLAG_DROP)
        link_drop(link);
    else
        link_close(link, LINK_REFUSED, "for a test");
}

static void on_greeted(struct link *link)
{
    if (flags & FLAG_REFUSE)
        finish(link);
    else
        link_admit(link);
}

static void on_frame(struct link *link, const struct frame *frame)
{
    volatile unsigned char sum = 0;

    assert(!ended && frame->type >= LINK_TYPE_LIMIT && frame->class < FRAME_CLASS_COUNT);
    for (size_t i = 0; frame->payload != NULL && i < frame->payload->length_bytes; i++)
        sum ^= frame->payload->data[i];
    (void)sum;
    if (flags & FLAG_CLOSE)
        finish(link);
}

static void on_ended(struct link *link, enum link_goodbye goodbye, const struct error *why)
{
    assert(!ended && why->code < 0 && why->text[0] != '\0');
    ended = 1;
}

static void on_gone(struct link *link)
{
    gone++;
}

static void on_dirty(struct link *link)
{
}

static void open_host(void)
{
    host.secured = on_greeted;
    host.greeted = on_greeted;
    host.frame = on_frame;
    host.ended = on_ended;
    host.gone = on_gone;
    host.dirty = on_dirty;
    host.patient = on_dirty;
    host.place = 2;
    host.incarnation = 1;
    if (banyan_sock_set_create(&host.socks, NULL) < 0)
        abort();
}

/* A link that has shaken hands. */
static struct link *open_link(int *ret_peer_fd)
{
    struct banyan_sock *sock = NULL;
    struct link *link;
    int fds[2];

    if (host.socks == NULL)
        open_host();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
        banyan_sock_adopt(host.socks, fds[0], NULL, &sock, NULL) < 0)
        abort();
    link = link_accept(&host, sock);
    link_step(link, EVENT_SECURED);
    *ret_peer_fd = fds[1];
    return link;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct banyan_sock_event event;
    struct link *link;
    size_t piece_bytes;
    int peer_fd;

    if (data_bytes < HEAD_BYTES)
        return 0;
    flags = data[0];
    piece_bytes = data[1] > 0 ? data[1] : SIZE_MAX;
    ended = 0;
    gone = 0;
    link = open_link(&peer_fd);
    for (size_t i = HEAD_BYTES; i < data_bytes && link_is_reading(link);) {
        size_t bytes = data_bytes - i < piece_bytes ? data_bytes - i : piece_bytes;
        link_take_plain(link, data + i, bytes);
        i += bytes;
    }
    link_drop(link);
    while (banyan_sock_set_wait(host.socks, 0, &event) == 1)
        link_sock_event(event.user, &event);
    assert(gone == 1);
    close(peer_fd);
    return 0;
}

/* ---- Samples ---- */

static uint32_t sequences[FRAME_CLASS_COUNT];

static void put(struct buffer *out, struct frame_header header, struct message *payload)
{
    size_t bytes = payload != NULL ? payload->length_bytes : 0;

    header.length_bytes = (uint32_t)(FRAME_HEADER_BYTES + bytes);
    header.sequence = ++sequences[header.class];
    frame_encode(&header, buffer_reserve(out, FRAME_HEADER_BYTES));
    buffer_commit(out, FRAME_HEADER_BYTES);
    if (bytes > 0)
        buffer_append(out, payload->data, bytes);
    message_release(payload);
}

static struct message *zeros(size_t bytes)
{
    struct message *message = memory_allocate_zeroed(sizeof(*message) + bytes);

    message->references = 1;
    message->length_bytes = bytes;
    return message;
}

/* A frame of 70,000 bytes, announced, of which the first parts come. */
static void put_large(struct buffer *out)
{
    struct frame_header large = {
        .length_bytes = FRAME_HEADER_BYTES + 70000, .type = 20, .class = FRAME_COLLECTIVE};
    struct message *announcement = zeros(FRAME_HEADER_BYTES);

    frame_encode(&large, announcement->data);
    put(out, (struct frame_header){.type = LINK_LARGE, .class = FRAME_COLLECTIVE}, announcement);
    put(out, (struct frame_header){.type = LINK_PART, .class = FRAME_COLLECTIVE}, zeros(100));
    put(out, (struct frame_header){.type = LINK_PART, .class = FRAME_COLLECTIVE}, zeros(1000));
}

static void sample(struct buffer *out, unsigned number)
{
    static const uint8_t heads[][HEAD_BYTES] = {
        {0, 0}, {0, 1}, {0, 29}, {FLAG_REFUSE, 0}, {FLAG_CLOSE, 7}, {FLAG_CLOSE | FLAG_DROP, 0}};

    memset(sequences, 0, sizeof(sequences));
    buffer_append(out, heads[number % 6], HEAD_BYTES);
    put(out, (struct frame_header){.type = LINK_HELLO},
        link_hello_encode(LINK_PROTOCOL_VERSION, 1, 1));
    put(out, (struct frame_header){.type = 20, .stream = 3, .attempt = 4}, NULL);
    put(out, (struct frame_header){.type = 21, .class = FRAME_BULK}, zeros(20));
    if (number >= 6)
        put_large(out);
    put(out, (struct frame_header){.type = LINK_CREDIT, .stream = FRAME_BULK, .credit = 1}, NULL);
    if (number >= 12)
        put(out, (struct frame_header){.type = LINK_GOODBYE, .class = FRAME_BULK},
            link_goodbye_encode(LINK_CLOSED, "bye"));
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct buffer out = {0};
    size_t bytes;

    if (number >= 18)
        return 0;
    sample(&out, number);
    bytes = out.length_bytes < buffer_bytes ? out.length_bytes : buffer_bytes;
    memcpy(buffer, out.data, bytes);
    buffer_fini(&out);
    return bytes;
}
