/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two binary trees over the ranks 0..count-1 with disjoint inner nodes: a rank that forwards in one
 * tree is a leaf of the other (Sanders, Speck, Traeff: Two-tree algorithms for full bandwidth
 * broadcast, reduction and scan, 2009).  So when each tree carries half of the data, no rank sends
 * more than about twice what it receives.
 *
 * Both are in-order trees of bit arithmetic: rank i is at position i + 1 of the first and one
 * further, cyclically, in the second; a position's height is the number of its trailing zero bits,
 * so odd positions are leaves.  Neighbours are mostly close in rank, so requests for lateral links
 * stay low in the wide tree.  Invariant: every tree spans all ranks; degree <= 3; depth <=
 * log2(count) + 1.  Cost: O(log count), no memory.
 */
#ifndef OVERLAY_TWO_TREES_H
#define OVERLAY_TWO_TREES_H

#include <stdint.h>

#define TWO_TREES_DEGREE_MAX 3u
#define TWO_TREES_NO_RANK    UINT32_MAX

/* tree: 0 or 1.  The root has TWO_TREES_NO_RANK. */
uint32_t two_trees_parent(uint32_t count, unsigned int tree, uint32_t rank);
uint32_t two_trees_root(uint32_t count, unsigned int tree);
/* Parent and children, in this order, if they exist; returns their number. */
uint32_t two_trees_neighbours(uint32_t count, unsigned int tree, uint32_t rank,
                              uint32_t ret_ranks[TWO_TREES_DEGREE_MAX]);

#endif
