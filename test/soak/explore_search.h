/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A search in depth over the choices of a small world, which goes on from each state once.  The world
 * lives in the arena (explore_memory.c), and so can be gone back in.
 */
#ifndef TEST_SOAK_EXPLORE_SEARCH_H
#define TEST_SOAK_EXPLORE_SEARCH_H

#include "test/soak/explore.h"

/* A world that has been made, and what is asked of it. */
struct search_space {
    const char *name;
    const char *test; /* how it is replayed */
    uint32_t (*choices)(
        struct choice *choices); /* what may happen next, troubles last; 0 at an end */
    void (*apply)(const struct choice *choice);
    void (*describe)(const struct choice *choice, struct buffer *out); /* before apply */
    uint64_t (*hash)(void);
    bool (*is_trouble)(const struct choice *choice); /* it need not happen */
    bool (*is_ask)(const struct choice *choice);     /* it comes from outside */
    bool (*is_quiet)(void);                          /* nothing goes on and nobody waits */
    void (*finish)(void);                            /* checks what must hold at an end */
    const char *(*failure)(void);                    /* "" */
};

/* Visits all states and reports a test: no violation, and what was visited, after the words of what.
 * With EXPLORE_SECONDS=n in the environment all searches of this process take n seconds together, and each
 * a tenth of it: one that is not done by then, and in which nothing is wrong so far, is skipped. */
void search_all(const struct search_space *space, const char *what);
/* Where to begin among count searches: another one each time, if there is not time for all; else 0. */
size_t search_first(size_t count);
/* Follows a path of EXPLORE_PATH, and says what happens. */
void search_follow(const struct search_space *space, const char *path);
void search_fini(void);

#endif
