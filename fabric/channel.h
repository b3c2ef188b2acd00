/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole messages over a local stream socket (front end and root), on the loop: u32 length, u8 type,
 * payload.  Sends never block; what the peer does not take is queued, and channel_queued returns
 * how much, so that a caller can hold back (control.h has credits for the streams).
 */
#ifndef FABRIC_CHANNEL_H
#define FABRIC_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "fabric/loop.h"

#define CHANNEL_MESSAGE_BYTES_MAX (64u * 1024 * 1024)
#define CHANNEL_HEADER_BYTES      5

struct channel;

struct channel_events {
    /* payload is valid during the call. */
    void (*message)(void *context, uint8_t type, const void *payload, size_t payload_bytes);
    /* End of file or an error (as text); called once. */
    void (*closed)(void *context, const char *why);
};

/* Owns fd (made non-blocking). */
struct channel *channel_create(struct loop *loop, int fd, const struct channel_events *events,
                               void *context);
/* What is still queued is written for at most flush_ms. */
void channel_destroy(struct channel *channel, uint32_t flush_ms);
void channel_send(struct channel *channel, uint8_t type, const void *payload, size_t payload_bytes);
void channel_send_buffer(struct channel *channel, uint8_t type,
                         struct buffer *payload); /* clears */
size_t channel_queued(const struct channel *channel);

/* For who has no loop: what stands before each payload. */
void channel_header_put(uint32_t payload_bytes, uint8_t type, struct buffer *out);
/* Reads CHANNEL_HEADER_BYTES. */
void channel_header_get(const unsigned char *header, uint32_t *ret_payload_bytes,
                        uint8_t *ret_type);

#endif
