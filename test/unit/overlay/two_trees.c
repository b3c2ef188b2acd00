/* SPDX-License-Identifier: BSD-3-Clause */
/* The two trees, for every count up to some hundreds and for a few large ones. */
#include "config.h"

#include "overlay/two_trees.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "test/support/tap.h"

/* Edges from a rank to the root; more than limit: it never gets there. */
static uint32_t depth_of(uint32_t count, unsigned int tree, uint32_t rank, uint32_t limit)
{
    uint32_t depth = 0;

    while (depth <= limit) {
        rank = two_trees_parent(count, tree, rank);
        if (rank == TWO_TREES_NO_RANK)
            return depth;
        depth++;
    }
    return depth;
}

static uint32_t bits_of(uint32_t count)
{
    uint32_t bits = 0;

    while (count >> bits != 0)
        bits++;
    return bits;
}

static bool is_neighbour(uint32_t count, unsigned int tree, uint32_t rank, uint32_t other)
{
    uint32_t ranks[TWO_TREES_DEGREE_MAX];
    uint32_t found = two_trees_neighbours(count, tree, rank, ranks);

    for (uint32_t i = 0; i < found; i++) {
        if (ranks[i] == other)
            return true;
    }
    return false;
}

/* Faults of one rank in one tree; adds its children to *ret_children. */
static uint32_t faults_of(uint32_t count, unsigned int tree, uint32_t rank, uint32_t *ret_children)
{
    uint32_t ranks[TWO_TREES_DEGREE_MAX];
    uint32_t found = two_trees_neighbours(count, tree, rank, ranks);
    uint32_t parent = two_trees_parent(count, tree, rank);
    uint32_t faults = depth_of(count, tree, rank, 64) > bits_of(count);

    for (uint32_t i = 0; i < found; i++) {
        if (ranks[i] >= count || ranks[i] == rank || !is_neighbour(count, tree, ranks[i], rank))
            faults++;
        else if (ranks[i] != parent && two_trees_parent(count, tree, ranks[i]) != rank)
            faults++;
    }
    *ret_children = found - (parent != TWO_TREES_NO_RANK);
    return faults;
}

static uint32_t faults_in(uint32_t count, uint32_t step)
{
    uint32_t faults = 0;

    for (uint32_t rank = 0; rank < count; rank += step) {
        uint32_t children[2];

        for (unsigned int tree = 0; tree < 2; tree++)
            faults += faults_of(count, tree, rank, &children[tree]);
        for (unsigned int tree = 0; tree < 2; tree++)
            faults += (two_trees_parent(count, tree, rank) == TWO_TREES_NO_RANK) !=
                      (two_trees_root(count, tree) == rank);
        if (children[0] > 0 && children[1] > 0)
            faults++; /* inner in both */
    }
    return faults;
}

int main(void)
{
    uint32_t faults = 0;

    for (uint32_t count = 1; count <= 600; count++)
        faults += faults_in(count, 1);
    is_uint(faults, 0, "up to 600 ranks: spanning, shallow, inner nodes disjoint");
    is_uint(faults_in(100000, 1), 0, "100,000 ranks");
    is_uint(faults_in(1048577, 7), 0, "a million ranks");
    is_uint(faults_in(16777217, 1009), 0, "as many as there may be places");
    return done_testing();
}
