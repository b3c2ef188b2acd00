/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/two_trees.h"

#include <assert.h>

/* Positions count from 1. */
static uint64_t position_of(uint32_t count, unsigned int tree, uint32_t rank)
{
    return tree == 0 ? (uint64_t)rank + 1 : ((uint64_t)rank + 1) % count + 1;
}

static uint32_t rank_of(uint32_t count, unsigned int tree, uint64_t position)
{
    return (uint32_t)(tree == 0 ? position - 1 : (position - 2 + count) % count);
}

static uint64_t lowest_bit(uint64_t position)
{
    return position & (~position + 1);
}

/* The parent in the unbounded tree, skipping positions that do not exist; 0 for the root. */
static uint64_t parent_position(uint32_t count, uint64_t position)
{
    do {
        uint64_t bit = lowest_bit(position);

        if (bit > count)
            return 0;
        position = (position ^ bit) | (bit << 1);
    } while (position > count);
    return position;
}

/* The right child may not exist while its left descendants do; 0: none. */
static uint64_t right_position(uint32_t count, uint64_t position)
{
    uint64_t step = lowest_bit(position) >> 1;
    uint64_t right = position + step;

    while (step > 0 && right > count) {
        step >>= 1;
        right -= step;
    }
    return step > 0 ? right : 0;
}

uint32_t two_trees_parent(uint32_t count, unsigned int tree, uint32_t rank)
{
    uint64_t parent = parent_position(count, position_of(count, tree, rank));

    return parent > 0 ? rank_of(count, tree, parent) : TWO_TREES_NO_RANK;
}

uint32_t two_trees_root(uint32_t count, unsigned int tree)
{
    uint64_t position = 1;

    while (2 * position <= count)
        position *= 2;
    return rank_of(count, tree, position);
}

uint32_t two_trees_neighbours(uint32_t count, unsigned int tree, uint32_t rank,
                              uint32_t ret_ranks[TWO_TREES_DEGREE_MAX])
{
    uint64_t position = position_of(count, tree, rank);
    uint64_t step = lowest_bit(position) >> 1;
    uint64_t parent = parent_position(count, position);
    uint64_t right = right_position(count, position);
    uint32_t found = 0;

    assert(rank < count && tree < 2);
    if (parent > 0)
        ret_ranks[found++] = rank_of(count, tree, parent);
    if (step > 0)
        ret_ranks[found++] = rank_of(count, tree, position - step);
    if (right > 0)
        ret_ranks[found++] = rank_of(count, tree, right);
    return found;
}
