/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/stream_cost.h"

#define HOP_NS     50000ull
#define MESSAGE_NS 5000ull /* CPU, at each of the two ends; a byte is 1 ns */

static uint32_t log2_of(uint32_t count)
{
    uint32_t bits = 0;

    while (bits < 31 && (count >> bits) > 1)
        bits++;
    return bits + 1;
}

/* Edges on the longest way, and to how many one sends what it gets. */
static void describe(const struct stream_shape *shape, enum stream_algorithm algorithm,
                     uint64_t *ret_edges, uint64_t *ret_fan)
{
    *ret_edges = algorithm == STREAM_TWO_TREES ? log2_of(shape->members) : shape->depth;
    if (!shape->one_source)
        *ret_edges *= 2; /* up and down */
    *ret_fan = algorithm == STREAM_TWO_TREES ? 2 : shape->radix;
}

/* One message a hop: it is sent radix times before the last one has it. */
uint64_t stream_cost_release(const struct stream_shape *shape, uint64_t bytes)
{
    return shape->depth * (HOP_NS + shape->radix * (MESSAGE_NS + bytes));
}

/* A chunk passes every edge of the longest way; meanwhile the busiest place sends everything. */
static uint64_t pipeline_ns(const struct stream_shape *shape, enum stream_algorithm algorithm,
                            uint64_t bytes)
{
    uint64_t chunk = stream_chunk_bytes(shape, algorithm, bytes);
    uint64_t chunks = (bytes + chunk - 1) / chunk;
    uint64_t edges;
    uint64_t fan;

    describe(shape, algorithm, &edges, &fan);
    if (algorithm == STREAM_TWO_TREES)
        return edges * (HOP_NS + fan * (MESSAGE_NS + chunk)) + bytes + chunks * 2 * MESSAGE_NS;
    return edges * (HOP_NS + fan * (MESSAGE_NS + chunk)) + fan * (bytes + chunks * MESSAGE_NS);
}

uint64_t stream_cost_main_tree(const struct stream_shape *shape, uint64_t bytes)
{
    return pipeline_ns(shape, STREAM_MAIN_TREE, bytes);
}

/* The links may have to be asked for, up the tree and down and back, and opened. */
uint64_t stream_cost_two_trees(const struct stream_shape *shape, uint64_t bytes)
{
    uint64_t cold_ns = (4ull * shape->depth + 2) * (HOP_NS + MESSAGE_NS);

    return cold_ns + pipeline_ns(shape, STREAM_TWO_TREES, bytes);
}

static uint64_t square_root(uint64_t number)
{
    uint64_t root = 0;

    for (uint64_t bit = 1ull << 31; bit > 0; bit >>= 1) {
        if ((root + bit) * (root + bit) <= number)
            root += bit;
    }
    return root;
}

/* Minimum over c of edges * fan * c + bytes / c * fan * MESSAGE_NS. */
uint32_t stream_chunk_bytes(const struct stream_shape *shape, enum stream_algorithm algorithm,
                            uint64_t bytes)
{
    uint64_t edges;
    uint64_t fan;
    uint64_t best;

    describe(shape, algorithm, &edges, &fan);
    best = square_root(bytes * MESSAGE_NS / (edges > 0 ? edges : 1));
    if (best < STREAM_CHUNK_BYTES_MIN)
        return STREAM_CHUNK_BYTES_MIN;
    return best > STREAM_CHUNK_BYTES_MAX ? STREAM_CHUNK_BYTES_MAX : (uint32_t)best;
}
