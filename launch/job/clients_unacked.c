/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "launch/job/clients_state.h"

static void ring_check(const struct unacked_ring *ring)
{
    assert(ring->count <= ring->capacity);
    assert(ring->capacity == 0 || ring->first < ring->capacity);
    assert((ring->items == NULL) == (ring->capacity == 0));
}

void clients_unacked_push(struct unacked_ring *ring, const struct unacked *item)
{
    if (ring->count == ring->capacity) {
        uint32_t capacity = ring->capacity > 0 ? 2 * ring->capacity : 16;
        struct unacked *grown = memory_allocate(capacity * sizeof(*grown));

        for (uint32_t i = 0; i < ring->count; i++)
            grown[i] = ring->items[(ring->first + i) % ring->capacity];
        free(ring->items);
        ring->items = grown;
        ring->first = 0;
        ring->capacity = capacity;
    }
    ring->items[(ring->first + ring->count++) % ring->capacity] = *item;
    ring_check(ring);
}

int clients_unacked_take(struct unacked_ring *ring, uint64_t bytes, struct unacked *ret_part)
{
    struct unacked *oldest;

    ring_check(ring);
    if (bytes == 0 || ring->count == 0)
        return 0;
    oldest = &ring->items[ring->first];
    *ret_part = *oldest;
    if (bytes < oldest->bytes)
        ret_part->bytes = (uint32_t)bytes;
    oldest->bytes -= ret_part->bytes;
    if (oldest->bytes == 0) {
        ring->first = (ring->first + 1) % ring->capacity;
        ring->count--;
    }
    return 1;
}

void clients_unacked_fini(struct unacked_ring *ring)
{
    free(ring->items);
    *ring = (struct unacked_ring){.items = NULL};
}
