/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cost model for moving large data, as arithmetic.  The times are those measured (measure.h);
 * the defaults are 50 us per hop, 1 ns per byte (sealed by one core) and 5 us of CPU per message.
 */
#ifndef OVERLAY_STREAM_COST_H
#define OVERLAY_STREAM_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/stream_wire.h"

struct stream_shape {
    uint32_t members;
    uint32_t depth;              /* of the main tree over them */
    uint32_t radix;              /* maximum children of a place in it */
    bool one_source;             /* at the top; else every member is one */
    bool is_warm;                /* lateral links are open, or will serve later operations, too */
    struct endpoint_costs costs; /* by stream_costs */
    uint8_t trees;               /* enum endpoint_trees: of those that may be used */
};

#define STREAM_COST_NEVER UINT64_MAX /* of a method that may not be used */

/* Replaces fields that are 0 by the defaults. */
struct endpoint_costs stream_costs(const struct endpoint_costs *costs);

/* ns; for the data only: sizes have been gathered already. */
uint64_t stream_cost_release(const struct stream_shape *shape, uint64_t bytes);
uint64_t stream_cost_main_tree(const struct stream_shape *shape, uint64_t bytes);
uint64_t stream_cost_two_trees(const struct stream_shape *shape, uint64_t bytes);
uint64_t stream_cost_via_top(const struct stream_shape *shape, uint64_t bytes);
/* The cheapest chunk: small ones are forwarded sooner, large ones cost fewer messages. */
uint32_t stream_chunk_bytes(const struct stream_shape *shape, enum stream_algorithm algorithm,
                            uint64_t bytes);
/* Divides into the number of equal chunks that comes nearest to that length: a piece a little longer is
 * not cut in two, which would cost every place twice the messages. */
uint64_t stream_even_chunk(uint64_t bytes, uint32_t chunk_bytes);

#endif
