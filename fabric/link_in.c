/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_private.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "fabric/address.h"
#include "fabric/link_wire.h"

/* Payloads of at least this size are decrypted in place. */
#define DIRECT_BYTES_MIN 4096

static size_t smaller_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

int link_is_reading(const struct link *link)
{
    return link->state == LINK_STATE_GREETING || link->state == LINK_STATE_UP ||
           link->state == LINK_STATE_FLUSHING;
}

static void refuse_version(struct link *link, uint32_t version)
{
    struct error why;
    char text[ADDRESS_TEXT_BYTES];

    error_set(&why, -EPROTO, "link protocol mismatch: peer %u, local %u", version,
              LINK_PROTOCOL_VERSION);
    if (link->outgoing) {
        link_fail_text(link, &why);
        return;
    }
    log_warning("%s: %s", address_print(banyan_sock_peer_address(link->sock), text), why.text);
    error_set(&why, -EPROTO, "link protocol mismatch: peer %u, local %u", LINK_PROTOCOL_VERSION,
              version);
    link_close(link, LINK_REFUSED, why.text);
}

static void take_hello(struct link *link, struct message *message)
{
    uint32_t version;
    uint32_t place;
    uint32_t incarnation;
    struct error why;

    if (link->state != LINK_STATE_GREETING) {
        link_fail_protocol(link, "a second HELLO");
    } else if (link_hello_decode(message, &version, &place, &incarnation) < 0) {
        link_fail_protocol(link, "a malformed HELLO");
    } else if (version != LINK_PROTOCOL_VERSION) {
        refuse_version(link, version);
    } else if (link->outgoing && place != link->place) {
        error_set(&why, -EACCES, "is place %u, not place %u", place, link->place);
        link_fail_text(link, &why);
    } else {
        link->place = place;
        link->incarnation = incarnation;
        link_step(link, EVENT_GREETED);
        link->host->greeted(link);
    }
}

static void take_goodbye(struct link *link, struct message *message)
{
    char text[LINK_GOODBYE_TEXT_BYTES];
    char address[ADDRESS_TEXT_BYTES];
    enum link_goodbye reason;
    struct error why;

    if (link_goodbye_decode(message, &reason, text) < 0) {
        link_fail_protocol(link, "a malformed GOODBYE");
        return;
    }
    address_print(banyan_sock_peer_address(link->sock), address);
    if (reason == LINK_CLOSED)
        error_set(&why, -ESHUTDOWN, "%s: the peer closed the link%s%s", address,
                  text[0] != '\0' ? ": " : "", text);
    else
        error_set(&why, reason == LINK_DUPLICATE ? -EEXIST : -ECONNABORTED,
                  "%s: the peer refused the link: %s", address, text);
    link_end(link, reason, &why);
}

static void take_large(struct link *link, struct message *message)
{
    struct link_class *class = &link->classes[link->current.class];

    if (class->parts != NULL || message == NULL || message->length_bytes != FRAME_HEADER_BYTES ||
        frame_decode(message->data, &class->large) < 0 ||
        class->large.length_bytes - FRAME_HEADER_BYTES <= LINK_CHUNK_BYTES ||
        class->large.class != link->current.class || class->large.type < LINK_TYPE_LIMIT) {
        link_fail_protocol(link, "a malformed announcement of a large frame");
        return;
    }
    class->parts = message_create_blank(class->large.length_bytes - FRAME_HEADER_BYTES);
    class->parts_bytes = 0;
}

/* Hands a frame upward and releases its payload. */
static void deliver_frame(struct link *link, const struct frame_header *header,
                          struct message *payload)
{
    struct frame frame = {
        .type = header->type,
        .class = header->class,
        .flags = header->flags,
        .stream = header->stream,
        .incarnation = header->incarnation,
        .attempt = header->attempt,
        .payload = payload,
    };

    if (link->state == LINK_STATE_UP)
        link->host->frame(link, &frame);
    message_release(payload);
}

static void take_part(struct link *link)
{
    struct link_class *class = &link->classes[link->current.class];
    struct message *whole = class->parts;

    assert(whole != NULL && class->parts_bytes < whole->length_bytes);
    class->parts_bytes += link->current.length_bytes - FRAME_HEADER_BYTES;
    assert(class->parts_bytes <= whole->length_bytes); /* ensured by start_body */
    if (class->parts_bytes < whole->length_bytes)
        return;
    class->parts = NULL;
    deliver_frame(link, &class->large, whole);
}

/* The peer has consumed that much of what we sent. */
static void take_credit(struct link *link)
{
    uint32_t number = link->current.stream;
    uint32_t window_bytes = number < FRAME_CLASS_COUNT ? link_limits[number].window_bytes : 0;
    struct link_class *class = &link->classes[window_bytes != 0 ? number : 0];

    if (link->current.length_bytes != FRAME_HEADER_BYTES || link->current.credit == 0 ||
        window_bytes == 0 || link->current.credit > window_bytes - class->window_bytes) {
        link_fail_protocol(link, "more credit than is due");
        return;
    }
    class->window_bytes += link->current.credit;
    if (!list_is_empty(&class->queue))
        link->host->dirty(link);
}

/* Grants in quarters of a window: often enough for the peer to go on, seldom enough to cost little. */
static void count_taken(struct link *link)
{
    int number = link->current.class;
    struct link_class *class = &link->classes[number];
    uint32_t window_bytes = link_limits[number].window_bytes;

    if (window_bytes == 0)
        return;
    class->taken_bytes += link->current.length_bytes;
    if (class->taken_bytes < window_bytes / 4)
        return;
    assert(class->taken_bytes <= window_bytes);
    link_grant(link, number, class->taken_bytes);
    class->taken_bytes = 0;
}

static void take_frame(struct link *link)
{
    struct message *message = link->message;

    assert(link->header_filled == FRAME_HEADER_BYTES && link->body_left == 0);
    count_taken(link);
    link->header_filled = 0;
    link->message = NULL;
    link->body = NULL;
    if (link->current.type >= LINK_TYPE_LIMIT) {
        deliver_frame(link, &link->current, message);
        return;
    }
    if (link->current.type == LINK_HELLO)
        take_hello(link, message);
    else if (link->current.type == LINK_GOODBYE)
        take_goodbye(link, message);
    else if (link->current.type == LINK_LARGE)
        take_large(link, message);
    else if (link->current.type == LINK_CREDIT)
        take_credit(link);
    else
        take_part(link);
    message_release(message);
}

/* Before HELLO only HELLO and GOODBYE may come; all of the link's own frames are short. */
static int is_expected(const struct link *link)
{
    const struct frame_header *header = &link->current;

    if (link->state == LINK_STATE_GREETING && header->type > LINK_GOODBYE)
        return 0;
    if (header->type >= LINK_TYPE_LIMIT || header->type == LINK_PART)
        return 1;
    return header->type < LINK_MESSAGE_COUNT &&
           header->length_bytes - FRAME_HEADER_BYTES <= LINK_OWN_BYTES_MAX;
}

/* The header is complete: checks it and sets where the payload goes. */
static int start_body(struct link *link)
{
    struct link_class *class;
    size_t bytes;

    if (frame_decode(link->header, &link->current) < 0)
        return -EBADMSG;
    class = &link->classes[link->current.class];
    bytes = link->current.length_bytes - FRAME_HEADER_BYTES;
    link->body_left = bytes;
    if (link->current.sequence != ++class->sequence_in || bytes > LINK_CHUNK_BYTES ||
        !is_expected(link))
        return -EBADMSG;
    if (link->current.type == LINK_PART) {
        if (class->parts == NULL || bytes > class->parts->length_bytes - class->parts_bytes)
            return -EBADMSG;
        link->body = class->parts->data + class->parts_bytes;
        return 0;
    }
    if (bytes > 0) {
        link->message = message_create_blank(bytes);
        link->body = link->message->data;
    }
    return 0;
}

void link_take_plain(struct link *link, const unsigned char *data, size_t bytes)
{
    while (link_is_reading(link)) {
        size_t step_bytes;
        if (link->header_filled < FRAME_HEADER_BYTES) {
            step_bytes = smaller_size(bytes, FRAME_HEADER_BYTES - link->header_filled);
            memcpy(link->header + link->header_filled, data, step_bytes);
            link->header_filled += step_bytes;
            data += step_bytes;
            bytes -= step_bytes;
            if (link->header_filled < FRAME_HEADER_BYTES)
                return;
            if (start_body(link) < 0) {
                link_fail_protocol(link, "a malformed frame");
                return;
            }
        }
        step_bytes = smaller_size(bytes, link->body_left);
        if (step_bytes > 0) { /* a frame without a payload has no body */
            memcpy(link->body, data, step_bytes);
            link->body += step_bytes;
        }
        link->body_left -= step_bytes;
        data += step_bytes;
        bytes -= step_bytes;
        if (link->body_left > 0)
            return;
        take_frame(link);
    }
}

int link_read_plain(struct link *link)
{
    size_t bytes;
    int rc;

    if (link->header_filled == FRAME_HEADER_BYTES && link->body_left >= DIRECT_BYTES_MIN) {
        rc = tls_read(link->tls, link->body, link->body_left, &bytes);
        if (rc == 0) {
            link->body += bytes;
            link->body_left -= bytes;
            if (link->body_left == 0)
                take_frame(link);
        }
        return rc;
    }
    rc = tls_read(link->tls, link->host->plain, TLS_RECORD_BYTES_MAX, &bytes);
    if (rc == 0)
        link_take_plain(link, link->host->plain, bytes);
    return rc;
}
