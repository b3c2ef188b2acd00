/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of ranges (design.md, "The tree is made of ranges").  Places are 0..places-1, place 0 is
 * the root.  A range is one subtree: what follows its first place is cut into at most radix nearly
 * equal ranges.  The cuts depend on (places, radix) only; a range is headed by its first living
 * place.  Invariant: for any set of dead places the degree is below radix * depth.
 *
 * The tree goes on behind its first places, by arithmetic on (places, radix) too: with annexes,
 * each as large as all before it together (but not smaller than radix), up to TREE_PLACES_MAX.  Each
 * is a range right below the root.  The population, which only ever grows, says how far the tree is
 * inhabited; nobody lives at or behind it.  Places are given in ascending order and never twice, so
 * a new one comes behind all others: it has nobody below it, and who had a parent keeps it.
 * Cost: O(radix * depth * log(dead ranges)) at most; no memory beside the caller's.
 */
#ifndef OVERLAY_TREE_H
#define OVERLAY_TREE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"

#define TREE_PLACES_MAX    16777217u
#define TREE_RADIX_MIN     2u
#define TREE_RADIX_MAX     1024u
#define TREE_RADIX_DEFAULT 6u /* the cost model stands in tree.c, above tree_radix_cost */
#define TREE_DEPTH_MAX     26u
#define TREE_NO_PLACE      UINT32_MAX

struct tree {
    uint32_t places; /* at the beginning, >= 1 */
    uint32_t radix;
    const struct ranges *dead; /* not owned; may be NULL: nobody */
    uint32_t population;       /* places ever given; below `places`, so also 0: that many */
};

/* Places ever given: at least those of the beginning. */
static inline uint32_t tree_population(const struct tree *tree)
{
    return tree->population > tree->places ? tree->population : tree->places;
}

/* The child ranges of the range [first, last] (static cuts): how many, and the index-th. */
uint32_t tree_cut_count(const struct tree *tree, struct range range);
struct range tree_cut(const struct tree *tree, struct range range, uint32_t index);

/* First living place of a range, or TREE_NO_PLACE. */
uint32_t tree_head(const struct tree *tree, struct range range);
/* Largest range that a living place heads: its scope.  The root's scope is everything that is
 * inhabited; another's may end behind the population.  Here and below, places that are asked about
 * must be living. */
struct range tree_scope(const struct tree *tree, uint32_t place);
/* The living head of the smallest range that strictly contains place's scope; TREE_NO_PLACE for the
 * head of everything. */
uint32_t tree_parent(const struct tree *tree, uint32_t place);

/* Walks the child ranges of a living place: every cut, on every level that the place heads, that is
 * headed by another.  Start with *cursor = {0}; returns 0 at the end.  Ranges come in ascending
 * order (innermost level first) and tile (place, scope.last], but for all-dead ones, which are
 * skipped.  More deaths only ever append ranges at the end or empty some. */
struct tree_cursor {
    uint32_t state[3];
};
int tree_next_child(const struct tree *tree, uint32_t place, struct tree_cursor *cursor,
                    struct range *ret_range, uint32_t *ret_head);

/* Next place on the way from `from` to living `to`; `to` must differ from `from`. */
uint32_t tree_next_hop(const struct tree *tree, uint32_t from, uint32_t to);
/* Smallest range of the static tree that contains [first, last]; its head is the meeting point.  The
 * first places together count as one.  It does not depend on the dead, nor on the population. */
struct range tree_covering(const struct tree *tree, uint32_t first, uint32_t last);
/* Edges on the longest path in the static tree, up to the annex that is inhabited last. */
uint32_t tree_depth(const struct tree *tree);

/* Modelled cost of one small broadcast, ns: depth * (hop_ns + radix * message_ns). */
uint64_t tree_radix_cost(uint32_t places, uint32_t radix, uint64_t hop_ns, uint64_t message_ns);

#endif
