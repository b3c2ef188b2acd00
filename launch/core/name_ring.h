/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which daemons hold a name: the places of the instance's first nodes form a ring, and a key's holder
 * is the first living place from its hash on; the next one has the copy.  Neighbours of the ring are far apart
 * among the places, since daemons that are lost together often have consecutive ones.
 *
 * All places learn of losses in one order, so of two that disagree one is ahead, and a holder that
 * is ahead of another is never before it.  Cost: O(1), and O(lost neighbours).
 */
#ifndef LAUNCH_CORE_NAME_RING_H
#define LAUNCH_CORE_NAME_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ranges.h"

#define NAME_RING_NOBODY UINT32_MAX

struct name_ring {
    uint32_t nodes; /* places 1 to nodes */
    uint32_t step;  /* from one to the next, and its inverse modulo nodes */
    uint32_t inverse;
    struct ranges lost;
};

void name_ring_init(struct name_ring *ring, uint32_t nodes);
void name_ring_fini(struct name_ring *ring);
/* False if all of them were lost before. */
bool name_ring_lose(struct name_ring *ring, const struct ranges *places);
/* The root if no node is left. */
uint32_t name_ring_holder(const struct name_ring *ring, const void *key, size_t key_bytes);
/* The next living place, for the copies; NAME_RING_NOBODY if there is no other. */
uint32_t name_ring_next(const struct name_ring *ring, uint32_t place);

#endif
