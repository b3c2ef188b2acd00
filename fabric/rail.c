/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers of the rail: events of the links, requests of the user, and tear-down.  No callback runs
 * inside a call of the user; a peer is freed when libfabric has completed all its sends.
 */
#include "config.h"

#include "fabric/rail.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fabric/rail_private.h"
#include "fabric/secret.h"

#define ROUNDS_MAX 64 /* of progress, before other descriptors are polled again */

static void do_work(void *context);

/* ---- Peers ---- */

static struct rail_peer *peer_of(const struct rail *rail, uint32_t place)
{
    return hash_map_get_u64(rail->peers, place);
}

static struct tls_seal *make_seal(const struct rail *rail, uint32_t peer, uint32_t from,
                                  uint32_t to)
{
    unsigned char key[TLS_SEAL_KEY_BYTES];
    struct tls_seal *seal = NULL;

    if (link_set_export_key(rail->links, peer, from, to, key) == 0)
        seal = tls_seal_create(key);
    secret_clear(key, sizeof(key));
    return seal;
}

static struct rail_peer *make_peer(struct rail *rail, uint32_t place)
{
    struct rail_peer *peer = memory_allocate_zeroed(sizeof(*peer));

    peer->rail = rail;
    peer->place = place;
    peer->address = RAIL_NO_PEER;
    peer->end_number = RAIL_NO_END;
    peer->deadline_ns = UINT64_MAX;
    peer->is_up = 1;
    peer->seal_out = make_seal(rail, place, rail->place, place);
    peer->seal_in = make_seal(rail, place, place, rail->place);
    list_link_init(&peer->ready);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        list_init(&peer->classes[class].queue);
        list_init(&peer->classes[class].early);
    }
    hash_map_put_u64(rail->peers, place, peer);
    return peer;
}

static void free_peer(struct rail_peer *peer)
{
    rail_drop_out(peer);
    rail_drop_in(peer);
    tls_seal_destroy(peer->seal_out);
    tls_seal_destroy(peer->seal_in);
    free(peer);
}

/* The place no longer has this peer.  The memory is freed once nothing points to it: not before the
 * current call from the endpoint or the links returns. */
static void bury_peer(struct rail_peer *peer)
{
    struct rail *rail = peer->rail;

    assert(!peer->is_orphan);
    hash_map_remove_u64(rail->peers, peer->place);
    rail_drop_out(peer);
    rail_drop_in(peer);
    if (peer->address != RAIL_NO_PEER)
        rail->table->remove(rail->ofi, peer->address);
    peer->address = RAIL_NO_PEER;
    peer->is_orphan = 1;
    list_append(&rail->orphans, &peer->ready);
    rail_schedule(rail);
}

static void free_orphans(struct rail *rail, int all)
{
    struct list_link *node;
    struct list_link *spare;

    list_for_each(&rail->orphans, node, spare)
    {
        struct rail_peer *peer = list_entry(node, struct rail_peer, ready);
        if (all || peer->under_way == 0) {
            list_remove(node);
            free_peer(peer);
        }
    }
}

void rail_fail(struct rail_peer *peer, int code, const char *format, ...)
{
    va_list arguments;

    if (peer->is_failed || peer->is_orphan)
        return;
    va_start(arguments, format);
    error_set_v(&peer->why, code, format, arguments);
    va_end(arguments);
    peer->is_failed = 1;
    peer->rail->failed_count++;
    rail_schedule(peer->rail);
}

/* ---- Ends ---- */

static void send_own(struct rail *rail, uint32_t place, uint8_t type, uint8_t class,
                     const void *data, size_t bytes)
{
    struct frame frame = {.type = type, .class = class};

    if (bytes > 0)
        frame.payload = message_create(data, bytes);
    (void)link_set_ops()->send(rail->links, place, &frame);
}

/* Everything is sent: reports the number of messages to the peer. */
static void finish_close(struct rail_peer *peer)
{
    struct rail *rail = peer->rail;
    uint64_t number = htole64(peer->number_out);
    uint32_t place = peer->place;

    if (peer->is_up) {
        send_own(rail, place, RAIL_END, FRAME_CONTROL, &number, sizeof(number));
        link_set_ops()->close(rail->links, place);
    }
    bury_peer(peer);
}

static void tell_down(struct rail_peer *peer)
{
    struct rail *rail = peer->rail;
    struct error why = peer->why;
    uint32_t place = peer->place;
    int is_silent = peer->is_closing;

    bury_peer(peer);
    if (!is_silent)
        rail->events->down(rail->context, place, &why);
}

void rail_check_peer(struct rail_peer *peer)
{
    if (peer->is_orphan || peer->is_failed)
        return;
    if (peer->is_closing && !rail_has_to_send(peer) && peer->under_way == 0)
        finish_close(peer);
    else if (!peer->is_up && peer->number_in >= peer->end_number)
        tell_down(peer);
}

static void end_failed(struct rail *rail)
{
    struct rail_peer *peer;
    size_t cursor = 0;

    if (rail->failed_count == 0)
        return;
    rail->failed_count = 0;
    while ((peer = hash_map_next(rail->peers, &cursor)) != NULL) {
        if (!peer->is_failed)
            continue;
        if (peer->is_up)
            link_set_ops()->close(rail->links, peer->place);
        tell_down(peer);
        cursor = 0; /* the user may have changed everything */
    }
}

/* ---- Events of the links ---- */

static void on_up(void *context, uint32_t place, uint32_t incarnation)
{
    struct rail *rail = context;
    struct rail_peer *peer = peer_of(rail, place);
    unsigned char name[OFI_NAME_BYTES_MAX];
    size_t bytes = rail->table->name(rail->ofi, name);

    if (peer != NULL)
        tell_down(peer);
    peer = make_peer(rail, place);
    if (peer->seal_out == NULL || peer->seal_in == NULL)
        rail_fail(peer, -EIO, "no keys for the fabric to place %u", place);
    else if (bytes > 0)
        send_own(rail, place, RAIL_NAME, FRAME_CONTROL, name, bytes);
    rail->events->up(rail->context, place, incarnation);
}

static void on_down(void *context, uint32_t place, const struct error *why)
{
    struct rail *rail = context;
    struct rail_peer *peer = peer_of(rail, place);

    if (peer == NULL) {
        rail->events->down(rail->context, place, why);
        return;
    }
    peer->is_up = 0;
    if (!peer->is_failed)
        peer->why = *why;
    if (peer->end_number == RAIL_NO_END || peer->number_in >= peer->end_number) {
        tell_down(peer);
        return;
    }
    /* An orderly end overtook earlier messages. */
    rail_drop_out(peer);
    peer->deadline_ns = loop_now_ns() + RAIL_CLOSE_NS;
    rail_arm(rail, peer->deadline_ns);
}

static void take_name(struct rail_peer *peer, const struct message *name)
{
    static const uint8_t classes[] = {FRAME_COLLECTIVE, FRAME_BULK};
    struct rail *rail = peer->rail;

    if (peer->address != RAIL_NO_PEER || name == NULL ||
        rail->table->insert(rail->ofi, name->data, name->length_bytes, &peer->address) < 0) {
        log_warning("place %u stays on its link: its address does not belong to provider %s",
                    peer->place, rail_provider(rail));
        return;
    }
    for (size_t i = 0; i < sizeof(classes); i++) {
        send_own(rail, peer->place, RAIL_SWITCH, classes[i], NULL, 0);
        peer->classes[classes[i]].goes_by_rail = 1;
    }
    rail_schedule(rail);
}

static void take_end(struct rail_peer *peer, const struct message *payload)
{
    uint64_t number;

    if (payload == NULL || payload->length_bytes != sizeof(number)) {
        rail_fail(peer, -EPROTO, "place %u breaks the protocol of the fabric", peer->place);
        return;
    }
    memcpy(&number, payload->data, sizeof(number));
    peer->end_number = le64toh(number);
}

static void on_frame(void *context, uint32_t place, const struct frame *frame)
{
    struct rail *rail = context;
    struct rail_peer *peer = peer_of(rail, place);

    if (peer == NULL || peer->is_closing)
        return;
    switch (frame->type) {
    case RAIL_NAME:
        take_name(peer, frame->payload);
        break;
    case RAIL_SWITCH:
        peer->classes[frame->class].comes_by_rail = 1;
        rail_take_early(peer, frame->class);
        break;
    case RAIL_END:
        take_end(peer, frame->payload);
        break;
    default:
        rail->events->frame(rail->context, place, frame);
    }
}

static void on_timer(void *context)
{
    struct rail *rail = context;

    rail->events->timer(rail->context);
}

const struct transport_events *rail_link_events(void)
{
    static const struct transport_events events = {
        .up = on_up, .down = on_down, .frame = on_frame, .timer = on_timer};

    return &events;
}

/* ---- Turns of the loop ---- */

void rail_schedule(struct rail *rail)
{
    if (rail->work_is_due)
        return;
    rail->work_is_due = 1;
    loop_defer(rail->loop, do_work, rail);
}

/* The descriptor may be polled only if may_wait has returned 1 and nothing was called since. */
static void do_work(void *context)
{
    struct rail *rail = context;
    int is_idle = 0;

    rail->work_is_due = 0;
    for (int round = 0; round < ROUNDS_MAX && !is_idle; round++) {
        int has_moved = rail->table->progress(rail->ofi);

        rail_pump(rail);
        is_idle = !has_moved && rail->table->may_wait(rail->ofi);
    }
    end_failed(rail);
    free_orphans(rail, 0);
    if (!is_idle)
        rail_schedule(rail);
    if (rail->finished != NULL && hash_map_count(rail->peers) == 0) {
        void (*finished)(void *) = rail->finished;
        rail->finished = NULL;
        link_set_finish(rail->links, finished, rail->finished_context);
    }
}

static void on_ready(void *context, int fd, unsigned int ready)
{
    rail_schedule(context);
}

void rail_arm(struct rail *rail, uint64_t deadline_ns)
{
    if (deadline_ns >= rail->clock_ns)
        return;
    rail->clock_ns = deadline_ns;
    loop_timer_set(rail->clock, deadline_ns);
}

static void check_time(struct rail_peer *peer, uint64_t now_ns)
{
    if (now_ns >= peer->deadline_ns) {
        peer->deadline_ns = UINT64_MAX;
        if (peer->is_closing) {
            rail_drop_out(peer);
            finish_close(peer);
        } else {
            tell_down(peer);
        }
        return;
    }
    rail_arm(peer->rail, peer->deadline_ns);
    if (!rail_has_to_send(peer))
        return;
    if (now_ns >= peer->moved_ns + peer->rail->stuck_ns)
        rail_fail(peer, -EHOSTUNREACH,
                  "the fabric (%s) delivers nothing to place %u, whose link is up",
                  rail_provider(peer->rail), peer->place);
    else
        rail_arm(peer->rail, peer->moved_ns + peer->rail->stuck_ns);
}

static void on_clock(void *context)
{
    struct rail *rail = context;
    uint64_t now_ns = loop_now_ns();
    struct rail_peer *peer;
    size_t cursor = 0;

    rail->clock_ns = UINT64_MAX;
    while ((peer = hash_map_next(rail->peers, &cursor)) != NULL) {
        int is_due = now_ns >= peer->deadline_ns;
        check_time(peer, now_ns);
        if (is_due)
            cursor = 0; /* the user may have changed everything */
    }
    rail_schedule(rail);
}

/* ---- The transport ---- */

static int rail_connect(void *transport, uint32_t place, const struct addresses *addresses)
{
    struct rail *rail = transport;
    struct rail_peer *peer = peer_of(rail, place);

    if (peer != NULL && peer->is_closing)
        finish_close(peer);
    return link_set_ops()->connect(rail->links, place, addresses);
}

static int rail_send(void *transport, uint32_t place, const struct frame *frame)
{
    struct rail *rail = transport;
    struct rail_peer *peer = peer_of(rail, place);

    assert(frame->class < FRAME_CLASS_COUNT);
    if (peer != NULL && (!peer->is_up || peer->is_closing || peer->is_failed)) {
        message_release(frame->payload);
        return -ENOTCONN;
    }
    if (peer == NULL || !peer->classes[frame->class].goes_by_rail)
        return link_set_ops()->send(rail->links, place, frame);
    rail_queue(peer, frame);
    return 0;
}

static void rail_close(void *transport, uint32_t place)
{
    struct rail *rail = transport;
    struct rail_peer *peer = peer_of(rail, place);

    if (peer == NULL) {
        link_set_ops()->close(rail->links, place);
        return;
    }
    peer->is_closing = 1;
    if (!rail_has_to_send(peer) && peer->under_way == 0) {
        finish_close(peer);
        return;
    }
    peer->deadline_ns = loop_now_ns() + RAIL_CLOSE_NS;
    rail_arm(rail, peer->deadline_ns);
}

static uint64_t rail_now_ns(void *transport)
{
    return loop_now_ns();
}

static void rail_timer(void *transport, uint64_t deadline_ns)
{
    link_set_ops()->timer(((struct rail *)transport)->links, deadline_ns);
}

const struct transport_ops *rail_ops(void)
{
    static const struct transport_ops ops = {.name = "ofi",
                                             .connect = rail_connect,
                                             .send = rail_send,
                                             .close = rail_close,
                                             .now_ns = rail_now_ns,
                                             .timer = rail_timer};

    return &ops;
}

void rail_finish(struct rail *rail, void (*finished)(void *context), void *context)
{
    struct rail_peer *peer;
    size_t cursor = 0;

    assert(finished != NULL);
    rail->finished = finished;
    rail->finished_context = context;
    while ((peer = hash_map_next(rail->peers, &cursor)) != NULL) {
        size_t count = hash_map_count(rail->peers);
        rail_close(rail, peer->place);
        if (hash_map_count(rail->peers) != count)
            cursor = 0;
    }
    rail_schedule(rail);
}

/* ---- Life ---- */

int rail_create(const struct rail_config *config, struct rail **ret_rail, struct error *error)
{
    static const struct ofi_events events = {.received = rail_received, .sent = rail_sent};
    struct rail *rail = memory_allocate_zeroed(sizeof(*rail));
    struct ofi_config ofi = {
        .provider = config->provider, .node = config->node, .events = &events, .context = rail};
    int rc = config->table->open(&ofi, &rail->ofi, error);

    if (rc < 0) {
        free(rail);
        return rc;
    }
    rail->table = config->table;
    rail->loop = config->loop;
    rail->events = config->events;
    rail->context = config->context;
    rail->place = config->place;
    rail->renew_after = config->renew_after > 0 ? config->renew_after : RAIL_RENEW_DEFAULT;
    rail->stuck_ns = config->stuck_ns > 0 ? config->stuck_ns : RAIL_STUCK_NS;
    rail->clock_ns = UINT64_MAX;
    rail->peers = hash_map_create();
    list_init(&rail->ready);
    list_init(&rail->orphans);
    rail->watch =
        loop_watch_create(rail->loop, rail->table->fd(rail->ofi), LOOP_READ, on_ready, rail);
    rail->clock = loop_timer_create(rail->loop, on_clock, rail);
    rail_schedule(rail);
    *ret_rail = rail;
    return 0;
}

void rail_attach(struct rail *rail, struct link_set *links)
{
    assert(links != NULL && rail->links == NULL);
    rail->links = links;
}

void rail_destroy(struct rail *rail)
{
    struct rail_peer *peer;
    size_t cursor = 0;

    if (rail == NULL)
        return;
    loop_watch_destroy(rail->watch);
    loop_timer_destroy(rail->clock);
    loop_defer_cancel(rail->loop, rail);
    rail->table->close(rail->ofi);
    while ((peer = hash_map_next(rail->peers, &cursor)) != NULL)
        free_peer(peer);
    free_orphans(rail, 1);
    hash_map_destroy(rail->peers);
    free(rail);
}

const char *rail_provider(const struct rail *rail)
{
    return rail->table->provider(rail->ofi);
}

uint64_t rail_messages_sent(const struct rail *rail)
{
    return rail->messages_sent;
}

uint64_t rail_messages_refused(const struct rail *rail)
{
    return rail->messages_refused;
}
