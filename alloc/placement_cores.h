/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cores that the processes of a map are bound to: what its job takes of the nodes' machines, for as
 * long as it lives.  Nodes whose processes are bound alike are one item, so a regular job has one,
 * whatever its size.
 */
#ifndef ALLOC_PLACEMENT_CORES_H
#define ALLOC_PLACEMENT_CORES_H

#include "alloc/placement_map.h"

struct placement_cores_item {
    struct ranges nodes;   /* indexes of the allocation */
    struct ranges threads; /* of each of them, the kernel's numbers */
};

/* A zeroed struct is empty. */
struct placement_cores {
    struct placement_cores_item *items;
    uint32_t count;
};

/* ret_cores must be empty.  O(runs + sorts of nodes * threads). */
void placement_cores_make(struct placement_cores *ret_cores, const struct placement_map *map);
void placement_cores_fini(struct placement_cores *cores);
/* Takes them from the machines: no other job is bound to them. */
void placement_cores_take(const struct placement_cores *cores, struct placement_machines *machines);
/* How many cores of the machines that are taken, of how many. */
void placement_cores_count(const struct placement_machines *machines, uint64_t *ret_taken,
                           uint64_t *ret_all);

#endif
