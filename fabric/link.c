/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/address.h"
#include "fabric/link_private.h"
#include "fabric/link_wire.h"
#include "fabric/secret.h"

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

static void link_class_check(const struct link_class *class, uint32_t window_bytes)
{
    assert(class->window_bytes <= window_bytes && class->taken_bytes <= window_bytes / 4);
    assert(list_is_empty(&class->queue) == (class->queued_bytes == 0));
    assert(class->parts == NULL || class->parts_bytes < class->parts->length_bytes);
}

/* Invariants between two events of the sock. */
static void link_check(const struct link *link)
{
    assert(link->host != NULL && link->sock != NULL);
    assert(link->state < LINK_STATE_COUNT);
    assert(link->state != LINK_STATE_CONNECTING || link->outgoing);
    assert(link->tls != NULL || !link->outgoing);
    assert(link->tls != NULL || link->state == LINK_STATE_SECURING ||
           link->state == LINK_STATE_DEAD);
    assert(link->state == LINK_STATE_DEAD || link->tls == NULL || link->pending.length_bytes > 0 ||
           link->later.length_bytes == 0);
    assert(link->piece.header_sent <= link->piece.header_bytes);
    assert(link->piece.header_bytes <= sizeof(link->piece.header));
    assert(link->header_filled <= sizeof(link->header));
    assert(link->message == NULL || link->header_filled == sizeof(link->header));
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        link_class_check(&link->classes[class], link_limits[class].window_bytes);
}

void link_step(struct link *link, enum link_event event)
{
    transition *handler = transitions[link->state][event];
    enum link_state before = link->state;

    assert(event < EVENT_COUNT);
    assert(handler != NULL);
    link->state = handler(link);
    assert(link->state >= before); /* states only advance */
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
    return banyan_sock_shutdown_write(link->sock) < 0 ? on_drop(link) : LINK_STATE_LINGERING;
}

static enum link_state on_drop(struct link *link)
{
    int rc = banyan_sock_post_close(link->sock);

    assert(rc == 0);
    return LINK_STATE_DEAD;
}

/* ---- Birth and death ---- */

static struct link *create_link(struct link_host *host, struct tls *tls)
{
    struct link *link = memory_allocate_zeroed(sizeof(*link));

    list_link_init(&link->node);
    list_link_init(&link->dirty_node);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        list_init(&link->classes[class].queue);
        link->classes[class].window_bytes = link_limits[class].window_bytes;
    }
    link->host = host;
    link->tls = tls;
    return link;
}

struct link *link_connect(struct link_host *host, uint32_t place, const struct address *address,
                          struct tls *tls, struct error *error)
{
    struct link *link = create_link(host, tls);

    assert(tls != NULL && address != NULL);
    link->outgoing = 1;
    link->place = place;
    link->state = LINK_STATE_CONNECTING;
    if (banyan_sock_connect(host->socks, address, (struct banyan_sock_ports){0}, link, &link->sock,
                            error) < 0) {
        tls_destroy(tls);
        free(link);
        return NULL;
    }
    link_keep_alive(link);
    return link;
}

struct link *link_accept(struct link_host *host, struct banyan_sock *sock)
{
    struct link *link = create_link(host, NULL);

    assert(sock != NULL);
    link->state = LINK_STATE_SECURING;
    link->sock = sock;
    banyan_sock_set_user(sock, link);
    link_keep_alive(link);
    banyan_sock_post_readable(sock);
    return link;
}

void link_queued_free(struct queued *queued)
{
    if (queued == NULL)
        return;
    if (queued->header.type == LINK_GUEST_ANSWER)
        secret_clear(queued->payload->data, queued->payload->length_bytes);
    message_release(queued->payload);
    free(queued);
}

static void destroy_link(struct link *link)
{
    link->host->gone(link);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        struct list_link *node;
        struct list_link *spare;
        list_for_each(&link->classes[class].queue, node, spare)
            link_queued_free(list_entry(node, struct queued, node));
        message_release(link->classes[class].parts);
    }
    link_queued_free(link->piece.owner);
    message_release(link->message);
    buffer_fini(&link->pending);
    buffer_fini(&link->later);
    tls_destroy(link->tls);
    free(link);
}

void link_drop(struct link *link)
{
    link_step(link, EVENT_DROP);
}

void link_end(struct link *link, enum link_goodbye goodbye, const struct error *why)
{
    enum link_state before = link->state;

    assert(why != NULL && goodbye <= LINK_GOODBYE_COUNT);
    if (before == LINK_STATE_DEAD)
        return;
    link_step(link, EVENT_DROP);
    if (before < LINK_STATE_FLUSHING)
        link->host->ended(link, goodbye, why);
}

void link_fail_code(struct link *link, int code)
{
    struct error why;

    banyan_sock_describe_code(link->sock, code, &why);
    link_end(link, LINK_GOODBYE_COUNT, &why);
}

void link_fail_text(struct link *link, const struct error *what)
{
    struct error why = *what;
    char text[ADDRESS_TEXT_BYTES];

    error_prefix(&why, "%s", address_print(banyan_sock_peer_address(link->sock), text));
    link_end(link, LINK_GOODBYE_COUNT, &why);
}

void link_fail_protocol(struct link *link, const char *what)
{
    struct error why;

    error_set(&why, -EPROTO, "%s", what);
    link_fail_text(link, &why);
}

/* ---- Closing ---- */

/* GOODBYE goes in the bulk class: after everything else. */
void link_close(struct link *link, enum link_goodbye reason, const char *text)
{
    assert(reason < LINK_GOODBYE_COUNT && text != NULL);
    if (link->state == LINK_STATE_GREETING || link->state == LINK_STATE_UP) {
        struct frame frame = {.type = LINK_GOODBYE, .class = FRAME_BULK};
        frame.incarnation = link->host->incarnation;
        frame.payload = link_goodbye_encode(reason, text);
        link_send(link, &frame);
    }
    link_step(link, EVENT_CLOSE);
}

void link_admit(struct link *link)
{
    assert(link->state == LINK_STATE_UP);
    if (!link->outgoing)
        send_hello(link);
}

/* ---- Events of the sock ---- */

static void continue_handshake(struct link *link)
{
    struct error why;
    int rc;

    tls_output(link->tls, &link->host->output);
    rc = tls_handshake(link->tls, &why);
    if (link->host->output.length_bytes > 0 && (rc < 0 || link->pending.length_bytes > 0))
        link_write_output(link);
    if (rc == -EAGAIN || link->state != LINK_STATE_SECURING)
        return;
    if (rc < 0) {
        link_fail_text(link, &why);
        return;
    }
    link_step(link, EVENT_SECURED);
    link->host->secured(link);
    /* The last flight of the handshake and HELLO leave in one write. */
    link_flush(link);
    buffer_clear(&link->host->output);
}

/* Processes received ciphertext. */
static void take_input(struct link *link, const unsigned char *data, size_t bytes)
{
    int rc = 0;

    tls_input(link->tls, data, bytes);
    if (link->state == LINK_STATE_SECURING)
        continue_handshake(link);
    tls_output(link->tls, &link->host->output);
    while (rc == 0 && link_is_reading(link))
        rc = link_read_plain(link);
    /* TLS may have something to say by itself: a key update. */
    if (link->state <= LINK_STATE_FLUSHING && link->host->output.length_bytes > 0)
        link_write_output(link);
    buffer_clear(&link->host->output);
    if (rc == -EPIPE)
        link_fail_code(link, -EPIPE);
    else if (rc < 0 && rc != -EAGAIN)
        link_fail_protocol(link, "sent something that is not a TLS record of this link");
}

/* A stranger gets no TLS before it has sent something that looks like one of our handshakes:
 * garbage, scanners and silent connections cost next to nothing. */
static void take_stranger(struct link *link, const unsigned char *data, size_t bytes)
{
    struct buffer said = {0};
    struct error why;
    int rc;

    buffer_append(&link->later, data, bytes);
    rc = tls_is_hello(link->later.data, link->later.length_bytes);
    if (rc == 0)
        return;
    if (rc < 0) {
        link_fail_protocol(link, "does not speak our TLS");
        return;
    }
    link->tls = link->host->stranger(link, &why);
    if (link->tls == NULL) {
        link_fail_text(link, &why);
        return;
    }
    buffer_swap(&said, &link->later);
    take_input(link, said.data, said.length_bytes);
    buffer_fini(&said);
}

static void on_readable(struct link *link)
{
    for (int round = 0; round < LINK_ROUNDS_MAX; round++) {
        size_t bytes = 0;
        int rc = banyan_sock_read(link->sock, link->host->input, LINK_INPUT_BYTES, &bytes);
        if (rc == -EAGAIN)
            break;
        if (rc < 0) {
            link_fail_code(link, rc);
            return;
        }
        if (link->tls == NULL)
            take_stranger(link, link->host->input, bytes);
        else if (link->state != LINK_STATE_LINGERING)
            take_input(link, link->host->input, bytes);
        if (link->state == LINK_STATE_DEAD)
            return;
        if (bytes < LINK_INPUT_BYTES)
            break;
    }
    banyan_sock_post_readable(link->sock);
}

static void on_connect(struct link *link, const struct banyan_sock_event *event)
{
    if (event->status != BANYAN_SOCK_OK) {
        struct error why;
        banyan_sock_describe(event, &why);
        link_end(link, LINK_GOODBYE_COUNT, &why);
        return;
    }
    link_step(link, EVENT_CONNECTED);
    continue_handshake(link);
    if (link->state != LINK_STATE_DEAD)
        banyan_sock_post_readable(link->sock);
}

static void on_written(struct link *link, const struct banyan_sock_event *event)
{
    buffer_fini(&link->pending);
    if (event->status != BANYAN_SOCK_OK) {
        struct error why;
        banyan_sock_describe(event, &why);
        link_end(link, LINK_GOODBYE_COUNT, &why);
        return;
    }
    buffer_swap(&link->pending, &link->later);
    if (link->pending.length_bytes > 0)
        link_post_pending(link);
    else
        link_flush(link);
}

void link_sock_event(struct link *link, const struct banyan_sock_event *event)
{
    link_check(link);
    if (event->operation == BANYAN_SOCK_CLOSE) {
        link->sock = NULL;
        destroy_link(link);
        return;
    }
    if (link->state == LINK_STATE_DEAD)
        return;
    if (event->operation == BANYAN_SOCK_CONNECT)
        on_connect(link, event);
    else if (event->operation == BANYAN_SOCK_READABLE)
        on_readable(link);
    else if (event->operation == BANYAN_SOCK_WRITE)
        on_written(link, event);
    link_check(link);
}
