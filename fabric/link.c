/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fabric/address.h"
#include "fabric/link_wire.h"

/* So much is encrypted before the system is asked to take it. */
#define WRITE_BYTES (4u * TLS_RECORD_BYTES_MAX)
/* After so many reads or writes in a row the other links have their turn. */
#define ROUNDS_MAX 4
/* Payloads at least so long are decrypted in place. */
#define DIRECT_BYTES_MIN 4096

enum link_event {
    EVENT_CONNECTED,
    EVENT_SECURED,
    EVENT_GREETED,
    EVENT_CLOSE,
    EVENT_FLUSHED,
    EVENT_DROP,
    EVENT_COUNT
};

struct queued {
    struct list_node node;
    struct frame_header header;
    struct message *payload;
    size_t offset; /* of a large frame: what has been cut off */
    int announced; /* LINK_LARGE has been written */
};

typedef enum link_state transition(struct link *link);

/* ---- States ---- */

static enum link_state on_connected(struct link *link);
static enum link_state on_secured(struct link *link);
static enum link_state on_greeted(struct link *link);
static enum link_state on_close(struct link *link);
static enum link_state on_flushed(struct link *link);
static enum link_state on_drop(struct link *link);

static enum link_state on_ignored(struct link *link)
{
    return link->state;
}

static transition *const transitions[LINK_STATE_COUNT][EVENT_COUNT] = {
    [LINK_STATE_CONNECTING] =
        {[EVENT_CONNECTED] = on_connected, [EVENT_CLOSE] = on_drop, [EVENT_DROP] = on_drop},
    [LINK_STATE_SECURING] =
        {[EVENT_SECURED] = on_secured, [EVENT_CLOSE] = on_drop, [EVENT_DROP] = on_drop},
    [LINK_STATE_GREETING] =
        {[EVENT_GREETED] = on_greeted, [EVENT_CLOSE] = on_close, [EVENT_DROP] = on_drop},
    [LINK_STATE_UP] = {[EVENT_CLOSE] = on_close, [EVENT_DROP] = on_drop},
    [LINK_STATE_FLUSHING] =
        {[EVENT_CLOSE] = on_ignored, [EVENT_FLUSHED] = on_flushed, [EVENT_DROP] = on_drop},
    [LINK_STATE_LINGERING] = {[EVENT_CLOSE] = on_ignored, [EVENT_DROP] = on_drop},
    [LINK_STATE_DEAD] = {[EVENT_CLOSE] = on_ignored, [EVENT_DROP] = on_ignored},
};

static void step(struct link *link, enum link_event event)
{
    transition *handler = transitions[link->state][event];

    assert(handler != NULL);
    link->state = handler(link);
}

static enum link_state on_connected(struct link *link)
{
    return LINK_STATE_SECURING;
}

static void send_hello(struct link *link)
{
    struct frame frame = {.type = LINK_HELLO, .class = FRAME_CONTROL};

    frame.incarnation = link->host->incarnation;
    frame.payload =
        link_hello_encode(LINK_PROTOCOL_VERSION, link->host->place, link->host->incarnation);
    link_send(link, &frame);
}

/* The connecting side speaks first, so that the other can refuse before it says who it is. */
static enum link_state on_secured(struct link *link)
{
    if (link->outgoing)
        send_hello(link);
    return LINK_STATE_GREETING;
}

static enum link_state on_greeted(struct link *link)
{
    return LINK_STATE_UP;
}

static enum link_state on_close(struct link *link)
{
    link->host->dirty(link);
    return LINK_STATE_FLUSHING;
}

static enum link_state on_flushed(struct link *link)
{
    return sock_shutdown_write(link->sock) < 0 ? on_drop(link) : LINK_STATE_LINGERING;
}

static enum link_state on_drop(struct link *link)
{
    int rc = sock_post_close(link->sock);

    assert(rc == 0);
    return LINK_STATE_DEAD;
}

/* ---- Birth and death ---- */

static struct link *create(struct link_host *host, struct tls *tls)
{
    struct link *link = memory_allocate_zeroed(sizeof(*link));

    list_node_init(&link->node);
    list_node_init(&link->dirty_node);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        list_init(&link->classes[class].queue);
    link->host = host;
    link->tls = tls;
    return link;
}

struct link *link_connect(struct link_host *host, uint32_t place, const struct address *address,
                          struct tls *tls, struct error *error)
{
    struct link *link = create(host, tls);

    link->outgoing = 1;
    link->place = place;
    link->state = LINK_STATE_CONNECTING;
    if (sock_connect(host->socks, address, (struct sock_ports){0}, link, &link->sock, error) < 0) {
        tls_destroy(tls);
        free(link);
        return NULL;
    }
    return link;
}

struct link *link_accept(struct link_host *host, struct sock *sock, struct tls *tls)
{
    struct link *link = create(host, tls);

    link->state = LINK_STATE_SECURING;
    link->sock = sock;
    sock_set_user(sock, link);
    sock_post_readable(sock);
    return link;
}

static void free_queued(struct queued *queued)
{
    if (queued == NULL)
        return;
    message_release(queued->payload);
    free(queued);
}

static void destroy(struct link *link)
{
    link->host->gone(link);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        struct list_node *node;
        struct list_node *spare;
        list_for_each(&link->classes[class].queue, node, spare)
            free_queued(list_entry(node, struct queued, node));
        message_release(link->classes[class].parts);
    }
    free_queued(link->piece.owner);
    message_release(link->message);
    buffer_fini(&link->pending);
    buffer_fini(&link->later);
    tls_destroy(link->tls);
    free(link);
}

void link_drop(struct link *link)
{
    step(link, EVENT_DROP);
}

/* Ends the link; tells it unless this side was closing anyway. */
static void end(struct link *link, enum link_goodbye goodbye, const struct error *why)
{
    enum link_state before = link->state;

    if (before == LINK_STATE_DEAD)
        return;
    step(link, EVENT_DROP);
    if (before < LINK_STATE_FLUSHING)
        link->host->ended(link, goodbye, why);
}

static void fail_code(struct link *link, int code)
{
    struct error why;

    sock_describe_code(link->sock, code, &why);
    end(link, LINK_GOODBYE_COUNT, &why);
}

/* What the peer did wrong, with its address in front. */
static void fail_text(struct link *link, const struct error *what)
{
    struct error why = *what;
    char text[ADDRESS_TEXT_BYTES];

    error_prefix(&why, "%s", address_print(sock_peer_address(link->sock), text));
    end(link, LINK_GOODBYE_COUNT, &why);
}

static void fail_protocol(struct link *link, const char *what)
{
    struct error why;

    error_set(&why, -EPROTO, "%s", what);
    fail_text(link, &why);
}

/* ---- Writing ---- */

static void post_pending(struct link *link)
{
    sock_post_write(link->sock, link->pending.data, link->pending.length_bytes,
                    link->pending.length_bytes, NULL);
}

/* Gives host->output to the system.  What it does not take is posted from link->pending; while that
 * is posted its memory is lent, and what TLS says meanwhile waits in link->later. */
static void write_output(struct link *link)
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
            post_pending(link);
    }
    buffer_clear(output);
    if (rc < 0 && rc != -EAGAIN)
        fail_code(link, rc);
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
    free_queued(piece->owner);
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
    for (int round = 0; round < ROUNDS_MAX && link->pending.length_bytes == 0; round++) {
        if (encrypt(link) < 0) {
            buffer_clear(&link->host->output);
            fail_protocol(link, "TLS failed to encrypt");
            return;
        }
        if (link->host->output.length_bytes == 0) {
            if (link->state == LINK_STATE_FLUSHING)
                step(link, EVENT_FLUSHED);
            return;
        }
        write_output(link);
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

/* GOODBYE goes in the bulk class: behind everything. */
void link_close(struct link *link, enum link_goodbye reason, const char *text)
{
    if (link->state == LINK_STATE_GREETING || link->state == LINK_STATE_UP) {
        struct frame frame = {.type = LINK_GOODBYE, .class = FRAME_BULK};
        frame.incarnation = link->host->incarnation;
        frame.payload = link_goodbye_encode(reason, text);
        link_send(link, &frame);
    }
    step(link, EVENT_CLOSE);
}

void link_admit(struct link *link)
{
    if (!link->outgoing)
        send_hello(link);
}

/* ---- Reading ---- */

static int is_reading(const struct link *link)
{
    return link->state == LINK_STATE_GREETING || link->state == LINK_STATE_UP ||
           link->state == LINK_STATE_FLUSHING;
}

static void refuse_version(struct link *link, uint32_t version)
{
    struct error why;
    char text[ADDRESS_TEXT_BYTES];

    error_set(&why, -EPROTO, "banyan there speaks link protocol %u, here %u", version,
              LINK_PROTOCOL_VERSION);
    if (link->outgoing) {
        fail_text(link, &why);
        return;
    }
    log_warning("%s: %s", address_print(sock_peer_address(link->sock), text), why.text);
    error_set(&why, -EPROTO, "banyan there speaks link protocol %u, here %u", LINK_PROTOCOL_VERSION,
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
        fail_protocol(link, "a second HELLO");
    } else if (link_hello_decode(message, &version, &place, &incarnation) < 0) {
        fail_protocol(link, "a malformed HELLO");
    } else if (version != LINK_PROTOCOL_VERSION) {
        refuse_version(link, version);
    } else if (link->outgoing && place != link->place) {
        error_set(&why, -EACCES, "is place %u, not place %u", place, link->place);
        fail_text(link, &why);
    } else {
        link->place = place;
        link->incarnation = incarnation;
        step(link, EVENT_GREETED);
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
        fail_protocol(link, "a malformed GOODBYE");
        return;
    }
    address_print(sock_peer_address(link->sock), address);
    if (reason == LINK_CLOSED)
        error_set(&why, -ESHUTDOWN, "%s: the peer closed the link%s%s", address,
                  text[0] != '\0' ? ": " : "", text);
    else
        error_set(&why, reason == LINK_DUPLICATE ? -EEXIST : -ECONNREFUSED,
                  "%s: the peer refused the link: %s", address, text);
    end(link, reason, &why);
}

static struct message *allocate_message(size_t bytes)
{
    struct message *message = memory_allocate(sizeof(*message) + bytes);

    message->references = 1;
    message->length_bytes = bytes;
    return message;
}

static void take_large(struct link *link, struct message *message)
{
    struct link_class *class = &link->classes[link->current.class];

    if (class->parts != NULL || message == NULL || message->length_bytes != FRAME_HEADER_BYTES ||
        frame_decode(message->data, &class->large) < 0 ||
        class->large.length_bytes - FRAME_HEADER_BYTES <= LINK_CHUNK_BYTES ||
        class->large.class != link->current.class || class->large.type < LINK_TYPE_LIMIT) {
        fail_protocol(link, "a malformed announcement of a large frame");
        return;
    }
    class->parts = allocate_message(class->large.length_bytes - FRAME_HEADER_BYTES);
    class->parts_bytes = 0;
}

/* Hands a frame upward and releases its payload. */
static void deliver(struct link *link, const struct frame_header *header, struct message *payload)
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

    class->parts_bytes += link->current.length_bytes - FRAME_HEADER_BYTES;
    if (class->parts_bytes < whole->length_bytes)
        return;
    class->parts = NULL;
    deliver(link, &class->large, whole);
}

static void take_frame(struct link *link)
{
    struct message *message = link->message;

    link->header_filled = 0;
    link->message = NULL;
    link->body = NULL;
    if (link->current.type >= LINK_TYPE_LIMIT) {
        deliver(link, &link->current, message);
        return;
    }
    if (link->current.type == LINK_HELLO)
        take_hello(link, message);
    else if (link->current.type == LINK_GOODBYE)
        take_goodbye(link, message);
    else if (link->current.type == LINK_LARGE)
        take_large(link, message);
    else
        take_part(link);
    message_release(message);
}

/* The header is there: checks it and says where the payload goes. */
static int start_body(struct link *link)
{
    struct link_class *class;
    size_t bytes;

    if (frame_decode(link->header, &link->current) < 0)
        return -EBADMSG;
    class = &link->classes[link->current.class];
    bytes = link->current.length_bytes - FRAME_HEADER_BYTES;
    link->body_left = bytes;
    if (link->current.sequence != ++class->sequence_in || bytes > LINK_CHUNK_BYTES)
        return -EBADMSG;
    if (link->current.type == LINK_PART) {
        if (class->parts == NULL || bytes > class->parts->length_bytes - class->parts_bytes)
            return -EBADMSG;
        link->body = class->parts->data + class->parts_bytes;
        return 0;
    }
    if (link->current.type < LINK_TYPE_LIMIT &&
        (link->current.type >= LINK_MESSAGE_COUNT || bytes > LINK_OWN_BYTES_MAX))
        return -EBADMSG;
    if (link->state == LINK_STATE_GREETING && link->current.type >= LINK_TYPE_LIMIT)
        return -EBADMSG;
    if (bytes > 0) {
        link->message = allocate_message(bytes);
        link->body = link->message->data;
    }
    return 0;
}

/* Cuts plaintext into frames. */
static void take_plain(struct link *link, const unsigned char *data, size_t bytes)
{
    while (is_reading(link)) {
        size_t step_bytes;
        if (link->header_filled < FRAME_HEADER_BYTES) {
            step_bytes = smaller(bytes, FRAME_HEADER_BYTES - link->header_filled);
            memcpy(link->header + link->header_filled, data, step_bytes);
            link->header_filled += step_bytes;
            data += step_bytes;
            bytes -= step_bytes;
            if (link->header_filled < FRAME_HEADER_BYTES)
                return;
            if (start_body(link) < 0) {
                fail_protocol(link, "a malformed frame");
                return;
            }
        }
        step_bytes = smaller(bytes, link->body_left);
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

/* One decryption; long payloads in place. 0, -EAGAIN, or what ended it. */
static int read_plain(struct link *link)
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
        take_plain(link, link->host->plain, bytes);
    return rc;
}

static void secure(struct link *link)
{
    struct error why;
    int rc;

    tls_output(link->tls, &link->host->output);
    rc = tls_handshake(link->tls, &why);
    if (link->host->output.length_bytes > 0 && (rc < 0 || link->pending.length_bytes > 0))
        write_output(link);
    if (rc == -EAGAIN || link->state != LINK_STATE_SECURING)
        return;
    if (rc < 0) {
        fail_text(link, &why);
        return;
    }
    step(link, EVENT_SECURED);
    link->host->secured(link);
    /* The last flight of the handshake and HELLO leave in one write. */
    link_flush(link);
    buffer_clear(&link->host->output);
}

/* Works on ciphertext that came. */
static void take_input(struct link *link, size_t bytes)
{
    int rc = 0;

    tls_input(link->tls, link->host->input, bytes);
    if (link->state == LINK_STATE_SECURING)
        secure(link);
    tls_output(link->tls, &link->host->output);
    while (rc == 0 && is_reading(link))
        rc = read_plain(link);
    /* TLS may have something to say by itself: a key update. */
    if (link->state <= LINK_STATE_FLUSHING && link->host->output.length_bytes > 0)
        write_output(link);
    buffer_clear(&link->host->output);
    if (rc == -EPIPE)
        fail_code(link, -EPIPE);
    else if (rc < 0 && rc != -EAGAIN)
        fail_protocol(link, "sent what is no TLS record of this link");
}

static void on_readable(struct link *link)
{
    for (int round = 0; round < ROUNDS_MAX; round++) {
        size_t bytes = 0;
        int rc = sock_read(link->sock, link->host->input, LINK_INPUT_BYTES, &bytes);
        if (rc == -EAGAIN)
            break;
        if (rc < 0) {
            fail_code(link, rc);
            return;
        }
        if (link->state != LINK_STATE_LINGERING)
            take_input(link, bytes);
        if (link->state == LINK_STATE_DEAD)
            return;
        if (bytes < LINK_INPUT_BYTES)
            break;
    }
    sock_post_readable(link->sock);
}

static void on_connect(struct link *link, const struct sock_event *event)
{
    if (event->status != SOCK_OK) {
        struct error why;
        sock_describe(event, &why);
        end(link, LINK_GOODBYE_COUNT, &why);
        return;
    }
    step(link, EVENT_CONNECTED);
    secure(link);
    if (link->state != LINK_STATE_DEAD)
        sock_post_readable(link->sock);
}

static void on_written(struct link *link, const struct sock_event *event)
{
    buffer_fini(&link->pending);
    if (event->status != SOCK_OK) {
        struct error why;
        sock_describe(event, &why);
        end(link, LINK_GOODBYE_COUNT, &why);
        return;
    }
    buffer_swap(&link->pending, &link->later);
    if (link->pending.length_bytes > 0)
        post_pending(link);
    else
        link_flush(link);
}

void link_sock_event(struct link *link, const struct sock_event *event)
{
    if (event->operation == SOCK_CLOSE) {
        link->sock = NULL;
        destroy(link);
        return;
    }
    if (link->state == LINK_STATE_DEAD)
        return;
    if (event->operation == SOCK_CONNECT)
        on_connect(link, event);
    else if (event->operation == SOCK_READABLE)
        on_readable(link);
    else if (event->operation == SOCK_WRITE)
        on_written(link, event);
}
