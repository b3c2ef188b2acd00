/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/core/name_ring.h"

#include <assert.h>

#include "base/hash.h"

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* About the golden section of the ring, so that any few neighbours are far apart. */
static uint32_t step_of(uint32_t nodes)
{
    uint32_t step = (uint32_t)((uint64_t)nodes * 618 / 1000);

    while (step > 1 && common_divisor(step, nodes) != 1)
        step--;
    return step > 0 ? step : 1;
}

void name_ring_init(struct name_ring *ring, uint32_t nodes)
{
    *ring = (struct name_ring){.nodes = nodes, .step = step_of(nodes), .inverse = 1};
    while (nodes > 1 && (uint64_t)ring->inverse * ring->step % nodes != 1)
        ring->inverse++;
    assert(ring->step > 0 && (nodes <= 1 || ring->inverse < nodes));
}

void name_ring_fini(struct name_ring *ring)
{
    ranges_fini(&ring->lost);
}

bool name_ring_lose(struct name_ring *ring, const struct ranges *places)
{
    if (ranges_contains_all(&ring->lost, places))
        return false;
    ranges_add_all(&ring->lost, places);
    return true;
}

static uint32_t place_at(const struct name_ring *ring, uint64_t position)
{
    return 1 + (uint32_t)(position % ring->nodes * ring->step % ring->nodes);
}

/* The first living place among count from a position on. */
static uint32_t living_from(const struct name_ring *ring, uint64_t position, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = place_at(ring, position + i);

        if (!ranges_contains(&ring->lost, place))
            return place;
    }
    return NAME_RING_NOBODY;
}

uint32_t name_ring_holder(const struct name_ring *ring, const void *key, size_t key_bytes)
{
    uint32_t place = NAME_RING_NOBODY;

    if (ring->nodes > 0)
        place = living_from(ring, hash_bytes(key, key_bytes, 0) % ring->nodes, ring->nodes);
    return place != NAME_RING_NOBODY ? place : 0;
}

uint32_t name_ring_next(const struct name_ring *ring, uint32_t place)
{
    uint64_t position;

    if (place == 0 || place > ring->nodes)
        return NAME_RING_NOBODY;
    position = (uint64_t)(place - 1) * ring->inverse % ring->nodes;
    assert(place_at(ring, position) == place);
    return living_from(ring, position + 1, ring->nodes - 1);
}
