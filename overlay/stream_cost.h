/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How large data is best moved: the cost model, as arithmetic.  The times are those of the
 * configuration; who says nothing gets a network of 50 us a hop, 1 ns a byte (sealed by one core)
 * and 5 us of CPU a message.
 */
#ifndef OVERLAY_STREAM_COST_H
#define OVERLAY_STREAM_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/stream_wire.h"

struct stream_shape {
    uint32_t members;
    uint32_t depth;          /* of the main tree over them */
    uint32_t radix;          /* most children of one place in it */
    bool one_source;         /* at the top; else everybody is one */
    struct node_costs costs; /* by stream_costs */
};

/* With what is 0 filled in. */
struct node_costs stream_costs(const struct node_costs *costs);

/* So much goes up inline at most: as many bytes as take no longer than the CPU of one frame at both of its
 * ends, for that is what a piece of its own costs everybody, within bounds. */
uint32_t stream_inline_bytes(const struct node_costs *costs);

/* ns; of the data alone: sizes have been gathered. */
uint64_t stream_cost_release(const struct stream_shape *shape, uint64_t bytes);
uint64_t stream_cost_main_tree(const struct stream_shape *shape, uint64_t bytes);
uint64_t stream_cost_two_trees(const struct stream_shape *shape, uint64_t bytes);
uint64_t stream_cost_via_top(const struct stream_shape *shape, uint64_t bytes);
/* The cheapest chunk: a small one is passed on sooner, a large one costs fewer messages. */
uint32_t stream_chunk_bytes(const struct stream_shape *shape, enum stream_algorithm algorithm,
                            uint64_t bytes);

#endif
