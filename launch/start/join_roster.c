/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/join_roster.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/secret.h"
#include "fabric/tls.h"

enum join_state { JOIN_FREE, JOIN_CLAIMED, JOIN_ALIVE };

struct join_roster {
    char session[SESSION_ID_BYTES];
    uint32_t places;
    uint32_t left; /* have not joined */
    uint64_t expires_ns;
    unsigned char *secrets; /* of place 1 first */
    uint8_t *states;        /* enum join_state by place */
};

static size_t secrets_bytes(const struct join_roster *book)
{
    return (size_t)(book->places - 1) * SECRET_BYTES;
}

struct join_roster *join_roster_create(const char *session, uint32_t places, uint64_t expires_ns)
{
    struct join_roster *book = memory_allocate_zeroed(sizeof(*book));

    assert(places > 1);
    snprintf(book->session, sizeof(book->session), "%s", session);
    book->places = places;
    book->left = places - 1;
    book->expires_ns = expires_ns;
    book->states = memory_allocate_zeroed(places);
    book->secrets = secret_create(secrets_bytes(book));
    secret_fill_random(book->secrets, secrets_bytes(book));
    return book;
}

void join_roster_destroy(struct join_roster *book)
{
    if (book == NULL)
        return;
    secret_destroy(book->secrets, secrets_bytes(book));
    free(book->states);
    free(book);
}

static const unsigned char *secret_of(const struct join_roster *book, uint32_t place)
{
    assert(place > 0 && place < book->places);
    return book->secrets + (size_t)(place - 1) * SECRET_BYTES;
}

void join_roster_token(const struct join_roster *book, uint32_t place, struct join_token *ret_token)
{
    assert(place > 0 && place < book->places);
    *ret_token = (struct join_token){.place = place};
    memcpy(ret_token->session, book->session, sizeof(ret_token->session));
    memcpy(ret_token->secret, secret_of(book, place), SECRET_BYTES);
}

int join_roster_derive_key(const unsigned char secret[SECRET_BYTES], const char *identity,
                           unsigned char ret_key[SECRET_BYTES])
{
    return tls_derive_key(secret, SECRET_BYTES, identity, ret_key);
}

static int place_of(const struct join_roster *book, const char *identity, uint32_t *ret_place)
{
    uint32_t place;

    if (join_token_identity_parse(identity, book->session, &place) < 0 || place >= book->places)
        return -EACCES;
    *ret_place = place;
    return 0;
}

int join_roster_key(const struct join_roster *book, const char *identity,
                    unsigned char ret_key[SECRET_BYTES])
{
    uint32_t place;
    int rc = place_of(book, identity, &place);

    return rc < 0 ? rc : join_roster_derive_key(secret_of(book, place), identity, ret_key);
}

int join_roster_claim(struct join_roster *book, const char *identity, uint64_t now_ns,
                      uint32_t *ret_place, struct error *error)
{
    uint32_t place;

    if (place_of(book, identity, &place) < 0)
        return error_set(error, -EACCES, "the token belongs to another instance");
    if (book->states[place] == JOIN_ALIVE)
        return error_set(error, -EEXIST, "the token is in use: place %u is alive", place);
    if (book->states[place] == JOIN_CLAIMED)
        return error_set(error, -EEXIST, "the token of place %u has already been used", place);
    if (now_ns >= book->expires_ns)
        return error_set(error, -ETIME, "the token of place %u has expired", place);
    book->states[place] = JOIN_CLAIMED;
    *ret_place = place;
    return 0;
}

void join_roster_joined(struct join_roster *book, uint32_t place)
{
    if (place == 0 || place >= book->places || book->states[place] == JOIN_ALIVE)
        return;
    book->states[place] = JOIN_ALIVE;
    assert(book->left > 0);
    book->left--;
}

void join_roster_missing(const struct join_roster *book, struct ranges *ret_places)
{
    for (uint32_t place = 1; place < book->places; place++)
        if (book->states[place] != JOIN_ALIVE)
            ranges_add(ret_places, place, place);
}

uint32_t join_roster_left(const struct join_roster *book)
{
    assert(book->left < book->places);
    return book->left;
}
