/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/node_order.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/node_order_internal.h"
#include "base/memory.h"

/* ---- making ---- */

static void order_check(const struct node_order *order)
{
    assert(order->nodes.count > 0 && order->nodes.count == order->positions.count);
    assert(order->count >= order->nodes.count);
}

static int compare_stretches(const void *a, const void *b)
{
    const struct stretch *left = a, *right = b;

    return (left->from > right->from) - (left->from < right->from);
}

void node_order_add(struct stretches *nodes, struct stretch added)
{
    struct stretch *last = nodes->count > 0 ? &nodes->items[nodes->count - 1] : NULL;

    if (last != NULL && last->to + last->count == added.to) {
        last->count += added.count;
        return;
    }
    /* Room is doubled at powers of 2. */
    if ((nodes->count & (nodes->count - 1)) == 0)
        nodes->items = memory_resize(nodes->items, (nodes->count > 0 ? 2 * nodes->count : 1) *
                                                       sizeof(*nodes->items));
    nodes->items[nodes->count++] = added;
}

int node_order_index(struct node_order *order)
{
    uint32_t count = order->nodes.count;
    struct stretch *items = memory_allocate(count * sizeof(*items));

    for (uint32_t i = 0; i < count; i++) {
        const struct stretch *stretch = &order->nodes.items[i];

        items[i] =
            (struct stretch){.from = stretch->to, .to = stretch->from, .count = stretch->count};
    }
    qsort(items, count, sizeof(*items), compare_stretches);
    order->positions = (struct stretches){.items = items, .count = count};
    for (uint32_t i = 1; i < count; i++)
        if (items[i].from < items[i - 1].from + items[i - 1].count)
            return -EEXIST;
    /* As many numbers as there are, none twice and none too large, are all of them. */
    if (order->is_whole && items[count - 1].from + items[count - 1].count != order->count)
        return -ERANGE;
    return 0;
}

struct node_order *node_order_create(const uint32_t *nodes, uint32_t count)
{
    struct node_order *order = memory_allocate_zeroed(sizeof(*order));
    int rc;

    order->count = count;
    order->is_whole = 1;
    for (uint32_t i = 0; i < count; i++)
        node_order_add(&order->nodes, (struct stretch){.from = i, .to = nodes[i], .count = 1});
    if (order->nodes.count == 0 || (order->nodes.count == 1 && nodes[0] == 0)) {
        node_order_destroy(order);
        return NULL;
    }
    rc = node_order_index(order);
    assert(rc == 0 && order->positions.items[0].from == 0);
    order_check(order);
    return order;
}

static void stretches_copy(struct stretches *target, const struct stretches *source)
{
    target->items = memory_allocate(source->count * sizeof(*source->items));
    memcpy(target->items, source->items, source->count * sizeof(*source->items));
}

struct node_order *node_order_copy(const struct node_order *order)
{
    struct node_order *copy;

    if (order == NULL)
        return NULL;
    order_check(order);
    copy = memory_allocate(sizeof(*copy));
    *copy = *order;
    stretches_copy(&copy->nodes, &order->nodes);
    stretches_copy(&copy->positions, &order->positions);
    return copy;
}

/* The last stretch that begins at or before a number; NULL if there is none. */
static const struct stretch *stretch_before(const struct stretches *stretches, uint32_t number)
{
    uint32_t low = 0, high = stretches->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (stretches->items[middle].from <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &stretches->items[low - 1] : NULL;
}

/* What a number stands for, and how many from it on are neighbours there, too, which is less than all only if
 * the answer says so. */
static uint32_t stretches_find(const struct stretches *stretches, uint32_t number,
                               uint32_t *ret_count)
{
    const struct stretch *stretch = stretch_before(stretches, number);
    const struct stretch *end = stretches->items + stretches->count;
    const struct stretch *next = stretch != NULL ? stretch + 1 : stretches->items;

    if (stretch != NULL && number - stretch->from < stretch->count) {
        *ret_count = stretch->count - (number - stretch->from);
        return stretch->to + (number - stretch->from);
    }
    *ret_count = next < end ? next->from - number : UINT32_MAX - number;
    return number;
}

struct node_order *node_order_slice(const struct node_order *order, uint32_t first, uint32_t count)
{
    struct node_order *slice;
    int rc;

    if (order == NULL)
        return NULL;
    assert(count > 0);
    slice = memory_allocate_zeroed(sizeof(*slice));
    slice->first = first;
    slice->count = count;
    for (uint32_t at = first; at < first + count;) {
        uint32_t neighbours;
        uint32_t node = stretches_find(&order->nodes, at, &neighbours);

        if (neighbours > first + count - at)
            neighbours = first + count - at;
        node_order_add(&slice->nodes,
                       (struct stretch){.from = at, .to = node, .count = neighbours});
        at += neighbours;
    }
    rc = node_order_index(slice);
    assert(rc == 0);
    order_check(slice);
    return slice;
}

void node_order_destroy(struct node_order *order)
{
    if (order == NULL)
        return;
    free(order->nodes.items);
    free(order->positions.items);
    free(order);
}

/* ---- looking up ---- */

uint32_t node_order_count(const struct node_order *order)
{
    return order != NULL ? order->count : 0;
}

uint32_t node_order_stretch(const struct node_order *order, uint32_t position, uint32_t *ret_count)
{
    *ret_count = UINT32_MAX - position;
    return order != NULL ? stretches_find(&order->nodes, position, ret_count) : position;
}

uint32_t node_order_node(const struct node_order *order, uint32_t position)
{
    uint32_t neighbours;

    return order != NULL ? stretches_find(&order->nodes, position, &neighbours) : position;
}

uint32_t node_order_position(const struct node_order *order, uint32_t node)
{
    uint32_t neighbours;

    return order != NULL ? stretches_find(&order->positions, node, &neighbours) : node;
}

uint32_t node_order_listed_place(const struct node_order *order, uint32_t tree_place)
{
    return tree_place > 0 ? node_order_node(order, tree_place - 1) + 1 : 0;
}

uint32_t node_order_tree_place(const struct node_order *order, uint32_t listed_place)
{
    return listed_place > 0 ? node_order_position(order, listed_place - 1) + 1 : 0;
}

/* ---- sets ---- */

/* In ascending order each costs O(1). */
static void places_collect(const struct stretches *stretches, const struct ranges *places,
                           struct ranges *ret_places)
{
    struct stretches found = {.count = 0};

    for (uint32_t i = 0; i < places->count; i++) {
        struct range range = places->items[i];

        if (range.first == 0)
            ranges_add(ret_places, 0, 0);
        range.first += range.first == 0;
        while (range.first <= range.last) {
            uint32_t neighbours, left = range.last - range.first + 1;
            uint32_t to = stretches_find(stretches, range.first - 1, &neighbours);

            neighbours = neighbours < left ? neighbours : left;
            if ((found.count & (found.count - 1)) == 0)
                found.items = memory_resize(found.items, (found.count > 0 ? 2 * found.count : 1) *
                                                             sizeof(*found.items));
            found.items[found.count++] =
                (struct stretch){.from = to + 1, .to = to + neighbours, .count = neighbours};
            if (neighbours == left)
                break;
            range.first += neighbours;
        }
    }
    qsort(found.items, found.count, found.count > 0 ? sizeof(*found.items) : 1, compare_stretches);
    for (uint32_t i = 0; i < found.count; i++)
        ranges_add(ret_places, found.items[i].from, found.items[i].to);
    free(found.items);
}

static void places_make(const struct node_order *order, const struct stretches *stretches,
                        const struct ranges *places, struct ranges *ret_places)
{
    struct ranges inside = {0};
    int has_all;

    assert(places != ret_places);
    ranges_clear(ret_places);
    ranges_copy(&inside, places);
    ranges_clip(&inside, 1, order->count);
    has_all = order->is_whole && ranges_count(&inside) == order->count;
    ranges_fini(&inside);
    if (has_all)
        ranges_copy(ret_places, places);
    else if (!ranges_is_empty(places))
        places_collect(stretches, places, ret_places);
}

void node_order_listed_places(const struct node_order *order, const struct ranges *tree_places,
                              struct ranges *ret_places)
{
    if (order == NULL)
        ranges_copy(ret_places, tree_places);
    else
        places_make(order, &order->nodes, tree_places, ret_places);
}

void node_order_tree_places(const struct node_order *order, const struct ranges *listed_places,
                            struct ranges *ret_places)
{
    if (order == NULL)
        ranges_copy(ret_places, listed_places);
    else
        places_make(order, &order->positions, listed_places, ret_places);
}
