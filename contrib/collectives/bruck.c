/* SPDX-License-Identifier: BSD-3-Clause */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <banyan/collective.h>

/*
 * Bruck's algorithm: in step k each sends what it has to the place 2^k before it, and gets as much from the one 2^k
 * after it; the logarithm of the places in steps, for any number of them.
 */

static int plan(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                banyan_collective_add *add, void *context)
{
    uint32_t places = topology->places, distance, blocks;
    struct banyan_collective_move move;

    if (step >= 32 || (1ull << step) >= places)
        return 0;
    distance = 1u << step;
    blocks = distance < places - distance ? distance : places - distance;
    move = (struct banyan_collective_move){.kind = BANYAN_COLLECTIVE_SEND,
                                           .peer = (place + places - distance) % places,
                                           .first = place,
                                           .blocks = blocks};
    add(context, &move);
    move.kind = BANYAN_COLLECTIVE_RECEIVE;
    move.peer = move.first = (uint32_t)(((uint64_t)place + distance) % places);
    add(context, &move);
    return 1;
}

const struct banyan_collective banyan_collective = {BANYAN_COLLECTIVE_INTERFACE, "bruck", plan};
