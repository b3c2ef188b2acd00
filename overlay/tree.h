/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of ranges (doc/protocol.rst, "Places and ranges").  Places are 0..places-1, place 0 is
 * the root.  A range is one subtree: the places after its first are cut into at most radix nearly
 * equal ranges.  The cuts depend on (places, radix) only; a range is headed by its first living
 * place.  Invariant: for any set of dead places the degree is below radix * depth.
 *
 * The tree continues after its initial places, also by arithmetic on (places, radix): with annexes,
 * each as large as all before it together (but not smaller than radix), up to TREE_PLACES_MAX.
 * Each is a range directly below the root.  The population, which only grows, is the end of the
 * inhabited part of the tree.  Places are assigned in ascending order and never reused, so a new
 * one comes after all others: it has no place below it, and all others keep their parents.  Cost:
 * O(radix * depth * log(dead ranges)) at most; no memory beside the caller's.
 */
#ifndef OVERLAY_TREE_H
#define OVERLAY_TREE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"

#define TREE_PLACES_MAX    16777217u
#define TREE_RADIX_MIN     2u
#define TREE_RADIX_MAX     1024u
#define TREE_RADIX_DEFAULT 6u /* the cost model is in tree.c, above tree_radix_cost */
#define TREE_DEPTH_MAX     26u
#define TREE_NO_PLACE      UINT32_MAX

struct tree {
    uint32_t places; /* at the beginning, >= 1 */
    uint32_t radix;
    const struct ranges *dead; /* not owned; may be NULL: none */
    uint32_t population;       /* places ever assigned; if below `places`, so also 0: that many */
};

/* Places ever assigned: at least the initial ones. */
static inline uint32_t tree_population(const struct tree *tree)
{
    return tree->population > tree->places ? tree->population : tree->places;
}

/* The child ranges of the range [first, last] (static cuts): how many, and the index-th. */
uint32_t tree_cut_count(const struct tree *tree, struct range range);
struct range tree_cut(const struct tree *tree, struct range range, uint32_t index);

/* First living place of a range, or TREE_NO_PLACE. */
uint32_t tree_head(const struct tree *tree, struct range range);
/* Largest range that a living place heads: its scope.  The root's scope is the whole inhabited
 * part; another's may end after the population.  Here and below, place arguments must be living. */
struct range tree_scope(const struct tree *tree, uint32_t place);
/* The living head of the smallest range that strictly contains place's scope; TREE_NO_PLACE for the
 * head of everything. */
uint32_t tree_parent(const struct tree *tree, uint32_t place);

/* Walks the child ranges of a living place: every cut, on every level that the place heads, that
 * has another head.  Start with *cursor = {0}; returns 0 at the end.  Ranges come in ascending
 * order (innermost level first) and tile (place, scope.last], except for all-dead ones, which are
 * skipped.  More deaths only ever append ranges at the end or empty some. */
struct tree_cursor {
    uint32_t state[3];
};
int tree_next_child(const struct tree *tree, uint32_t place, struct tree_cursor *cursor,
                    struct range *ret_range, uint32_t *ret_head);

/* Next place on the path from `from` to living `to`; `to` must differ from `from`. */
uint32_t tree_next_hop(const struct tree *tree, uint32_t from, uint32_t to);
/* Smallest range of the static tree that contains [first, last]; its head is the meeting point.
 * The initial places together count as one.  It does not depend on the dead, nor on the
 * population. */
struct range tree_covering(const struct tree *tree, uint32_t first, uint32_t last);
/* Edges on the longest path in the static tree, up to the last inhabited annex. */
uint32_t tree_depth(const struct tree *tree);

/* Modelled cost of one small broadcast, ns: depth * (hop_ns + radix * message_ns). */
uint64_t tree_radix_cost(uint32_t places, uint32_t radix, uint64_t hop_ns, uint64_t message_ns);

#endif
