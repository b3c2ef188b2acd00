/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of one node are bound to: the cores, memory and devices of each
 * (doc/placement.rst, "Cores" and what follows).  Nodes of the same kind that have equally many
 * processes of each application have equal bindings, so that the root computes each sort of node once.
 */
#ifndef ALLOC_PLACEMENT_LOCAL_H
#define ALLOC_PLACEMENT_LOCAL_H

#include <stdint.h>

#include "alloc/placement_map.h"

struct placement_binding {
    uint32_t app;
    uint32_t object;      /* of the mapping's level, in the node's view */
    struct ranges cpus;   /* the kernel's numbers of threads it is bound to; none: not bound */
    struct ranges home;   /* logical threads, in the view, of the units it has taken */
    struct ranges near;   /* logical threads that it was dealt with its devices; none: not so */
    struct ranges memory; /* the kernel's numbers of NUMA nodes; none: not bound */
    struct ranges gpus;   /* numbers of devices of the kind */
    enum topology_device_kind gpu_kind;
    uint64_t hash; /* 0: has nothing of all that */
};

struct placement_bindings {
    struct placement_binding *items; /* by local index */
    uint32_t count;
    uint8_t is_overloaded;
};

/* The bindings of a node.  Fails if the node cannot give what was asked for; the error has no name of
 * the node. */
int placement_bindings_make(struct placement_bindings *ret_bindings,
                            const struct placement_map *map, uint32_t node, struct error *error);
void placement_bindings_fini(struct placement_bindings *bindings);

/* Each sort of node once. */
struct placement_sorts;

struct placement_sorts *placement_sorts_create(const struct placement_map *map);
void placement_sorts_destroy(struct placement_sorts *sorts);
/* The bindings of a node, which belong to the sorts, or NULL. */
const struct placement_bindings *placement_sorts_get(struct placement_sorts *sorts, uint32_t node,
                                                     struct error *error);

/* How many nodes from `node` on are of the same sort for sure, at least 1. */
uint32_t placement_map_alike(const struct placement_map *map, uint32_t node);
/* Fails, naming a node, if a node cannot give what was asked for.  O(runs + sorts of nodes). */
int placement_map_check(const struct placement_map *map, const struct allocation *allocation,
                        struct error *error);

#endif
