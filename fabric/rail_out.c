/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending: frames are cut into chunks, sealed in the endpoint's buffers, and sent as far as it
 * accepts them; peers take turns.
 */
#include "config.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/rail_private.h"

#define RETRY_NS (2ull * 1000 * 1000)

int rail_has_to_send(const struct rail_peer *peer)
{
    return peer->stalled != NULL || !list_is_empty(&peer->classes[FRAME_COLLECTIVE].queue) ||
           !list_is_empty(&peer->classes[FRAME_BULK].queue);
}

void rail_make_ready(struct rail_peer *peer)
{
    if (list_is_linked(&peer->ready) || peer->under_way >= RAIL_UNDER_WAY_MAX ||
        !rail_has_to_send(peer))
        return;
    list_append(&peer->rail->ready, &peer->ready);
    rail_schedule(peer->rail);
}

void rail_queue(struct rail_peer *peer, const struct frame *frame)
{
    struct rail_frame *queued = memory_allocate_zeroed(sizeof(*queued));
    size_t bytes = frame->payload != NULL ? frame->payload->length_bytes : 0;

    assert(frame->class > FRAME_CONTROL && frame->class < FRAME_CLASS_COUNT);
    queued->frame = *frame;
    if (!rail_has_to_send(peer))
        peer->moved_ns = loop_now_ns();
    list_append(&peer->classes[frame->class].queue, &queued->node);
    peer->queued_bytes += bytes;
    if (peer->queued_bytes > RAIL_QUEUE_BYTES_MAX)
        rail_fail(peer, -ENOBUFS,
                  "more than %zu MiB are queued for place %u, which reads too slowly",
                  RAIL_QUEUE_BYTES_MAX >> 20, peer->place);
    rail_arm(peer->rail, peer->moved_ns + peer->rail->stuck_ns);
    rail_make_ready(peer);
}

static void free_frame(struct rail_frame *queued)
{
    list_remove(&queued->node);
    message_release(queued->frame.payload);
    free(queued);
}

void rail_drop_out(struct rail_peer *peer)
{
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        while (!list_is_empty(&peer->classes[class].queue))
            free_frame(
                list_entry(list_first(&peer->classes[class].queue), struct rail_frame, node));
    message_release(peer->stalled);
    peer->stalled = NULL;
    peer->queued_bytes = 0;
    list_remove(&peer->ready);
}

static void encode_header(const struct rail_header *header, unsigned char *out)
{
    uint32_t place = htole32(header->place);
    uint16_t epoch = htole16(header->epoch);
    uint64_t number = htole64(header->number);

    memcpy(out, &place, 4);
    out[4] = header->class;
    out[5] = header->flags;
    memcpy(out + 6, &epoch, 2);
    memcpy(out + 8, &number, 8);
}

static void encode_frame(const struct frame *frame, size_t payload_bytes, unsigned char *out)
{
    struct frame_header header = {
        .length_bytes = FRAME_HEADER_BYTES + (uint32_t)payload_bytes,
        .type = frame->type,
        .class = frame->class,
        .flags = frame->flags,
        .stream = frame->stream,
        .incarnation = frame->incarnation,
        .attempt = frame->attempt,
    };

    frame_encode(&header, out);
}

/* Collectives before bulk, but no frame is left half sent for another of its class. */
static struct rail_frame *next_frame(struct rail_peer *peer)
{
    struct list *queue = &peer->classes[FRAME_COLLECTIVE].queue;

    if (list_is_empty(queue))
        queue = &peer->classes[FRAME_BULK].queue;
    return list_entry(list_first(queue), struct rail_frame, node);
}

static int begin_message(struct rail_peer *peer)
{
    if (peer->number_out > 0 && peer->number_out % peer->rail->renew_after == 0) {
        if (tls_seal_renew(peer->seal_out) < 0)
            return -EIO;
        peer->epoch_out++;
    }
    peer->number_out++;
    return 0;
}

/* Seals the next chunk into out; its length, 0 if the seal fails. */
static size_t seal_chunk(struct rail_peer *peer, unsigned char *out)
{
    struct rail_frame *queued = next_frame(peer);
    const struct message *payload = queued->frame.payload;
    size_t payload_bytes = payload != NULL ? payload->length_bytes : 0;
    size_t begin_bytes = queued->is_begun ? 0 : FRAME_HEADER_BYTES;
    size_t piece_bytes = payload_bytes - queued->sent_bytes;
    unsigned char begin[FRAME_HEADER_BYTES];
    struct rail_header header = {.place = peer->rail->place, .class = queued->frame.class};

    assert(queued->sent_bytes <= payload_bytes &&
           peer->queued_bytes >= payload_bytes - queued->sent_bytes);
    if (piece_bytes > RAIL_TEXT_BYTES - begin_bytes)
        piece_bytes = RAIL_TEXT_BYTES - begin_bytes;
    if (begin_message(peer) < 0)
        return 0;
    header.flags = queued->is_begun ? 0 : RAIL_FIRST;
    header.epoch = peer->epoch_out;
    header.number = peer->number_out;
    encode_header(&header, out);
    encode_frame(&queued->frame, payload_bytes, begin);
    if (tls_seal_close(peer->seal_out, header.number, out, RAIL_HEADER_BYTES, begin, begin_bytes,
                       payload_bytes > 0 ? payload->data + queued->sent_bytes : NULL, piece_bytes,
                       out + RAIL_HEADER_BYTES) < 0)
        return 0;
    queued->is_begun = 1;
    queued->sent_bytes += piece_bytes;
    peer->queued_bytes -= piece_bytes;
    if (queued->sent_bytes == payload_bytes)
        free_frame(queued);
    return RAIL_HEADER_BYTES + begin_bytes + piece_bytes + TLS_SEAL_TAG_BYTES;
}

static size_t fill_chunk(struct rail_peer *peer, unsigned char *out)
{
    if (peer->stalled == NULL)
        return seal_chunk(peer, out);
    memcpy(out, peer->stalled->data, peer->stalled->length_bytes);
    return peer->stalled->length_bytes;
}

/* -EAGAIN: do not retry the peer before the next progress. */
static int send_one(struct rail_peer *peer, unsigned char *out)
{
    struct rail *rail = peer->rail;
    size_t bytes = fill_chunk(peer, out);
    int rc;

    if (bytes == 0)
        return -EIO;
    rc = rail->table->send(rail->ofi, peer->address, bytes, peer);
    if (rc == -EAGAIN && peer->stalled == NULL)
        peer->stalled = message_create(out, bytes);
    if (rc < 0)
        return rc;
    message_release(peer->stalled);
    peer->stalled = NULL;
    peer->under_way++;
    peer->moved_ns = loop_now_ns();
    rail->messages_sent++;
    return 0;
}

void rail_pump(struct rail *rail)
{
    struct list blocked;

    list_init(&blocked);
    while (!list_is_empty(&rail->ready)) {
        unsigned char *out = rail->table->buffer(rail->ofi);
        struct rail_peer *peer = list_entry(list_first(&rail->ready), struct rail_peer, ready);
        int rc;

        if (out == NULL)
            break;
        list_remove(&peer->ready);
        rc = send_one(peer, out);
        if (rc == -EAGAIN)
            list_append(&blocked, &peer->ready);
        else if (rc < 0)
            rail_fail(peer, rc, "cannot send to place %u over the fabric", peer->place);
        else
            rail_make_ready(peer);
    }
    /* A connection being established raises no event. */
    if (!list_is_empty(&blocked))
        rail_arm(rail, loop_now_ns() + RETRY_NS);
    while (!list_is_empty(&blocked)) {
        struct list_link *node = list_first(&blocked);
        list_remove(node);
        list_append(&rail->ready, node);
    }
}

void rail_sent(void *context, void *user, int status)
{
    struct rail_peer *peer = user;

    peer->under_way--;
    peer->moved_ns = loop_now_ns();
    if (status < 0 && !peer->is_orphan)
        rail_fail(peer, status, "the fabric could not reach place %u", peer->place);
    rail_make_ready(peer);
    rail_check_peer(peer);
}
