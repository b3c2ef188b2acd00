/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_private.h"
#include "fabric/secret.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Bytes to encrypt before calling the system. */
#define WRITE_BYTES (4u * TLS_RECORD_BYTES_MAX)

const struct link_limits link_limits[FRAME_CLASS_COUNT] = {
    [FRAME_CONTROL] = {0, LINK_CONTROL_QUEUE_BYTES_MAX},
    [FRAME_COLLECTIVE] = {LINK_COLLECTIVE_WINDOW_BYTES, LINK_COLLECTIVE_QUEUE_BYTES_MAX},
    [FRAME_BULK] = {LINK_BULK_WINDOW_BYTES, LINK_BULK_QUEUE_BYTES_MAX},
};

void link_post_pending(struct link *link)
{
    assert(link->pending.length_bytes > 0);
    banyan_sock_post_write(link->sock, link->pending.data, link->pending.length_bytes,
                           link->pending.length_bytes, NULL);
}

void link_write_output(struct link *link)
{
    struct buffer *output = &link->host->output;
    size_t written = 0;
    int rc = 0;

    if (link->pending.length_bytes > 0) {
        buffer_append(&link->later, output->data, output->length_bytes);
        buffer_clear(output);
        return;
    }
    rc = banyan_sock_write(link->sock, output->data, output->length_bytes, &written);
    if (rc == 0 || rc == -EAGAIN) {
        buffer_append(&link->pending, output->data + written, output->length_bytes - written);
        if (link->pending.length_bytes > 0)
            link_post_pending(link);
    }
    buffer_clear(output);
    if (rc < 0 && rc != -EAGAIN)
        link_fail_code(link, rc);
}

/* The piece that is being written is its last. */
static void take_from_queue(struct link *link, struct queued *queued)
{
    assert(link->piece.owner == NULL);
    assert(link->classes[queued->header.class].queued_bytes >= queued->header.length_bytes);
    list_remove(&queued->node);
    link->classes[queued->header.class].queued_bytes -= queued->header.length_bytes;
    link->piece.owner = queued;
}

static int is_large(const struct queued *queued)
{
    return queued->header.length_bytes > FRAME_HEADER_BYTES + LINK_CHUNK_BYTES;
}

static size_t smaller_bytes(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The length of the next frame on the wire. */
static uint32_t next_bytes(const struct queued *queued)
{
    if (!is_large(queued))
        return queued->header.length_bytes;
    if (!queued->announced)
        return 2 * FRAME_HEADER_BYTES;
    return FRAME_HEADER_BYTES +
           (uint32_t)smaller_bytes(queued->payload->length_bytes - queued->offset,
                                   LINK_CHUNK_BYTES);
}

/* The first frame of a class, if the peer has room for it. */
static struct queued *next_of_class(struct link *link, int class)
{
    struct link_class *state = &link->classes[class];
    struct list_link *node = list_first(&state->queue);
    struct queued *queued;
    uint32_t bytes;

    if (node == NULL)
        return NULL;
    queued = list_entry(node, struct queued, node);
    assert(queued->header.class == class);
    bytes = next_bytes(queued);
    if (link_limits[class].window_bytes != 0) {
        if (bytes > state->window_bytes)
            return NULL;
        state->window_bytes -= bytes;
    }
    return queued;
}

static void start_whole(struct link *link, struct queued *queued)
{
    struct link_piece *piece = &link->piece;

    take_from_queue(link, queued);
    piece->header_bytes = FRAME_HEADER_BYTES;
    frame_encode(&queued->header, piece->header);
    if (queued->payload != NULL) {
        piece->data = queued->payload->data;
        piece->data_bytes = queued->payload->length_bytes;
    }
}

/* The next slice of a large frame, or what announces it: its own header as a payload. */
static void start_part(struct link *link, struct queued *queued)
{
    struct link_piece *piece = &link->piece;
    struct frame_header header = {.class = queued->header.class};
    size_t left = queued->payload->length_bytes - queued->offset;

    assert(left > 0); /* or it would not be in the queue */
    header.incarnation = queued->header.incarnation;
    header.sequence = ++link->classes[header.class].sequence_out;
    piece->header_bytes = FRAME_HEADER_BYTES;
    if (!queued->announced) {
        queued->announced = 1;
        header.type = LINK_LARGE;
        header.length_bytes = 2 * FRAME_HEADER_BYTES;
        piece->header_bytes = 2 * FRAME_HEADER_BYTES;
        frame_encode(&queued->header, piece->header + FRAME_HEADER_BYTES);
    } else {
        piece->data = queued->payload->data + queued->offset;
        piece->data_bytes = left < LINK_CHUNK_BYTES ? left : LINK_CHUNK_BYTES;
        queued->offset += piece->data_bytes;
        header.type = LINK_PART;
        header.length_bytes = (uint32_t)(FRAME_HEADER_BYTES + piece->data_bytes);
    }
    frame_encode(&header, piece->header);
    if (queued->offset == queued->payload->length_bytes) {
        take_from_queue(link, queued);
    }
}

/* 1 if there is a piece to write: this one or the next of the most urgent class that has credit. */
static int have_piece(struct link *link)
{
    struct link_piece *piece = &link->piece;

    if (piece->header_sent < piece->header_bytes || piece->data_bytes > 0)
        return 1;
    link_queued_free(piece->owner);
    piece->owner = NULL;
    piece->header_bytes = 0;
    piece->header_sent = 0;
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        struct queued *queued = next_of_class(link, class);
        if (queued == NULL)
            continue;
        if (is_large(queued)) {
            start_part(link, queued);
        } else {
            queued->header.sequence = ++link->classes[class].sequence_out;
            start_whole(link, queued);
        }
        return 1;
    }
    return 0;
}

/* Copies pieces, several small frames to a record. */
static size_t fill_record(struct link *link, unsigned char *record)
{
    size_t used = 0;

    while (used < TLS_RECORD_BYTES_MAX && have_piece(link)) {
        struct link_piece *piece = &link->piece;
        size_t bytes =
            smaller_bytes(piece->header_bytes - piece->header_sent, TLS_RECORD_BYTES_MAX - used);
        memcpy(record + used, piece->header + piece->header_sent, bytes);
        piece->header_sent += bytes;
        used += bytes;
        bytes = smaller_bytes(piece->data_bytes, TLS_RECORD_BYTES_MAX - used);
        if (bytes > 0)
            memcpy(record + used, piece->data, bytes);
        piece->data += bytes;
        piece->data_bytes -= bytes;
        used += bytes;
    }
    assert(used <= TLS_RECORD_BYTES_MAX);
    return used;
}

/* Encrypts up to WRITE_BYTES of what is queued into host->output. */
static int encrypt_queued(struct link *link)
{
    struct link_host *host = link->host;
    int rc = 0;

    tls_output(link->tls, &host->output);
    while (rc == 0 && host->output.length_bytes < WRITE_BYTES) {
        struct link_piece *piece = &link->piece;
        if (piece->header_sent == piece->header_bytes &&
            piece->data_bytes >= TLS_RECORD_BYTES_MAX) {
            rc = tls_write(link->tls, piece->data, TLS_RECORD_BYTES_MAX);
            piece->data += TLS_RECORD_BYTES_MAX;
            piece->data_bytes -= TLS_RECORD_BYTES_MAX;
        } else {
            size_t bytes = fill_record(link, host->plain);
            if (bytes == 0)
                break;
            rc = tls_write(link->tls, host->plain, bytes);
        }
    }
    if (link->is_guest)
        secret_clear(host->plain, TLS_RECORD_BYTES_MAX);
    return rc;
}

static int is_written(const struct link *link)
{
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        if (!list_is_empty(&link->classes[class].queue))
            return 0;
    return 1;
}

static void give_up(struct link *link)
{
    struct error why;

    error_set(
        &why, -ENOBUFS,
        "reads too slowly: %zu MiB of control, %zu of collective and %zu of bulk frames are queued",
        link->classes[FRAME_CONTROL].queued_bytes >> 20,
        link->classes[FRAME_COLLECTIVE].queued_bytes >> 20,
        link->classes[FRAME_BULK].queued_bytes >> 20);
    link_fail_text(link, &why);
}

void link_flush(struct link *link)
{
    if (link->state < LINK_STATE_GREETING || link->state > LINK_STATE_FLUSHING)
        return;
    if (link->overflowed && link->state == LINK_STATE_UP) {
        give_up(link);
        return;
    }
    for (int round = 0; round < LINK_ROUNDS_MAX && link->pending.length_bytes == 0; round++) {
        if (encrypt_queued(link) < 0) {
            buffer_clear(&link->host->output);
            link_fail_protocol(link, "TLS failed to encrypt");
            return;
        }
        if (link->host->output.length_bytes == 0) {
            if (link->state == LINK_STATE_FLUSHING && is_written(link))
                link_step(link, EVENT_FLUSHED);
            return;
        }
        link_write_output(link);
        if (link->state == LINK_STATE_DEAD)
            return;
    }
    if (link->pending.length_bytes == 0)
        link->host->dirty(link);
}

static void enqueue_frame(struct link *link, const struct frame_header *header,
                          struct message *payload)
{
    struct queued *queued = memory_allocate_zeroed(sizeof(*queued));
    struct link_class *class = &link->classes[header->class];
    size_t payload_bytes = payload != NULL ? payload->length_bytes : 0;

    assert(payload_bytes <= FRAME_PAYLOAD_BYTES_MAX);
    queued->header = *header;
    queued->header.length_bytes = (uint32_t)(FRAME_HEADER_BYTES + payload_bytes);
    queued->payload = payload;
    list_append(&class->queue, &queued->node);
    class->queued_bytes += queued->header.length_bytes;
    if (class->queued_bytes > link_limits[header->class].queue_bytes_max)
        link->overflowed = 1;
}

void link_send(struct link *link, const struct frame *frame)
{
    struct frame_header header = {
        .type = frame->type,
        .class = frame->class,
        .flags = frame->flags,
        .stream = frame->stream,
        .incarnation = frame->incarnation,
        .attempt = frame->attempt,
    };

    assert(frame->class < FRAME_CLASS_COUNT);
    enqueue_frame(link, &header, frame->payload);
    if (frame->may_wait)
        link->host->patient(link);
    else
        link->host->dirty(link);
}

void link_grant(struct link *link, int class, uint32_t bytes)
{
    struct frame_header header = {.type = LINK_CREDIT, .class = FRAME_CONTROL};

    assert(bytes > 0 && bytes <= link_limits[class].window_bytes);
    header.stream = (uint32_t) class;
    header.incarnation = link->host->incarnation;
    header.credit = bytes;
    enqueue_frame(link, &header, NULL);
    link->host->dirty(link);
}
