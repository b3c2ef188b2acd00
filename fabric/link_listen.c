/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_listen.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "fabric/address.h"
#include "fabric/link_identity.h"

#define HANDSHAKE_NS      (5 * NS_PER_S)
#define ACCEPT_PAUSE_NS   (100 * NS_PER_MS)
#define HALF_OPEN_MAX     1024
#define HANDSHAKES_MAX    128 /* of those, with TLS: some 43 kB each */
#define ACCEPTS_PER_EVENT 64

/* The oldest half-open connection is the least likely to be an honest one. */
static int drop_oldest_half_open(struct link_set *set, int with_tls)
{
    struct list_link *node;
    struct list_link *spare;

    list_for_each(&set->unsettled, node, spare)
    {
        struct link *link = list_entry(node, struct link, node);
        if (link->half_open && (!with_tls || link->tls != NULL)) {
            link_set_end_half_open(set, link);
            link->deadline_ns = UINT64_MAX;
            link_drop(link);
            return 1;
        }
    }
    return 0;
}

static void pause_accepting(struct link_set *set, const struct error *why)
{
    link_set_log_refused(set, why);
    set->accept_paused = 1;
    for (int i = 0; i < set->listener_count; i++)
        banyan_sock_listener_pause(set->listeners[i], 1);
    link_set_arm_clock(set, loop_now_ns() + ACCEPT_PAUSE_NS);
}

static int find_key(void *context, const char *text, unsigned char *ret_key)
{
    struct link_set *set = context;
    struct link_identity identity;

    if (link_identity_parse(text, &identity) < 0)
        return set->guests != NULL ? set->guests->find_key(set->guests_context, text, ret_key)
                                   : -EPROTO;
    if (strcmp(identity.session, set->session) != 0 || identity.to != set->host.place ||
        identity.from == set->host.place)
        return -EACCES;
    return tls_derive_key(set->secret, LINK_SECRET_BYTES, text, ret_key);
}

struct tls *link_listen_stranger(struct link *link, struct error *error)
{
    struct link_set *set = link->host->context;
    struct tls *tls;

    if (set->handshake_count >= HANDSHAKES_MAX)
        drop_oldest_half_open(set, 1);
    tls = tls_create_server(find_key, set, error);
    if (tls != NULL)
        set->handshake_count++;
    return tls;
}

static int accept_one(struct link_set *set, struct banyan_sock *listener)
{
    struct error why;
    struct banyan_sock *sock;
    struct link *link;
    int rc = banyan_sock_accept(listener, set->host.socks, NULL, &sock, &why);

    if (rc == -EAGAIN)
        return rc;
    if (rc < 0) {
        /* Other errors concern only the connection that was lost. */
        if (banyan_sock_status_of(-rc) == BANYAN_SOCK_NO_DESCRIPTORS ||
            banyan_sock_status_of(-rc) == BANYAN_SOCK_NO_BUFFERS) {
            if (!drop_oldest_half_open(set, 0))
                pause_accepting(set, &why);
        }
        return rc;
    }
    if (set->half_open_count >= HALF_OPEN_MAX)
        drop_oldest_half_open(set, 0);
    link = link_accept(&set->host, sock);
    link->half_open = 1;
    set->half_open_count++;
    link_set_add(set, link);
    link_set_deadline(set, link, HANDSHAKE_NS);
    return 0;
}

void link_listen_accept(struct link_set *set, struct banyan_sock *listener)
{
    for (int i = 0; i < ACCEPTS_PER_EVENT; i++)
        if (accept_one(set, listener) < 0)
            break;
}

void link_listen_resume(struct link_set *set)
{
    if (!set->accept_paused)
        return;
    set->accept_paused = 0;
    for (int i = 0; i < set->listener_count; i++)
        banyan_sock_listener_pause(set->listeners[i], 0);
}

static int listen_one(struct link_set *set, struct address address, uint16_t *port,
                      struct error *error)
{
    struct address *actual = &set->addresses.items[set->listener_count];
    struct banyan_sock **listener = &set->listeners[set->listener_count];
    uint16_t wanted = address_port(&address);
    int rc = -EADDRINUSE;

    assert(set->listener_count < ADDRESSES_MAX);
    if (wanted == 0 && *port != 0) {
        address_set_port(&address, *port);
        rc = banyan_sock_listen(set->host.socks, &address, set->ports, NULL, listener, NULL);
        address_set_port(&address, 0);
    }
    if (rc < 0)
        rc = banyan_sock_listen(set->host.socks, &address, set->ports, NULL, listener, error);
    if (rc < 0)
        return rc;
    banyan_sock_local_address(*listener, actual);
    set->addresses.count = (uint8_t)++set->listener_count;
    if (wanted == 0)
        *port = address_port(actual);
    return 0;
}

int link_listen_all(struct link_set *set, const struct addresses *addresses, uint16_t wished,
                    struct error *error)
{
    uint16_t port = wished;
    int rc = 0;

    assert(set->listener_count == 0);
    for (int i = 0; rc == 0 && i < addresses->count; i++)
        rc = listen_one(set, addresses->items[i], &port, error);
    return rc;
}

void link_listen_stop(struct link_set *set)
{
    for (int i = 0; i < set->listener_count; i++)
        banyan_sock_post_close(set->listeners[i]);
    set->listener_count = 0;
    set->addresses.count = 0;
}

static void refuse_guest(struct link_set *set, struct link *link, const struct error *why)
{
    char text[ADDRESS_TEXT_BYTES];

    log_warning("refused a daemon that wants to join from %s: %s",
                address_print(banyan_sock_peer_address(link->sock), text), why->text);
    link_set_close(set, link, LINK_REFUSED, why->text);
}

/* Only HELLO has been read from the guest, and nothing more will be. */
int link_listen_guest(struct link_set *set, struct link *link)
{
    struct frame frame = {
        .type = LINK_GUEST_ANSWER, .class = FRAME_BULK, .incarnation = set->host.incarnation};
    struct link_identity identity;
    struct error why = ERROR_NONE;

    assert(link->state == LINK_STATE_UP && !link->outgoing);
    if (set->guests == NULL || link_identity_parse(tls_identity(link->tls), &identity) == 0)
        return 0;
    if (set->finished == NULL)
        frame.payload = set->guests->answer(set->guests_context, tls_identity(link->tls), &why);
    else
        error_set(&why, -ESHUTDOWN, "the instance is ending");
    if (frame.payload == NULL) {
        refuse_guest(set, link, &why);
        return 1;
    }
    link->is_guest = 1;
    link_admit(link);
    link_send(link, &frame);
    link_set_close(set, link, LINK_CLOSED, "");
    link_set_deadline(set, link, HANDSHAKE_NS);
    return 1;
}

void link_listen_expire(struct link_set *set, struct link *link)
{
    struct error why;
    char text[ADDRESS_TEXT_BYTES];

    assert(link->half_open);
    error_set(&why, -ETIMEDOUT, "%s: no handshake within %llu s",
              address_print(banyan_sock_peer_address(link->sock), text), HANDSHAKE_NS / NS_PER_S);
    link_set_log_refused(set, &why);
}
