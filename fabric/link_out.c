/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_private.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* So much is encrypted before the system is asked to take it. */
#define WRITE_BYTES (4u * TLS_RECORD_BYTES_MAX)

void link_post_pending(struct link *link)
{
    sock_post_write(link->sock, link->pending.data, link->pending.length_bytes,
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
    rc = sock_write(link->sock, output->data, output->length_bytes, &written);
    if (rc == 0 || rc == -EAGAIN) {
        buffer_append(&link->pending, output->data + written, output->length_bytes - written);
        if (link->pending.length_bytes > 0)
            link_post_pending(link);
    }
    buffer_clear(output);
    if (rc < 0 && rc != -EAGAIN)
        link_fail_code(link, rc);
}

static void start_whole(struct link *link, struct queued *queued)
{
    struct link_piece *piece = &link->piece;

    list_remove(&queued->node);
    piece->owner = queued;
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
        list_remove(&queued->node);
        piece->owner = queued;
    }
}

/* 1 if there is a piece to write: this one or the next of the most urgent class. */
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
        struct list_node *node = list_first(&link->classes[class].queue);
        struct queued *queued;
        if (node == NULL)
            continue;
        queued = list_entry(node, struct queued, node);
        if (queued->payload != NULL && queued->payload->length_bytes > LINK_CHUNK_BYTES) {
            start_part(link, queued);
        } else {
            queued->header.sequence = ++link->classes[class].sequence_out;
            start_whole(link, queued);
        }
        return 1;
    }
    return 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Copies pieces, several small frames to a record. */
static size_t fill_record(struct link *link, unsigned char *record)
{
    size_t used = 0;

    while (used < TLS_RECORD_BYTES_MAX && have_piece(link)) {
        struct link_piece *piece = &link->piece;
        size_t bytes =
            smaller(piece->header_bytes - piece->header_sent, TLS_RECORD_BYTES_MAX - used);
        memcpy(record + used, piece->header + piece->header_sent, bytes);
        piece->header_sent += bytes;
        used += bytes;
        bytes = smaller(piece->data_bytes, TLS_RECORD_BYTES_MAX - used);
        if (bytes > 0)
            memcpy(record + used, piece->data, bytes);
        piece->data += bytes;
        piece->data_bytes -= bytes;
        used += bytes;
    }
    return used;
}

/* Encrypts up to WRITE_BYTES of what is queued into host->output. */
static int encrypt(struct link *link)
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
    return rc;
}

void link_flush(struct link *link)
{
    if (link->state < LINK_STATE_GREETING || link->state > LINK_STATE_FLUSHING)
        return;
    for (int round = 0; round < LINK_ROUNDS_MAX && link->pending.length_bytes == 0; round++) {
        if (encrypt(link) < 0) {
            buffer_clear(&link->host->output);
            link_fail_protocol(link, "TLS failed to encrypt");
            return;
        }
        if (link->host->output.length_bytes == 0) {
            if (link->state == LINK_STATE_FLUSHING)
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

void link_send(struct link *link, const struct frame *frame)
{
    struct queued *queued = memory_allocate_zeroed(sizeof(*queued));
    size_t payload_bytes = frame->payload != NULL ? frame->payload->length_bytes : 0;

    assert(frame->class < FRAME_CLASS_COUNT && payload_bytes <= FRAME_PAYLOAD_BYTES_MAX);
    queued->header = (struct frame_header){
        .length_bytes = (uint32_t)(FRAME_HEADER_BYTES + payload_bytes),
        .type = frame->type,
        .class = frame->class,
        .flags = frame->flags,
        .stream = frame->stream,
        .incarnation = frame->incarnation,
        .attempt = frame->attempt,
    };
    queued->payload = frame->payload;
    list_append(&link->classes[frame->class].queue, &queued->node);
    if (frame->may_wait)
        link->host->patient(link);
    else
        link->host->dirty(link);
}
