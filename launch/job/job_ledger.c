/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/job_ledger.h"

#include <assert.h>
#include <stdlib.h>

struct node_pool *job_ledger_create(const struct allocation *allocation)
{
    struct node_pool *pool = node_pool_create();
    int rc = node_pool_insert(pool, "", allocation, NULL);

    assert(rc == 0); /* the names of an allocation differ, and the book is new */
    return pool;
}

/* ---- shares ---- */

void job_shares_fini(struct job_shares *shares)
{
    free(shares->items);
    *shares = (struct job_shares){.count = 0};
}

/* Neighbours with equal counts form one share. */
static void shares_add(struct job_shares *shares, uint32_t node, uint32_t slots)
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

void job_shares_make(const struct placement_map *map, const struct ranges *places,
                     struct job_shares *ret_shares)
{
    uint32_t place = 0;

    *ret_shares = (struct job_shares){.count = 0};
    for (; ranges_next(places, place, &place); place++)
        shares_add(ret_shares, place - 1, placement_map_count(map, place - 1));
}

int job_ledger_take(struct node_pool *pool, uint32_t job, const struct job_shares *shares,
                    struct error *error)
{
    return node_pool_take(pool, job, shares->items, shares->count, true, error);
}

/* ---- views ---- */

/* From this node on each has that many slots more, or fewer, and that many more are used. */
struct slots_delta {
    uint32_t node;
    int64_t slots;
    int64_t used;
};

static void view_add(struct job_view *view, uint32_t node, int64_t slots, int64_t used)
{
    if (view->deltas_count == view->deltas_capacity) {
        view->deltas_capacity = view->deltas_capacity > 0 ? 2 * view->deltas_capacity : 16;
        view->deltas = memory_resize(view->deltas, view->deltas_capacity * sizeof(*view->deltas));
    }
    view->deltas[view->deltas_count++] =
        (struct slots_delta){.node = node, .slots = slots, .used = used};
}

/* Nodes [first, last] have that many slots more each, of which that many are used. */
static void view_add_range(struct job_view *view, uint32_t first, uint32_t last, int64_t slots,
                           int64_t used)
{
    assert(first <= last);
    view_add(view, first, slots, used);
    view_add(view, last + 1, -slots, -used);
}

void job_view_init(struct job_view *view, const struct allocation *allocation)
{
    uint32_t node = 0;

    *view = (struct job_view){.allocation = *allocation};
    view->allocation.runs = NULL;
    view->allocation.runs_count = view->allocation.runs_capacity = 0;
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        const struct slots_run *run = &allocation->runs[i];

        view_add_range(view, node, node + run->nodes - 1, run->slots, run->used);
        node += run->nodes;
    }
}

void job_view_fini(struct job_view *view)
{
    free(view->allocation.runs);
    free(view->deltas);
    *view = (struct job_view){.deltas = NULL};
}

void job_view_take(struct job_view *view, const struct job_shares *shares)
{
    for (uint32_t i = 0; i < shares->count; i++) {
        const struct pool_share *share = &shares->items[i];

        view_add_range(view, share->nodes.first, share->nodes.last, 0, share->slots);
    }
}

void job_view_take_nodes(struct job_view *view, const struct ranges *nodes)
{
    for (uint32_t i = 0; i < nodes->count; i++)
        view_add_range(view, nodes->items[i].first, nodes->items[i].last, -(int64_t)UINT32_MAX, 0);
}

static int compare_deltas(const void *a, const void *b)
{
    const struct slots_delta *left = a, *right = b;

    return left->node < right->node ? -1 : left->node > right->node;
}

/* A job that oversubscribes has more slots of a node than there are: then all are used. */
static void view_run(struct allocation *allocation, uint32_t nodes, int64_t slots, int64_t used)
{
    struct slots_run *last =
        allocation->runs_count > 0 ? &allocation->runs[allocation->runs_count - 1] : NULL;
    struct slots_run run = {.nodes = nodes};

    assert(used >= 0);
    if (slots > 0) {
        run.slots = (uint32_t)slots;
        run.used = (uint32_t)(used < slots ? used : slots);
    }
    if (last != NULL && last->slots == run.slots && last->used == run.used)
        last->nodes += nodes;
    else
        allocation->runs[allocation->runs_count++] = run;
}

void job_view_make(struct job_view *view)
{
    struct allocation *allocation = &view->allocation;
    uint32_t nodes = allocation_nodes(allocation);
    int64_t slots = 0, used = 0;

    assert(allocation->runs == NULL);
    qsort(view->deltas, view->deltas_count, sizeof(*view->deltas), compare_deltas);
    allocation->runs_capacity = view->deltas_count + 1;
    allocation->runs = memory_allocate(allocation->runs_capacity * sizeof(*allocation->runs));
    for (uint32_t i = 0; i < view->deltas_count; i++) {
        const struct slots_delta *delta = &view->deltas[i];
        uint32_t next = i + 1 < view->deltas_count ? delta[1].node : nodes;

        slots += delta->slots;
        used += delta->used;
        if (next > nodes)
            next = nodes;
        if (next > delta->node)
            view_run(allocation, next - delta->node, slots, used);
    }
}

void job_ledger_lost(struct node_pool *pool, const struct ranges *places)
{
    for (uint32_t i = 0; i < places->count; i++) {
        for (uint32_t place = places->items[i].first; place <= places->items[i].last; place++) {
            if (place > 0 && place <= node_pool_count(pool))
                node_pool_set_state(pool, place - 1, NODE_DOWN);
        }
    }
}

void job_view_without(struct job_view *view, const struct allocation *allocation,
                      const struct ranges *places)
{
    struct ranges nodes = {0};

    for (uint32_t i = 0; i < places->count; i++) {
        assert(places->items[i].first > 0); /* place 0 is not a node */
        ranges_add(&nodes, places->items[i].first - 1, places->items[i].last - 1);
    }
    job_view_init(view, allocation);
    job_view_take_nodes(view, &nodes);
    job_view_make(view);
    ranges_fini(&nodes);
}
