/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/job_book.h"

#include <assert.h>
#include <stdlib.h>

struct shares {
    struct pool_share *items;
    uint32_t count;
    uint32_t capacity;
};

struct node_pool *job_book_create(const struct allocation *allocation)
{
    struct node_pool *pool = node_pool_create();
    int rc = node_pool_insert(pool, "", allocation, NULL);

    assert(rc == 0); /* the names of an allocation differ, and the book is new */
    return pool;
}

/* Neighbours with equally many are one share. */
static void shares_add(struct shares *shares, uint32_t node, uint32_t slots)
{
    struct pool_share *last = shares->count > 0 ? &shares->items[shares->count - 1] : NULL;

    if (last != NULL && last->slots == slots && last->nodes.last + 1 == node) {
        last->nodes.last = node;
        return;
    }
    if (shares->count == shares->capacity) {
        shares->capacity = shares->capacity > 0 ? 2 * shares->capacity : 4;
        shares->items = memory_resize(shares->items, shares->capacity * sizeof(*shares->items));
    }
    shares->items[shares->count++] =
        (struct pool_share){.nodes = {.first = node, .last = node}, .slots = slots};
}

int job_book_take(struct node_pool *pool, uint32_t job, const struct place_map *map,
                  const struct ranges *places, struct error *error)
{
    struct shares shares = {.count = 0};
    int rc;

    for (uint32_t i = 0; i < places->count; i++) {
        for (uint32_t place = places->items[i].first; place <= places->items[i].last; place++)
            shares_add(&shares, place - 1, place_map_count(map, place - 1));
    }
    rc = node_pool_take(pool, job, shares.items, shares.count, true, error);
    free(shares.items);
    return rc;
}

void job_book_lost(struct node_pool *pool, const struct ranges *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        for (uint32_t place = places->items[i].first; place <= places->items[i].last; place++) {
            if (place > 0 && place <= node_pool_count(pool))
                node_pool_set_state(pool, place - 1, NODE_DOWN);
        }
    }
}
