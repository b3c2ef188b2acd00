/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/stream_cost.h"

#define HOP_NS     50000
#define MESSAGE_NS 5000
#define BYTE_PS    1000
/* The limit of the arithmetic, with STREAM_BYTES_MAX. */
#define NS_MAX      10000000u
#define BYTE_PS_MAX 1000000u

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

struct endpoint_costs stream_costs(const struct endpoint_costs *costs)
{
    struct endpoint_costs filled = *costs;

    if (filled.hop_ns == 0)
        filled.hop_ns = HOP_NS;
    if (filled.message_ns == 0)
        filled.message_ns = MESSAGE_NS;
    if (filled.byte_ps == 0)
        filled.byte_ps = BYTE_PS;
    filled.hop_ns = at_most(filled.hop_ns, NS_MAX);
    filled.message_ns = at_most(filled.message_ns, NS_MAX);
    filled.byte_ps = at_most(filled.byte_ps, BYTE_PS_MAX);
    return filled;
}

static uint64_t bytes_ns(const struct stream_shape *shape, uint64_t bytes)
{
    return bytes * shape->costs.byte_ps / 1000;
}

static uint32_t log2_of(uint32_t count)
{
    uint32_t bits = 0;

    while (bits < 31 && (count >> bits) > 1)
        bits++;
    return bits + 1;
}

/* The number of edges on the longest path, and to how many a place forwards data. */
static void measure_paths(const struct stream_shape *shape, enum stream_algorithm algorithm,
                          uint64_t *ret_edges, uint64_t *ret_fan)
{
    *ret_edges = algorithm == STREAM_MAIN_TREE ? shape->depth : log2_of(shape->members);
    if (algorithm == STREAM_VIA_TOP)
        *ret_edges += shape->depth + 1;
    else if (!shape->one_source)
        *ret_edges *= 2; /* up and down */
    *ret_fan = algorithm == STREAM_MAIN_TREE ? shape->radix : 2;
}

/* One message per hop: it is sent radix times before the last one has it. */
uint64_t stream_cost_release(const struct stream_shape *shape, uint64_t bytes)
{
    if (shape->trees == ENDPOINT_TREES_TWO)
        return STREAM_COST_NEVER;
    return shape->depth * (shape->costs.hop_ns +
                           shape->radix * (shape->costs.message_ns + bytes_ns(shape, bytes)));
}

/* A chunk passes every edge of the longest path; meanwhile the busiest place sends everything. */
static uint64_t pipeline_ns(const struct stream_shape *shape, enum stream_algorithm algorithm,
                            uint64_t bytes)
{
    uint64_t chunk = stream_chunk_bytes(shape, algorithm, bytes);
    uint64_t chunks = (bytes + chunk - 1) / chunk;
    uint64_t message_ns = shape->costs.message_ns;
    uint64_t first_ns;
    uint64_t edges;
    uint64_t fan;

    measure_paths(shape, algorithm, &edges, &fan);
    first_ns = edges * (shape->costs.hop_ns + fan * (message_ns + bytes_ns(shape, chunk)));
    if (algorithm != STREAM_MAIN_TREE)
        return first_ns + bytes_ns(shape, bytes) + chunks * 2 * message_ns;
    return first_ns + fan * (bytes_ns(shape, bytes) + chunks * message_ns);
}

uint64_t stream_cost_main_tree(const struct stream_shape *shape, uint64_t bytes)
{
    if (shape->trees == ENDPOINT_TREES_TWO)
        return STREAM_COST_NEVER;
    return pipeline_ns(shape, STREAM_MAIN_TREE, bytes);
}

/* The links have to be requested, up and down the tree and back, and opened. */
static uint64_t cold_ns(const struct stream_shape *shape)
{
    if (shape->is_warm)
        return 0;
    return (4ull * shape->depth + 2) * ((uint64_t)shape->costs.hop_ns + shape->costs.message_ns);
}

uint64_t stream_cost_two_trees(const struct stream_shape *shape, uint64_t bytes)
{
    if (shape->trees == ENDPOINT_TREES_ONE)
        return STREAM_COST_NEVER;
    return cold_ns(shape) + pipeline_ns(shape, STREAM_TWO_TREES, bytes);
}

uint64_t stream_cost_via_top(const struct stream_shape *shape, uint64_t bytes)
{
    if (shape->trees == ENDPOINT_TREES_ONE)
        return STREAM_COST_NEVER;
    return cold_ns(shape) + pipeline_ns(shape, STREAM_VIA_TOP, bytes);
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

/* Minimum over c of edges * fan * c * byte_ns + bytes / c * fan * message_ns. */
uint32_t stream_chunk_bytes(const struct stream_shape *shape, enum stream_algorithm algorithm,
                            uint64_t bytes)
{
    uint64_t edges;
    uint64_t fan;
    uint64_t best;

    measure_paths(shape, algorithm, &edges, &fan);
    best = square_root(bytes * shape->costs.message_ns * 1000 / shape->costs.byte_ps /
                       (edges > 0 ? edges : 1));
    if (best < STREAM_CHUNK_BYTES_MIN)
        return STREAM_CHUNK_BYTES_MIN;
    return best > STREAM_CHUNK_BYTES_MAX ? STREAM_CHUNK_BYTES_MAX : (uint32_t)best;
}

uint64_t stream_even_chunk(uint64_t bytes, uint32_t chunk_bytes)
{
    uint64_t least = (bytes + STREAM_CHUNK_BYTES_MAX - 1) / STREAM_CHUNK_BYTES_MAX;
    uint64_t count = (bytes + chunk_bytes / 2) / chunk_bytes;

    if (count < least)
        count = least;
    return (bytes + count - 1) / count;
}
