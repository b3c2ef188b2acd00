/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "fabric/address.h"
#include "fabric/link_attempt.h"
#include "fabric/link_identity.h"
#include "fabric/link_listen.h"
#include "fabric/secret.h"
#include "fabric/tls.h"

#define CLOSE_NS        NS_PER_S
#define PATIENCE_NS     (NS_PER_S / 50) /* for frames that may wait */
#define EVENTS_PER_TURN 256
#define LOG_LINES_PER_S 20

/* ---- Helpers ---- */

/* Invariants at every event and call. */
static void link_set_check(const struct link_set *set)
{
    assert(set->handshake_count <= set->half_open_count);
    assert(set->half_open_count <= set->link_count);
    assert((set->link_count == 0) ==
           (list_is_empty(&set->unsettled) && list_is_empty(&set->settled)));
    assert(set->listener_count >= 0 && set->listener_count <= ADDRESSES_MAX);
    assert(set->listener_count == set->addresses.count);
    assert(set->finished == NULL || set->listener_count == 0);
    assert(set->work <= WORK_LAST);
}

void link_set_arm_clock(struct link_set *set, uint64_t deadline_ns)
{
    if (deadline_ns >= set->clock_ns)
        return;
    set->clock_ns = deadline_ns;
    loop_timer_set(set->clock, deadline_ns);
}

static void do_work(void *context);

void link_set_schedule(struct link_set *set)
{
    if (set->work != WORK_NONE)
        return;
    set->work = WORK_NEXT;
    loop_defer(set->loop, do_work, set);
}

/* Strangers may connect as often as they like; the log gets a limited number of lines a second. */
void link_set_log_refused(struct link_set *set, const struct error *why)
{
    uint64_t second = loop_now_ns() / (NS_PER_S);

    if (second != set->log_second) {
        set->log_second = second;
        set->log_lines = 0;
    }
    if (set->log_lines++ < LOG_LINES_PER_S)
        log_info("refused a connection: %s", why->text);
}

struct peer *link_set_peer(struct link_set *set, uint32_t place)
{
    return hash_map_get_u64(set->peers, place);
}

static struct peer *make_peer(struct link_set *set, uint32_t place)
{
    struct peer *peer = link_set_peer(set, place);

    if (peer == NULL) {
        peer = memory_allocate_zeroed(sizeof(*peer));
        peer->place = place;
        hash_map_put_u64(set->peers, place, peer);
    }
    return peer;
}

void link_set_drop_peer_if_idle(struct link_set *set, struct peer *peer)
{
    if (peer->link != NULL || peer->attempt != NULL)
        return;
    hash_map_remove_u64(set->peers, peer->place);
    free(peer);
}

void link_set_deadline(struct link_set *set, struct link *link, uint64_t wait_ns)
{
    link->deadline_ns = loop_now_ns() + wait_ns;
    link_set_arm_clock(set, link->deadline_ns);
}

void link_set_add(struct link_set *set, struct link *link)
{
    set->link_count++;
    list_append(&set->unsettled, &link->node);
}

void link_set_end_half_open(struct link_set *set, struct link *link)
{
    if (link->half_open) {
        assert(set->half_open_count > 0);
        assert(link->tls == NULL || set->handshake_count > 0);
        set->half_open_count--;
        set->handshake_count -= link->tls != NULL;
    }
    link->half_open = 0;
}

void link_set_close(struct link_set *set, struct link *link, enum link_goodbye reason,
                    const char *text)
{
    assert(list_is_linked(&link->node));
    link_set_end_half_open(set, link);
    list_remove(&link->node);
    list_append(&set->unsettled, &link->node);
    link_close(link, reason, text);
    link_set_deadline(set, link, CLOSE_NS);
}

/* ---- Callbacks of links ---- */

static struct link_set *set_of(struct link *link)
{
    return link->host->context;
}

/* The first address at which the right peer answers is used; connections to the others are
 * dropped. */
static void on_secured(struct link *link)
{
    struct link_set *set = set_of(link);
    struct attempt *attempt = link->attempt;

    if (attempt != NULL)
        link_attempt_choose(set, attempt, link);
}

static void look_later(struct link_set *set, int soon)
{
    uint64_t now_ns = loop_now_ns();

    set->is_looking = 1;
    loop_timer_set_between(set->look, now_ns + LINK_LOOK_NS,
                           now_ns + (soon ? LINK_LOOK_NS : LINK_LOOK_NS_MAX));
}

static void settle_link(struct link_set *set, struct link *link)
{
    struct peer *peer = make_peer(set, link->place);

    assert(link->state == LINK_STATE_UP && link->place != set->host.place);
    assert(peer->link == NULL);
    link_set_end_half_open(set, link);
    list_remove(&link->node);
    list_append(&set->settled, &link->node);
    if (!set->is_looking)
        look_later(set, 0);
    link->attempt = NULL;
    link->deadline_ns = UINT64_MAX;
    peer->link = link;
    if (peer->attempt != NULL)
        link_attempt_end(set, peer->attempt);
    link_admit(link);
    set->events->up(set->context, link->place, link->incarnation);
}

/* Ends the old link of a place that has returned: its process has exited. */
static void replace_link(struct link_set *set, struct peer *peer, uint32_t incarnation)
{
    uint32_t place = peer->place;
    struct error why;

    assert(peer->link != NULL);
    error_set(&why, -ESTALE, "place %u came back with incarnation %u", place, incarnation);
    link_drop(peer->link);
    peer->link = NULL;
    link_set_drop_peer_if_idle(set, peer);
    set->events->down(set->context, place, &why);
}

/* LINK_GOODBYE_COUNT: the link may stay. */
static enum link_goodbye judge_incoming(struct link_set *set, struct link *link,
                                        const char **ret_text)
{
    struct peer *peer = link_set_peer(set, link->place);
    struct link_identity identity;

    if (link_identity_parse(tls_identity(link->tls), &identity) < 0 ||
        identity.from != link->place || identity.incarnation != link->incarnation) {
        *ret_text = "HELLO and the authenticated identity differ";
        return LINK_REFUSED;
    }
    if (set->finished != NULL) {
        *ret_text = "this place is ending";
        return LINK_REFUSED;
    }
    if (peer != NULL && peer->link != NULL && link->incarnation <= peer->link->incarnation) {
        *ret_text = "these places already have a link";
        return LINK_DUPLICATE;
    }
    if (peer != NULL && peer->link == NULL && peer->attempt != NULL &&
        link_attempt_is_alive(peer->attempt) && set->host.place < link->place) {
        *ret_text = "both places connected at once";
        return LINK_CROSSED;
    }
    return LINK_GOODBYE_COUNT;
}

/* Reports why to the peer and, if it may be an attack, to the log. */
static void refuse_link(struct link_set *set, struct link *link, enum link_goodbye verdict,
                        const char *text)
{
    struct error why;
    char address[ADDRESS_TEXT_BYTES];

    if (verdict == LINK_REFUSED) {
        error_set(&why, -EACCES, "%s: %s",
                  address_print(banyan_sock_peer_address(link->sock), address), text);
        link_set_log_refused(set, &why);
    }
    link_set_close(set, link, verdict, text);
}

static void on_greeted(struct link *link)
{
    struct link_set *set = set_of(link);
    const char *text = "";
    enum link_goodbye verdict = LINK_GOODBYE_COUNT;
    struct peer *peer;

    if (!link->outgoing && link_listen_guest(set, link))
        return;
    if (!link->outgoing)
        verdict = judge_incoming(set, link, &text);
    if (verdict != LINK_GOODBYE_COUNT) {
        refuse_link(set, link, verdict, text);
        return;
    }
    peer = link_set_peer(set, link->place);
    if (peer != NULL && peer->link != NULL)
        replace_link(set, peer, link->incarnation);
    /* The upcall may have ended the link. */
    if (link->state == LINK_STATE_UP)
        settle_link(set, link);
}

static void on_frame(struct link *link, const struct frame *frame)
{
    struct link_set *set = set_of(link);

    set->events->frame(set->context, link->place, frame);
}

static void on_ended(struct link *link, enum link_goodbye goodbye, const struct error *why)
{
    struct link_set *set = set_of(link);
    struct peer *peer = link_set_peer(set, link->place);
    struct attempt *attempt = link->attempt;

    link->attempt = NULL;
    if (attempt != NULL) {
        link_attempt_lose(set, attempt, goodbye, why);
    } else if (peer != NULL && peer->link == link) {
        peer->link = NULL;
        link_set_drop_peer_if_idle(set, peer);
        set->events->down(set->context, link->place, why);
    } else if (link->tls != NULL && (why->code == -EPIPE || why->code == -ECONNRESET)) {
        /* A peer that found a better address. */
        log_debug("a connection ended before the handshake was complete: %s", why->text);
    } else {
        link_set_log_refused(set, why);
    }
}

static void on_gone(struct link *link)
{
    struct link_set *set = set_of(link);

    assert(set->link_count > 0);
    link_set_end_half_open(set, link);
    list_remove(&link->node);
    list_remove(&link->dirty_node);
    set->link_count--;
    if (set->finished != NULL && set->link_count == 0)
        link_set_schedule(set);
}

static void on_dirty(struct link *link)
{
    struct link_set *set = set_of(link);

    list_remove(&link->dirty_node);
    list_append(&set->dirty, &link->dirty_node);
    link_set_schedule(set);
}

static void on_patient(struct link *link)
{
    struct link_set *set = set_of(link);

    if (list_is_linked(&link->dirty_node))
        return;
    if (list_is_empty(&set->patient)) {
        set->patient_ns = loop_now_ns() + PATIENCE_NS;
        link_set_arm_clock(set, set->patient_ns);
    }
    list_append(&set->patient, &link->dirty_node);
}

static void end_patience(struct link_set *set, uint64_t now_ns)
{
    struct list_link *node;

    if (list_is_empty(&set->patient))
        return;
    if (now_ns < set->patient_ns) {
        link_set_arm_clock(set, set->patient_ns);
        return;
    }
    while ((node = list_first(&set->patient)) != NULL)
        on_dirty(list_entry(node, struct link, dirty_node));
}

/* ---- Turns of the loop ---- */

static void flush_links(struct link_set *set)
{
    struct list links;

    /* A link that has more to write than its share comes into the list again. */
    list_init(&links);
    if (!list_is_empty(&set->dirty)) {
        list_insert_before(set->dirty.head.next, &links.head);
        list_remove(&set->dirty.head);
    }
    while (!list_is_empty(&links)) {
        struct list_link *node = list_first(&links);
        list_remove(node);
        link_flush(list_entry(node, struct link, dirty_node));
    }
}

static void do_work(void *context)
{
    struct link_set *set = context;

    link_set_check(set);
    /* What else has been deferred in this turn may have more to send. */
    if (set->work == WORK_NEXT) {
        set->work = WORK_LAST;
        loop_defer(set->loop, do_work, set);
        return;
    }
    set->work = WORK_NONE;
    link_attempt_advance_all(set, loop_now_ns());
    link_attempt_tell_failed(set);
    flush_links(set);
    if (set->finished != NULL && set->link_count == 0) {
        void (*finished)(void *) = set->finished;
        set->finished = NULL;
        finished(set->finished_context);
    }
}

/* Ends one at a time: the callback may close others. */
static struct link *end_unanswered(struct link_set *set, int *ret_repeats)
{
    struct list_link *node;
    struct list_link *spare;

    list_for_each(&set->settled, node, spare)
    {
        struct link *link = list_entry(node, struct link, node);
        int repeats = 0;
        if (link->state == LINK_STATE_UP && link_end_if_unanswered(link, &repeats))
            return link;
        if (repeats)
            *ret_repeats = 1;
    }
    return NULL;
}

static void on_look(void *context)
{
    struct link_set *set = context;
    int repeats = 0;

    set->is_looking = 0;
    while (end_unanswered(set, &repeats) != NULL)
        ;
    if (!list_is_empty(&set->settled))
        look_later(set, repeats);
}

static void on_clock(void *context)
{
    struct link_set *set = context;
    uint64_t now_ns = loop_now_ns();
    struct list_link *node;
    struct list_link *spare;

    link_set_check(set);
    set->clock_ns = UINT64_MAX;
    link_listen_resume(set);
    list_for_each(&set->unsettled, node, spare)
    {
        struct link *link = list_entry(node, struct link, node);
        if (link->deadline_ns <= now_ns) {
            if (link->half_open)
                link_listen_expire(set, link);
            link->deadline_ns = UINT64_MAX;
            link_drop(link);
        } else if (link->deadline_ns != UINT64_MAX) {
            link_set_arm_clock(set, link->deadline_ns);
        }
    }
    end_patience(set, now_ns);
    link_attempt_advance_all(set, now_ns);
}

static void on_timer(void *context)
{
    struct link_set *set = context;

    set->events->timer(set->context);
}

static void take_event(struct link_set *set, const struct banyan_sock_event *event)
{
    if (event->user != NULL)
        link_sock_event(event->user, event);
    else if (event->operation == BANYAN_SOCK_ACCEPT && event->status == BANYAN_SOCK_OK)
        link_listen_accept(set, event->sock);
}

static void on_sockets(void *context, int fd, unsigned int ready)
{
    struct link_set *set = context;
    struct banyan_sock_event event;

    link_set_check(set);
    for (int i = 0; i < EVENTS_PER_TURN; i++) {
        if (banyan_sock_set_wait(set->host.socks, 0, &event) != 1)
            return;
        take_event(set, &event);
    }
    /* More may be ready: the descriptor must say so. */
    banyan_sock_set_wakeup(set->host.socks);
}

/* ---- Creation ---- */

static int copy_config(struct link_set *set, const struct link_set_config *config,
                       struct error *error)
{
    size_t length = strlen(config->session);

    assert(config->loop != NULL && config->events != NULL && config->secret != NULL);
    if (length == 0 || length > LINK_SESSION_LENGTH_MAX ||
        strspn(config->session, "0123456789abcdef") != length)
        return error_set(error, -EINVAL, "the session must be 1 to %d hexadecimal digits",
                         LINK_SESSION_LENGTH_MAX);
    memcpy(set->session, config->session, length + 1);
    set->loop = config->loop;
    set->events = config->events;
    set->context = config->context;
    set->guests = config->guests;
    set->guests_context = config->guests_context;
    set->ports = (struct banyan_sock_ports){.first = config->port_first, .last = config->port_last};
    set->host.place = config->place;
    set->host.incarnation = config->incarnation;
    memcpy(set->secret, config->secret, LINK_SECRET_BYTES);
    return 0;
}

static void init_host(struct link_set *set)
{
    set->host.context = set;
    set->host.stranger = link_listen_stranger;
    set->host.secured = on_secured;
    set->host.greeted = on_greeted;
    set->host.frame = on_frame;
    set->host.ended = on_ended;
    set->host.gone = on_gone;
    set->host.dirty = on_dirty;
    set->host.patient = on_patient;
    set->host.input = memory_allocate(LINK_INPUT_BYTES);
    set->host.plain = memory_allocate(TLS_RECORD_BYTES_MAX);
}

struct link_set *link_set_create(const struct link_set_config *config, struct error *error)
{
    struct link_set *set = memory_allocate_zeroed(sizeof(*set));
    int rc;

    list_init(&set->attempts);
    list_init(&set->failed);
    list_init(&set->unsettled);
    list_init(&set->settled);
    list_init(&set->dirty);
    list_init(&set->patient);
    set->peers = hash_map_create();
    set->secret = secret_create(LINK_SECRET_BYTES);
    set->clock_ns = UINT64_MAX;
    init_host(set);
    rc = copy_config(set, config, error);
    if (rc == 0)
        rc = banyan_sock_set_create(&set->host.socks, error);
    if (rc == 0)
        rc = link_listen_all(set, &config->listen_on, config->port_wished, error);
    if (rc < 0) {
        link_set_destroy(set);
        return NULL;
    }
    set->watch = loop_watch_create(set->loop, banyan_sock_set_fd(set->host.socks), LOOP_READ,
                                   on_sockets, set);
    set->timer = loop_timer_create(set->loop, on_timer, set);
    set->clock = loop_timer_create(set->loop, on_clock, set);
    set->look = loop_timer_create(set->loop, on_look, set);
    return set;
}

static void drop_all(struct link_set *set, struct list *links)
{
    struct list_link *node;
    struct list_link *spare;

    list_for_each(links, node, spare) link_drop(list_entry(node, struct link, node));
}

void link_set_destroy(struct link_set *set)
{
    struct banyan_sock_event event;
    struct peer *peer;
    size_t cursor = 0;

    if (set == NULL)
        return;
    set->finished = NULL;
    link_listen_stop(set);
    link_attempt_end_all(set);
    drop_all(set, &set->unsettled);
    drop_all(set, &set->settled);
    while (set->host.socks != NULL && banyan_sock_set_wait(set->host.socks, 0, &event) == 1)
        take_event(set, &event);
    assert(set->link_count == 0);
    while ((peer = hash_map_next(set->peers, &cursor)) != NULL)
        free(peer);
    hash_map_destroy(set->peers);
    loop_watch_destroy(set->watch);
    banyan_sock_set_destroy(set->host.socks);
    loop_timer_destroy(set->timer);
    loop_timer_destroy(set->clock);
    loop_timer_destroy(set->look);
    if (set->loop != NULL)
        loop_defer_cancel(set->loop, set);
    secret_destroy(set->secret, LINK_SECRET_BYTES);
    free(set->host.input);
    free(set->host.plain);
    buffer_fini(&set->host.output);
    free(set);
}

/* ---- The transport ---- */

static int set_connect(void *transport, uint32_t place, const struct addresses *addresses)
{
    struct link_set *set = transport;
    struct peer *peer;

    link_set_check(set);
    if (place == set->host.place)
        return -EINVAL;
    peer = make_peer(set, place);
    if (peer->link != NULL || peer->attempt != NULL)
        return -EALREADY;
    link_attempt_start(set, peer, addresses);
    return 0;
}

static int set_send(void *transport, uint32_t place, const struct frame *frame)
{
    struct peer *peer = link_set_peer(transport, place);

    if (peer == NULL || peer->link == NULL) {
        message_release(frame->payload);
        return -ENOTCONN;
    }
    link_send(peer->link, frame);
    return 0;
}

static void set_close(void *transport, uint32_t place)
{
    struct link_set *set = transport;
    struct peer *peer = link_set_peer(set, place);

    link_set_check(set);
    if (peer == NULL)
        return;
    if (peer->link != NULL) {
        link_set_close(set, peer->link, LINK_CLOSED, "");
        peer->link = NULL;
        link_set_drop_peer_if_idle(set, peer);
    } else {
        assert(peer->attempt != NULL); /* or there would be no peer */
        link_attempt_end(set, peer->attempt);
    }
}

static uint64_t set_now_ns(void *transport)
{
    return loop_now_ns();
}

static void set_timer(void *transport, uint64_t deadline_ns)
{
    struct link_set *set = transport;

    if (deadline_ns == UINT64_MAX)
        loop_timer_cancel(set->timer);
    else
        loop_timer_set(set->timer, deadline_ns);
}

const struct transport_ops *link_set_ops(void)
{
    static const struct transport_ops ops = {
        .name = "tcp",
        .connect = set_connect,
        .send = set_send,
        .close = set_close,
        .now_ns = set_now_ns,
        .timer = set_timer,
    };

    return &ops;
}

void link_set_finish(struct link_set *set, void (*finished)(void *context), void *context)
{
    struct peer *peer;
    size_t cursor = 0;

    assert(finished != NULL);
    set->finished = finished;
    set->finished_context = context;
    link_listen_stop(set);
    while ((peer = hash_map_next(set->peers, &cursor)) != NULL)
        set_close(set, peer->place);
    for (struct list_link *node = set->unsettled.head.next; node != &set->unsettled.head;
         node = node->next) {
        struct link *link = list_entry(node, struct link, node);
        if (link->half_open)
            link_drop(link);
    }
    link_set_schedule(set);
}

int link_set_export_key(const struct link_set *set, uint32_t place, uint32_t from, uint32_t to,
                        unsigned char *ret_key)
{
    const struct peer *peer = hash_map_get_u64(set->peers, place);

    if (peer == NULL || peer->link == NULL)
        return -ENOTCONN;
    return tls_export_key(peer->link->tls, from, to, ret_key);
}

void link_set_copy_secret(const struct link_set *set, unsigned char ret_secret[LINK_SECRET_BYTES])
{
    assert(set->secret != NULL);
    memcpy(ret_secret, set->secret, LINK_SECRET_BYTES);
}

void link_set_addresses(const struct link_set *set, struct addresses *ret_addresses)
{
    *ret_addresses = set->addresses;
}

size_t link_set_count(const struct link_set *set)
{
    size_t count = 0;

    for (const struct list_link *node = set->settled.head.next; node != &set->settled.head;
         node = node->next)
        count++;
    return count;
}
