/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/sim/sim.h"

#define CORES    16u /* of the first kind */
#define PACKAGES 2u

/* Kinds as bits: two threads per core, a quarter fewer cores, every third thread not allowed. */
enum { SORT_THREADS = 1, SORT_FEWER = 2, SORT_RESTRICTED = 4 };

static void make_sim_topology(uint32_t sort, struct topology *topology)
{
    uint32_t threads = sort & SORT_THREADS ? 2 : 1;
    uint32_t cores = sort & SORT_FEWER ? CORES - CORES / 4 : CORES;

    topology_init(topology, cores * threads);
    for (uint32_t i = 0; i < topology->threads; i++) {
        topology->os[i] = i % threads * cores + i / threads;
        topology->objects[TOPOLOGY_CORE][i] = i / threads;
        topology->objects[TOPOLOGY_PACKAGE][i] = i / threads / (cores / PACKAGES);
    }
    topology_number(topology);
}

/* Neighbours are usually alike. */
void sim_machine_add(uint32_t sorts, uint32_t place, struct placement_machines *ret_machines)
{
    uint32_t sort = sorts > 0 ? place / 3 % sorts : 0;
    struct topology topology;
    struct ranges allowed = {0};

    make_sim_topology(sort, &topology);
    for (uint32_t i = 0; i < topology.threads; i++) {
        if (!(sort & SORT_RESTRICTED) || i % 3 != 1)
            ranges_add(&allowed, topology.os[i], topology.os[i]);
    }
    (void)placement_machines_add(ret_machines, &topology, &allowed, place - 1, place - 1);
    topology_fini(&topology);
    ranges_fini(&allowed);
}
