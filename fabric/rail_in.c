/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving: messages are opened, checked and assembled into frames.  What is not authentic is
 * dropped and counted and changes nothing, so that no outsider can end a link.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/rail_private.h"

static int decode_header(const unsigned char *data, size_t bytes, struct rail_header *ret_header)
{
    uint32_t place;
    uint16_t epoch;
    uint64_t number;

    if (bytes < RAIL_HEADER_BYTES + TLS_SEAL_TAG_BYTES || bytes > OFI_MESSAGE_BYTES_MAX)
        return -EBADMSG;
    memcpy(&place, data, 4);
    memcpy(&epoch, data + 6, 2);
    memcpy(&number, data + 8, 8);
    ret_header->place = le32toh(place);
    ret_header->class = data[4];
    ret_header->flags = data[5];
    ret_header->epoch = le16toh(epoch);
    ret_header->number = le64toh(number);
    return 0;
}

static int open_message(struct rail_peer *peer, const struct rail_header *header,
                        const unsigned char *data, size_t bytes, unsigned char *ret_text)
{
    const unsigned char *sealed = data + RAIL_HEADER_BYTES;
    size_t sealed_bytes = bytes - RAIL_HEADER_BYTES;
    int rc;

    if (header->epoch == peer->epoch_in)
        return tls_seal_open(peer->seal_in, header->number, data, RAIL_HEADER_BYTES, sealed,
                             sealed_bytes, ret_text);
    if (header->epoch != (uint16_t)(peer->epoch_in + 1))
        return -EACCES;
    rc = tls_seal_open_renewed(peer->seal_in, header->number, data, RAIL_HEADER_BYTES, sealed,
                               sealed_bytes, ret_text);
    if (rc == 0)
        peer->epoch_in++;
    return rc;
}

/* ---- Frames ---- */

static void hand_frame_up(struct rail_peer *peer, const struct frame *frame)
{
    if (!peer->is_closing && !peer->is_failed && !peer->is_orphan)
        peer->rail->events->frame(peer->rail->context, peer->place, frame);
}

static void keep_early(struct rail_peer *peer, struct frame *frame)
{
    struct rail_frame *early = memory_allocate_zeroed(sizeof(*early));

    early->frame = *frame;
    early->frame.payload = message_reference(frame->payload);
    list_append(&peer->classes[frame->class].early, &early->node);
    peer->early_bytes +=
        sizeof(*early) + (frame->payload != NULL ? frame->payload->length_bytes : 0);
    if (peer->early_bytes > RAIL_EARLY_BYTES_MAX)
        rail_fail(peer, -ENOBUFS,
                  "place %u sends over the fabric without announcing it on its link", peer->place);
}

void rail_take_early(struct rail_peer *peer, uint8_t class)
{
    struct list *early = &peer->classes[class].early;

    while (!list_is_empty(early)) {
        struct rail_frame *frame = list_entry(list_first(early), struct rail_frame, node);
        list_remove(&frame->node);
        hand_frame_up(peer, &frame->frame);
        message_release(frame->frame.payload);
        free(frame);
    }
}

void rail_drop_in(struct rail_peer *peer)
{
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        struct rail_class *state = &peer->classes[class];

        while (!list_is_empty(&state->early)) {
            struct rail_frame *frame =
                list_entry(list_first(&state->early), struct rail_frame, node);
            list_remove(&frame->node);
            message_release(frame->frame.payload);
            free(frame);
        }
        message_release(state->message);
        state->message = NULL;
        state->is_open = 0;
    }
}

static void finish_frame(struct rail_peer *peer, struct rail_class *class)
{
    struct frame frame = class->current;
    struct message *message = class->message;

    frame.payload = message;
    class->message = NULL;
    class->is_open = 0;
    if (class->comes_by_rail)
        hand_frame_up(peer, &frame);
    else
        keep_early(peer, &frame);
    message_release(message);
}

static int begin_frame(struct rail_class *class, uint8_t number, const unsigned char *text,
                       size_t bytes)
{
    struct frame_header header;

    if (class->is_open || bytes < FRAME_HEADER_BYTES || frame_decode(text, &header) < 0 ||
        header.class != number)
        return -EBADMSG;
    class->current = (struct frame){.type = header.type,
                                    .class = header.class,
                                    .flags = header.flags,
                                    .stream = header.stream,
                                    .incarnation = header.incarnation,
                                    .attempt = header.attempt};
    if (header.length_bytes > FRAME_HEADER_BYTES)
        class->message = message_create_blank(header.length_bytes - FRAME_HEADER_BYTES);
    class->message_bytes = 0;
    class->is_open = 1;
    return 0;
}

static int take_chunk(struct rail_peer *peer, const struct rail_header *header,
                      const unsigned char *text, size_t bytes)
{
    struct rail_class *class;
    size_t whole_bytes;

    if (header->class <= FRAME_CONTROL || header->class >= FRAME_CLASS_COUNT)
        return -EBADMSG;
    class = &peer->classes[header->class];
    if (header->flags & RAIL_FIRST) {
        if (begin_frame(class, header->class, text, bytes) < 0)
            return -EBADMSG;
        text += FRAME_HEADER_BYTES;
        bytes -= FRAME_HEADER_BYTES;
    }
    whole_bytes = class->message != NULL ? class->message->length_bytes : 0;
    if (!class->is_open || bytes > whole_bytes - class->message_bytes)
        return -EBADMSG;
    if (bytes > 0)
        memcpy(class->message->data + class->message_bytes, text, bytes);
    class->message_bytes += bytes;
    if (class->message_bytes == whole_bytes)
        finish_frame(peer, class);
    return 0;
}

/* ---- Messages ---- */

void rail_received(void *context, const unsigned char *data, size_t bytes)
{
    struct rail *rail = context;
    struct rail_peer *peer = NULL;
    struct rail_header header;

    if (decode_header(data, bytes, &header) == 0)
        peer = hash_map_get_u64(rail->peers, header.place);
    if (peer == NULL || header.number <= peer->number_in ||
        open_message(peer, &header, data, bytes, rail->text) < 0) {
        rail->messages_refused++;
        return;
    }
    if (header.number != peer->number_in + 1) {
        rail_fail(peer, -EPIPE, "the fabric lost messages from place %u", peer->place);
        return;
    }
    peer->number_in = header.number;
    if (take_chunk(peer, &header, rail->text, bytes - RAIL_HEADER_BYTES - TLS_SEAL_TAG_BYTES) < 0)
        rail_fail(peer, -EPROTO, "place %u breaks the protocol of the fabric", peer->place);
    rail_check_peer(peer);
}
