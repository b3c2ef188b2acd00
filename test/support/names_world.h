/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An instance made of name services only (launch/core/names.h): messages take random times and overtake each other,
 * requests may come twice, places die, and each of the others learns of it at its own time, but in the same order.
 *
 * names_world_run lets processes publish, look up and unpublish at random while places die, and compares all that
 * they are told with what must hold.
 */
#ifndef TEST_SUPPORT_NAMES_WORLD_H
#define TEST_SUPPORT_NAMES_WORLD_H

#include "base/random.h"
#include "launch/core/name_ring.h"
#include "launch/core/names.h"
#include "launch/proto/name.h"

#define NAMES_WORLD_NODES_MAX 64

struct world_message;

/* What a process has asked: rank N is at place N, and its place's only one. */
struct world_call {
    int status; /* 1: not answered yet */
    char value[32];
    uint32_t rank; /* the publisher of the value */
    uint32_t removed;
    uint32_t found; /* keys */
};

struct names_world {
    struct random_state random;
    struct names *places[NAMES_WORLD_NODES_MAX + 1];
    bool is_dead[NAMES_WORLD_NODES_MAX + 1];
    uint64_t timer_ns[NAMES_WORLD_NODES_MAX + 1];
    uint64_t learns_ns[NAMES_WORLD_NODES_MAX + 1]; /* not before: losses come in order */
    uint32_t nodes;
    uint64_t now_ns;
    uint32_t last_request;
    struct world_message *messages; /* under way, in any order */
    uint32_t messages_count;
    uint64_t sent;         /* messages of all kinds, except those of a place to itself */
    bool job_is_over;      /* of all processes */
    bool is_calm;          /* messages take one and the same time */
    bool loses_copies;     /* a fault: what should be copied is only said to be */
    struct name_ring ring; /* of those that live */
};

void names_world_open(struct names_world *world, uint64_t seed, uint32_t nodes);
void names_world_close(struct names_world *world);
/* Handles all that happens until a time, or until nothing is under way (UINT64_MAX). */
void names_world_until(struct names_world *world, uint64_t time_ns);
void names_world_kill(struct names_world *world, uint32_t place);
/* A process asks: keys with commas between them; value NULL: none.  call must live until it is answered. */
void names_world_ask(struct names_world *world, struct world_call *call, uint32_t rank,
                     enum name_verb verb, const struct pmi_names *how, const char *keys,
                     const char *value, uint32_t timeout_ms);
/* The status of such a request, when nothing is under way any more. */
int names_world_say(struct names_world *world, struct world_call *call, uint32_t rank,
                    enum name_verb verb, const struct pmi_names *how, const char *keys,
                    const char *value);

struct names_totals {
    uint64_t published;
    uint64_t found;
    uint64_t refused;
    uint64_t removed;
    uint64_t waited;
    uint64_t killed;
};

/* One random world; wrong: what should not be, or "". */
void names_world_run(uint64_t seed, bool loses_copies, struct names_totals *totals,
                     char wrong[256]);

#endif
