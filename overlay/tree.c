/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything here walks down from the whole range towards one place; each step is O(1) arithmetic
 * plus, where the head matters, one search in the dead.  Two facts carry the rest:
 *
 * - A place that heads a range heads every smaller range on the way down to itself, because it is
 *   the first living place of the larger one.  So its scope is the first range on the way that it
 *   heads, and its parent is the head of the range just before.
 * - What a place heads beside itself, (place, scope.last], is tiled by the ranges of its children in
 *   ascending order, innermost level first: the child range that begins at x is the first range on
 *   the way down to x whose first place is x.
 */
#include "config.h"

#include "overlay/tree.h"

#include <assert.h>

/* The initial places, and those with all annexes, inhabited or not. */
static struct range tree_core(const struct tree *tree)
{
    assert(tree->places >= 1 && tree->radix >= 1);
    return (struct range){.first = 0, .last = tree->places - 1};
}

static struct range tree_whole(const struct tree *tree)
{
    assert(tree->places >= 1 && tree->radix >= 1);
    return (struct range){.first = 0, .last = TREE_PLACES_MAX - 1};
}

static int range_contains(struct range range, uint32_t place)
{
    return range.first <= place && place <= range.last;
}

uint32_t tree_cut_count(const struct tree *tree, struct range range)
{
    uint32_t rest = range.last - range.first;

    return rest < tree->radix ? rest : tree->radix;
}

struct range tree_cut(const struct tree *tree, struct range range, uint32_t index)
{
    uint32_t rest = range.last - range.first;
    uint32_t count = tree_cut_count(tree, range);
    uint32_t size;
    uint32_t larger; /* the number of first cuts that have one place more */
    struct range cut;

    assert(index < count);
    size = rest / count;
    larger = rest % count;
    cut.first = range.first + 1 + index * size + (index < larger ? index : larger);
    cut.last = cut.first + size - (index < larger ? 0 : 1);
    return cut;
}

/* The annex that begins at first: as large as all before it. */
static struct range tree_annex(const struct tree *tree, uint32_t first)
{
    uint32_t size = first > tree->radix ? first : tree->radix;
    struct range annex = {.first = first, .last = TREE_PLACES_MAX - 1};

    if (size <= annex.last - first)
        annex.last = first + size - 1;
    return annex;
}

static struct range tree_annex_of(const struct tree *tree, uint32_t place)
{
    struct range annex = tree_annex(tree, tree->places);

    assert(place >= tree->places && place < TREE_PLACES_MAX);
    while (annex.last < place)
        annex = tree_annex(tree, annex.last + 1);
    return annex;
}

/* The cut of the range that contains place; place must not be the range's first. */
static struct range tree_cut_of(const struct tree *tree, struct range range, uint32_t place)
{
    uint32_t rest = range.last - range.first;
    uint32_t count = tree_cut_count(tree, range);
    uint32_t offset = place - range.first - 1;
    uint32_t size = rest / count;
    uint32_t larger = rest % count;
    uint32_t index;

    assert(place > range.first && place <= range.last);
    if (offset < larger * (size + 1))
        index = offset / (size + 1);
    else
        index = larger + (offset - larger * (size + 1)) / size;
    return tree_cut(tree, range, index);
}

/* The next smaller range on the way down to place. */
static struct range tree_down(const struct tree *tree, struct range range, uint32_t place)
{
    if (range.first > 0)
        return tree_cut_of(tree, range, place);
    if (place < tree->places)
        return tree_cut_of(tree, tree_core(tree), place);
    return tree_annex_of(tree, place);
}

uint32_t tree_head(const struct tree *tree, struct range range)
{
    uint32_t end = tree_population(tree);
    uint32_t head = range.first;

    if (range.first >= end)
        return TREE_NO_PLACE;
    if (range.last >= end)
        range.last = end - 1;
    if (tree->dead != NULL && !ranges_first_gap(tree->dead, range.first, range.last, &head))
        return TREE_NO_PLACE;
    return head;
}

/* Walks down to the scope of a place; ret_above is the head of the range above it, TREE_NO_PLACE
 * if there is none. */
static struct range tree_walk(const struct tree *tree, uint32_t place, uint32_t *ret_above)
{
    struct range range = tree_whole(tree);
    uint32_t above = TREE_NO_PLACE;
    uint32_t head = tree_head(tree, range);

    assert(place < tree_population(tree));
    while (head != place) {
        assert(range.first != place); /* else place is dead */
        above = head;
        range = tree_down(tree, range, place);
        head = tree_head(tree, range);
    }
    *ret_above = above;
    if (range.first == 0)
        range.last = tree_population(tree) - 1;
    return range;
}

struct range tree_scope(const struct tree *tree, uint32_t place)
{
    uint32_t above;

    return tree_walk(tree, place, &above);
}

uint32_t tree_parent(const struct tree *tree, uint32_t place)
{
    uint32_t above;

    tree_walk(tree, place, &above);
    return above;
}

/* The first range on the way down to `to` that does not contain `from`, which must not be in
 * [to, ...]: the tile of from's scope that holds `to`. */
static struct range tree_tile(const struct tree *tree, uint32_t from, uint32_t to)
{
    struct range range = tree_whole(tree);

    while (range_contains(range, from))
        range = tree_down(tree, range, to);
    return range;
}

int tree_next_child(const struct tree *tree, uint32_t place, struct tree_cursor *cursor,
                    struct range *ret_range, uint32_t *ret_head)
{
    /* state: 0 = started, 1 = where the next tile begins, 2 = last place of the scope. */
    if (!cursor->state[0]) {
        cursor->state[0] = 1;
        cursor->state[1] = place + 1;
        cursor->state[2] = tree_scope(tree, place).last;
    }
    while (cursor->state[1] <= cursor->state[2] && cursor->state[1] < tree_population(tree)) {
        struct range tile = tree_tile(tree, place, cursor->state[1]);
        uint32_t head = tree_head(tree, tile);

        cursor->state[1] = tile.last + 1;
        if (head == TREE_NO_PLACE)
            continue;
        *ret_range = tile;
        *ret_head = head;
        return 1;
    }
    return 0;
}

uint32_t tree_next_hop(const struct tree *tree, uint32_t from, uint32_t to)
{
    uint32_t above;
    struct range scope = tree_walk(tree, from, &above);

    assert(from != to && to < tree_population(tree));
    if (!range_contains(scope, to))
        return above;
    return tree_head(tree, tree_tile(tree, from, to));
}

struct range tree_covering(const struct tree *tree, uint32_t first, uint32_t last)
{
    struct range range = last < tree->places ? tree_core(tree) : tree_whole(tree);

    assert(first <= last && last < TREE_PLACES_MAX);
    while (first > range.first) {
        struct range cut = tree_down(tree, range, first);

        if (!range_contains(cut, last))
            break;
        range = cut;
    }
    return range;
}

static uint32_t range_depth(const struct tree *tree, struct range range)
{
    uint32_t depth = 0;

    while (range.last > range.first) {
        range = tree_cut(tree, range, 0); /* the first cut is never smaller than another */
        depth++;
    }
    return depth;
}

uint32_t tree_depth(const struct tree *tree)
{
    uint32_t depth = range_depth(tree, tree_core(tree));
    struct range annex = tree_core(tree);

    while (annex.last + 1 < tree_population(tree)) {
        uint32_t below;

        annex = tree_annex(tree, annex.last + 1);
        below = 1 + range_depth(tree, annex);
        depth = below > depth ? below : depth;
    }
    return depth;
}

/*
 * Why 6.  A small broadcast or one half of a barrier passes depth levels.  On each, a place spends
 * message_ns of CPU per child, sequentially, and the last child's copy then travels hop_ns:
 *
 *     cost(N, r) = depth(N, r) * (hop_ns + r * message_ns),   depth ~ log N / log r
 *
 * Measured with this code: 15-30 us for a hop between daemons of one machine, 50 us between nodes
 * over TCP; 5 us of CPU for a small sealed frame.  With hop 50 us, message 5 us (us in all):
 *
 *     N \ r          2     4     6     8    16    32    64   128
 *     64           360   210   240   180   260   420   370   690   (64 itself: one level)
 *     4,096        720   420   400   360   390   630   740  1380
 *     100,000      960   630   560   540   650   840  1110  2070
 *     1,048,576   1200   700   640   630   650   840  1480  2070
 *
 * The minimum is flat between 4 and 16, and moves downward with the hop: at 10 us a barrier of
 * 100,000 takes 0.56 ms with 4 or 5, 0.57 with 6, 0.59 with 8 and 0.76 with 16 (banyan sim).  What
 * the model omits favours few levels: relays whose death concerns others (1/r of all), and daemons
 * started level by level.  The start itself differs little: over an ssh of 10 ms CPU and 150 ms,
 * 1,000 nodes are up in 0.82 s with 6, in 0.94 with 5 and in 0.80 with 16.  The degree costs
 * descriptors and, after deaths, at most r * depth links. test/unit/overlay/tree.c prints the table
 * from this function.
 */
uint64_t tree_radix_cost(uint32_t places, uint32_t radix, uint64_t hop_ns, uint64_t message_ns)
{
    struct tree tree = {.places = places, .radix = radix};

    return tree_depth(&tree) * (hop_ns + radix * message_ns);
}
