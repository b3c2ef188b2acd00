/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_guest.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/time.h"
#include "fabric/link.h"
#include "fabric/loop.h"
#include "fabric/secret.h"

struct visit {
    struct link_host host;
    struct link *links[ADDRESSES_MAX]; /* NULL once it is freed */
    int count;
    int alive;
    struct list dirty; /* struct link: to be flushed */
    struct message *answer;
    struct error why;
};

/* ---- Callbacks of the links ---- */

static void drop_others(struct visit *visit, const struct link *chosen)
{
    for (int i = 0; i < visit->count; i++)
        if (visit->links[i] != NULL && visit->links[i] != chosen)
            link_drop(visit->links[i]);
}

static void on_secured(struct link *link)
{
    struct visit *visit = link->host->context;

    visit->why = ERROR_NONE;
    drop_others(visit, link);
}

static void on_greeted(struct link *link)
{
    link_admit(link);
}

static void on_frame(struct link *link, const struct frame *frame)
{
    struct visit *visit = link->host->context;

    if (frame->type == LINK_GUEST_ANSWER && visit->answer == NULL)
        visit->answer = message_reference(frame->payload);
}

/* The error of the chosen link if there is one; otherwise what each address answered. */
static void add_reason(struct visit *visit, const struct error *why)
{
    if (visit->why.code == 0)
        visit->why = *why;
    else if (strstr(visit->why.text, why->text) == NULL)
        error_set(&visit->why, why->code, "%s; %s", visit->why.text, why->text);
}

static void on_ended(struct link *link, enum link_goodbye goodbye, const struct error *why)
{
    struct visit *visit = link->host->context;

    if (visit->answer == NULL)
        add_reason(visit, why);
}

static void on_gone(struct link *link)
{
    struct visit *visit = link->host->context;

    assert(visit->alive > 0 && visit->alive <= visit->count);
    list_remove(&link->dirty_node);
    for (int i = 0; i < visit->count; i++)
        if (visit->links[i] == link)
            visit->links[i] = NULL;
    visit->alive--;
}

static void on_dirty(struct link *link)
{
    struct visit *visit = link->host->context;

    if (!list_is_linked(&link->dirty_node))
        list_append(&visit->dirty, &link->dirty_node);
}

/* ---- The visit ---- */

static int visit_open(struct visit *visit, const struct link_guest *guest, struct error *error)
{
    list_init(&visit->dirty);
    visit->host.context = visit;
    visit->host.place = guest->place;
    visit->host.secured = on_secured;
    visit->host.greeted = on_greeted;
    visit->host.frame = on_frame;
    visit->host.ended = on_ended;
    visit->host.gone = on_gone;
    visit->host.dirty = on_dirty;
    visit->host.patient = on_dirty;
    visit->host.input = memory_allocate(LINK_INPUT_BYTES);
    visit->host.plain = memory_allocate(TLS_RECORD_BYTES_MAX);
    return banyan_sock_set_create(&visit->host.socks, error);
}

static void connect_to(struct visit *visit, const struct link_guest *guest,
                       const struct address *address)
{
    struct error why = ERROR_NONE;
    struct tls *tls = tls_create_client(guest->identity, guest->key, &why);
    struct link *link = NULL;

    if (tls != NULL) {
        tls_wipe_plaintext(tls);
        link = link_connect(&visit->host, guest->host_place, address, tls, &why);
    }

    if (link == NULL) {
        add_reason(visit, &why);
        return;
    }
    assert(visit->count < ADDRESSES_MAX);
    visit->links[visit->count++] = link;
    visit->alive++;
}

static void flush_visit(struct visit *visit)
{
    struct list_link *node;

    while ((node = list_first(&visit->dirty)) != NULL) {
        list_remove(node);
        link_flush(list_entry(node, struct link, dirty_node));
    }
}

/* Waits until there is an answer or no link that could give one; 0 if the time has expired. */
static int visit_wait(struct visit *visit, uint64_t deadline_ns)
{
    struct banyan_sock_event event;

    while (visit->answer == NULL && visit->alive > 0) {
        uint64_t now_ns = loop_now_ns();
        int wait_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0;

        int rc =
            wait_ms > 0 ? banyan_sock_set_wait(visit->host.socks, wait_ms, &event) : -ETIMEDOUT;

        if (rc < 0)
            return 0;
        if (rc == 1)
            link_sock_event(event.user, &event);
        flush_visit(visit);
    }
    return 1;
}

static void visit_close(struct visit *visit)
{
    struct banyan_sock_event event;

    drop_others(visit, NULL);
    while (visit->alive > 0 && banyan_sock_set_wait(visit->host.socks, -1, &event) == 1)
        link_sock_event(event.user, &event);
    banyan_sock_set_destroy(visit->host.socks);
    secret_clear(visit->host.plain, TLS_RECORD_BYTES_MAX);
    free(visit->host.input);
    free(visit->host.plain);
    buffer_fini(&visit->host.output);
}

int link_guest_visit(const struct link_guest *guest, struct message **ret_answer,
                     struct error *error)
{
    struct visit visit = {.count = 0};
    int in_time;

    assert(guest->addresses != NULL && ret_answer != NULL);
    if (visit_open(&visit, guest, error) == 0) {
        for (int i = 0; i < guest->addresses->count; i++)
            connect_to(&visit, guest, &guest->addresses->items[i]);
        in_time = visit_wait(&visit, loop_now_ns() + guest->patience_ms * NS_PER_MS);
        if (visit.answer != NULL)
            *ret_answer = visit.answer;
        else if (!in_time)
            error_set(error, -ETIMEDOUT, "no answer within %u s%s%s", guest->patience_ms / 1000,
                      visit.why.code != 0 ? "; " : "", visit.why.text);
        else
            error_set(error, visit.why.code != 0 ? visit.why.code : -EDESTADDRREQ, "%s",
                      visit.why.code != 0 ? visit.why.text : "no address to try");
    }
    visit_close(&visit);
    return visit.answer != NULL ? 0 : error->code;
}
