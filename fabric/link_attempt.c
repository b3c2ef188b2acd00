/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_attempt.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "fabric/address.h"
#include "fabric/link_identity.h"
#include "fabric/secret.h"

#define NEXT_ADDRESS_NS (200 * NS_PER_MS)

struct attempt {
    struct list_link node;
    uint32_t place;
    struct addresses addresses;
    unsigned int next_address;
    unsigned int live; /* connections under way */
    unsigned int duplicates;
    int crossed; /* the peer's connection to us is expected */
    int failed;  /* `down` is due */
    uint64_t deadline_ns;
    uint64_t next_ns; /* when the next address is tried although others are under way */
    struct error why; /* what the tried addresses answered */
};

static void attempt_check(const struct attempt *attempt)
{
    assert(attempt->addresses.count <= ADDRESSES_MAX);
    assert(attempt->next_address <= attempt->addresses.count);
    assert(attempt->duplicates <= TRANSPORT_RETRIES_MAX);
    assert(list_is_linked(&attempt->node));
}

void link_attempt_start(struct link_set *set, struct peer *peer, const struct addresses *addresses)
{
    struct attempt *attempt = memory_allocate_zeroed(sizeof(*attempt));

    assert(peer->link == NULL && peer->attempt == NULL);
    attempt->place = peer->place;
    attempt->addresses = *addresses;
    attempt->deadline_ns = loop_now_ns() + TRANSPORT_ATTEMPT_NS;
    peer->attempt = attempt;
    list_append(&set->attempts, &attempt->node);
    link_set_schedule(set);
}

int link_attempt_is_alive(const struct attempt *attempt)
{
    return !attempt->failed;
}

void link_attempt_end(struct link_set *set, struct attempt *attempt)
{
    struct peer *peer = link_set_peer(set, attempt->place);
    struct list_link *node;
    struct list_link *spare;

    assert(peer != NULL && peer->attempt == attempt);
    list_for_each(&set->unsettled, node, spare)
    {
        struct link *link = list_entry(node, struct link, node);
        if (link->attempt == attempt) {
            link->attempt = NULL;
            link_drop(link);
        }
    }
    peer->attempt = NULL;
    link_set_drop_peer_if_idle(set, peer);
    list_remove(&attempt->node);
    free(attempt);
}

/* Reported from do_work, where no list is being walked: the callback may end other attempts. */
static void fail_attempt(struct link_set *set, struct attempt *attempt)
{
    assert(!attempt->failed);
    attempt->failed = 1;
    list_remove(&attempt->node);
    list_append(&set->failed, &attempt->node);
    link_set_schedule(set);
}

void link_attempt_tell_failed(struct link_set *set)
{
    struct list_link *node;

    while ((node = list_first(&set->failed)) != NULL) {
        struct attempt *attempt = list_entry(node, struct attempt, node);
        struct error why = attempt->why;
        uint32_t place = attempt->place;
        assert(attempt->failed);
        link_attempt_end(set, attempt);
        set->events->down(set->context, place, &why);
    }
}

/* Collects what the addresses answered; the last code is kept, but -ECONNREFUSED only if all
 * refused. */
static void add_reason(struct attempt *attempt, const struct error *why)
{
    int code = why->code == -ECONNREFUSED ? attempt->why.code : why->code;

    if (attempt->why.code == 0 || strcmp(attempt->why.text, why->text) == 0)
        attempt->why = *why;
    else
        error_set(&attempt->why, code, "%s; %s", attempt->why.text, why->text);
}

/* Timed out: adds the addresses that have not answered. */
static void add_silent(struct link_set *set, struct attempt *attempt)
{
    struct list_link *node;
    struct list_link *spare;
    int silent = 0;

    list_for_each(&set->unsettled, node, spare)
    {
        const struct link *link = list_entry(node, struct link, node);
        char text[ADDRESS_TEXT_BYTES];
        struct error why;
        if (link->attempt != attempt)
            continue;
        /* A machine that accepts the connection is alive, whatever its daemon does. */
        silent = silent || link->state != LINK_STATE_CONNECTING;
        error_set(&why, -ETIMEDOUT, "%s: %s within %.1f s",
                  address_print(banyan_sock_peer_address(link->sock), text),
                  link->state != LINK_STATE_CONNECTING ? "accepts the connection but sends nothing"
                                                       : "no answer",
                  (double)TRANSPORT_ATTEMPT_NS / (double)NS_PER_S);
        add_reason(attempt, &why);
    }
    if (silent)
        attempt->why.code = -ETIME;
    if (attempt->why.code == 0)
        error_set(&attempt->why, -ETIMEDOUT, "place %u did not answer within %.1f s",
                  attempt->place, (double)TRANSPORT_ATTEMPT_NS / (double)NS_PER_S);
}

static void start_connection(struct link_set *set, struct attempt *attempt,
                             const struct address *address)
{
    char identity[TLS_IDENTITY_BYTES_MAX + 1];
    unsigned char key[TLS_KEY_BYTES];
    struct error why = ERROR_NONE;
    struct tls *tls = NULL;
    struct link *link = NULL;

    link_identity_print(identity, set->session, set->host.place, attempt->place,
                        set->host.incarnation);
    if (tls_derive_key(set->secret, LINK_SECRET_BYTES, identity, key) < 0)
        error_set(&why, -EIO, "cannot derive a key");
    else
        tls = tls_create_client(identity, key, &why);
    secret_clear(key, sizeof(key));
    if (tls != NULL)
        link = link_connect(&set->host, attempt->place, address, tls, &why);
    if (link == NULL) {
        add_reason(attempt, &why);
        return;
    }
    link->attempt = attempt;
    link->deadline_ns = UINT64_MAX; /* the attempt's counts */
    attempt->live++;
    link_set_add(set, link);
}

/* Starts connections that are due; reports failure if no address is left to try. */
static void advance_attempt(struct link_set *set, struct attempt *attempt, uint64_t now_ns)
{
    assert(!attempt->failed);
    attempt_check(attempt);
    if (now_ns >= attempt->deadline_ns) {
        add_silent(set, attempt);
        fail_attempt(set, attempt);
        return;
    }
    while (attempt->next_address < attempt->addresses.count && now_ns >= attempt->next_ns) {
        start_connection(set, attempt, &attempt->addresses.items[attempt->next_address++]);
        attempt->next_ns = attempt->live > 0 ? now_ns + NEXT_ADDRESS_NS : 0;
    }
    if (attempt->live == 0 && !attempt->crossed &&
        attempt->next_address == attempt->addresses.count) {
        if (attempt->why.code == 0)
            error_set(&attempt->why, -EDESTADDRREQ, "no address of place %u is known",
                      attempt->place);
        fail_attempt(set, attempt);
        return;
    }
    link_set_arm_clock(set, attempt->deadline_ns);
    if (attempt->next_address < attempt->addresses.count)
        link_set_arm_clock(set, attempt->next_ns);
}

/* One connection of an attempt ended. */
void link_attempt_lose(struct link_set *set, struct attempt *attempt, enum link_goodbye goodbye,
                       const struct error *why)
{
    uint64_t now_ns = loop_now_ns();

    assert(attempt->live > 0 && why != NULL);
    attempt->live--;
    add_reason(attempt, why);
    attempt->next_ns = now_ns;
    if (attempt->failed)
        return;
    if (goodbye == LINK_CROSSED)
        attempt->crossed = 1;
    /* The peer may only not have read yet that the old link is closed. */
    if (goodbye == LINK_DUPLICATE && attempt->duplicates < TRANSPORT_RETRIES_MAX) {
        attempt->next_ns = now_ns + (TRANSPORT_RETRY_NS << attempt->duplicates++);
        attempt->next_address = 0;
        attempt->why = ERROR_NONE;
    }
    advance_attempt(set, attempt, now_ns);
}

void link_attempt_advance_all(struct link_set *set, uint64_t now_ns)
{
    struct list_link *node;
    struct list_link *spare;

    list_for_each(&set->attempts, node, spare)
        advance_attempt(set, list_entry(node, struct attempt, node), now_ns);
}

void link_attempt_end_all(struct link_set *set)
{
    struct list_link *node;

    while ((node = list_first(&set->attempts)) != NULL || (node = list_first(&set->failed)) != NULL)
        link_attempt_end(set, list_entry(node, struct attempt, node));
}

void link_attempt_choose(struct link_set *set, struct attempt *attempt, const struct link *link)
{
    struct list_link *node;
    struct list_link *spare;

    assert(attempt->live > 0 && link->attempt == attempt);
    attempt->next_ns = UINT64_MAX;
    list_for_each(&set->unsettled, node, spare)
    {
        struct link *other = list_entry(node, struct link, node);
        if (other != link && other->attempt == attempt) {
            other->attempt = NULL;
            attempt->live--;
            link_drop(other);
        }
    }
    assert(attempt->live == 1);
}
