/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of one node are bound to: the cores, memory and devices of each
 * (doc/placement.rst, "Cores" and what follows).  Nodes of the same kind that have equally many
 * processes of each application have equal bindings, so that the root computes each sort of node once.
 */
#ifndef ALLOC_PLACE_LOCAL_H
#define ALLOC_PLACE_LOCAL_H

#include <stdint.h>

#include "alloc/place_map.h"

struct place_binding {
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

struct place_bindings {
    struct place_binding *items; /* by local index */
    uint32_t count;
    uint8_t is_overloaded;
};

/* The bindings of a node.  Fails if the node cannot give what was asked for; the error has no name of
 * the node. */
int place_bindings_make(struct place_bindings *ret_bindings, const struct place_map *map,
                        uint32_t node, struct error *error);
void place_bindings_fini(struct place_bindings *bindings);

/* Each sort of node once. */
struct place_sorts;

struct place_sorts *place_sorts_create(const struct place_map *map);
void place_sorts_destroy(struct place_sorts *sorts);
/* The bindings of a node, which belong to the sorts, or NULL. */
const struct place_bindings *place_sorts_get(struct place_sorts *sorts, uint32_t node,
                                             struct error *error);

/* How many nodes from `node` on are of the same sort for sure, at least 1. */
uint32_t place_map_alike(const struct place_map *map, uint32_t node);
/* Fails, naming a node, if a node cannot give what was asked for.  O(runs + sorts of nodes). */
int place_map_check(const struct place_map *map, const struct allocation *allocation,
                    struct error *error);

#endif
