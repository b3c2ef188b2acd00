/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring: each passes on to the next one what it has got from the one before; places - 1 steps, least bytes. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <banyan/collective.h>

static int plan(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                banyan_collective_add *add, void *context)
{
    uint32_t places = topology->places, before = (place + places - 1) % places;
    struct banyan_collective_move send = {.kind = BANYAN_COLLECTIVE_SEND,
                                          .peer = (place + 1) % places,
                                          .first = (place + places - step % places) % places,
                                          .blocks = 1};
    struct banyan_collective_move receive = {.kind = BANYAN_COLLECTIVE_RECEIVE,
                                             .peer = before,
                                             .first = (before + places - step % places) % places,
                                             .blocks = 1};

    if (step >= places - 1)
        return 0;
    add(context, &send);
    add(context, &receive);
    return 1;
}

const struct banyan_collective banyan_collective = {BANYAN_COLLECTIVE_INTERFACE, "ring", plan};
