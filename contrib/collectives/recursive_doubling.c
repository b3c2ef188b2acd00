/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling: in step k each exchanges all it has with the place whose number differs in bit k; powers of two only. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <banyan/collective.h>

#include <errno.h>

static int plan(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                banyan_collective_add *add, void *context)
{
    uint32_t places = topology->places, distance;
    struct banyan_collective_move move;

    if ((places & (places - 1)) != 0)
        return -EINVAL;
    if (step >= 32 || (1ull << step) >= places)
        return 0;
    distance = 1u << step;
    move = (struct banyan_collective_move){.kind = BANYAN_COLLECTIVE_SEND,
                                           .peer = place ^ distance,
                                           .first = place & ~(distance - 1),
                                           .blocks = distance};
    add(context, &move);
    move.kind = BANYAN_COLLECTIVE_RECEIVE;
    move.first = move.peer & ~(distance - 1);
    add(context, &move);
    return 1;
}

const struct banyan_collective banyan_collective = {BANYAN_COLLECTIVE_INTERFACE,
                                                    "recursive_doubling", plan};
