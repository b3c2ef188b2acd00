/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who goes where: the map that a placement makes of an allocation, in parts (doc/placement.rst has
 * the rules).  For each application it keeps runs of nodes that have equally many processes; ranks,
 * nodes and their inverse are closed forms over these.  Regular machines have a handful of runs
 * however many nodes there are, so that a daemon computes its own part and never walks all nodes;
 * where no two neighbours are alike there are as many runs as nodes.  Ranks are global,
 * 0..processes-1; node indexes are those of the allocation (place - 1); the local ranks of a node
 * are counted in the order of their ranks.
 */
#ifndef ALLOC_PLACEMENT_MAP_H
#define ALLOC_PLACEMENT_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/placement.h"
#include "base/error.h"
#include "base/ranges.h"

struct placement_run {
    uint32_t first;  /* index of its first node */
    uint32_t nodes;  /* > 0 */
    uint32_t count;  /* processes on each, > 0 */
    uint32_t width;  /* how many of a node are numbered at a time */
    uint32_t kind;   /* of the placement's machines, or UINT32_MAX */
    uint64_t before; /* processes of the application on the nodes before the run */
};

struct placement_app {
    const struct placement_rule *rule;
    uint32_t first_rank;
    uint32_t processes;
    struct placement_run *runs; /* ascending; nodes without processes are in none */
    uint32_t runs_count;
    uint32_t *by_node; /* PLACEMENT_BY_LIST: ranks within the application, sorted by node */
};

/* The processes of a node are on another one, to; from is the node of the placement. */
struct placement_move {
    uint32_t from;
    uint32_t to;
};

/* A zeroed struct is an empty map. */
struct placement_map {
    const struct placement *placement;
    struct placement_app *apps;
    uint32_t apps_count;
    struct placement_move *moves; /* placement_map_move.c */
    uint32_t moves_count;
    uint32_t processes;
    uint32_t nodes;       /* of the allocation */
    uint8_t in_threads;   /* units are threads, not cores */
    uint8_t has_topology; /* there are bindings (placement_local.h) */
};

/* Makes the map; the placement must outlive it, and its rules may omit the number of processes.
 * Fails with one line that says what there was, where the count came from (allocation.origin) and
 * what to type instead.  O(applications * runs * log slots). */
int placement_map_make(struct placement_map *ret_map, const struct placement *placement,
                       const struct allocation *allocation, struct error *error);
void placement_map_fini(struct placement_map *map);
/* Writes the numbers that a map has found into the placement that it was made of. */
void placement_map_resolve(const struct placement_map *map, struct placement *placement);

/* Processes on a node.  O(log runs) for each application. */
uint32_t placement_map_count(const struct placement_map *map, uint32_t node);
/* The same of one application. */
uint32_t placement_map_count_app(const struct placement_map *map, uint32_t app, uint32_t node);
/* The local_index-th rank of a node; local_index < placement_map_count.  O(runs) where nodes are dealt
 * to in turn, else O(log runs). */
uint32_t placement_map_rank(const struct placement_map *map, uint32_t node, uint32_t local_index);
/* Inverse: where a rank is; rank < processes.  O(runs * log count), or O(log runs). */
void placement_map_find(const struct placement_map *map, uint32_t rank, uint32_t *ret_node,
                        uint32_t *ret_local_index);
/* 1 if the ranks of each node follow each other, and those of the next node them. */
bool placement_map_is_contiguous(const struct placement_map *map);
/* Number of the application of a rank. */
uint32_t placement_map_app(const struct placement_map *map, uint32_t rank);
/* Places (index + 1) of the nodes that have processes. */
void placement_map_places(const struct placement_map *map, struct ranges *ret_places);

/* From now on the processes of a node are on another one, which has none: -EINVAL if that cannot be.  What depends on
 * the topology of nodes (placement_local.h) does not know of it. */
int placement_map_move(struct placement_map *map, uint32_t node, uint32_t to);
/* These are all moves there have been. */
int placement_map_move_all(struct placement_map *map, const struct placement_move *moves,
                           uint32_t count);

/* h(rank, place, binding), summed (wrapping) over ranks: one daemon's share, and the root's total,
 * O(processes + nodes). */
uint64_t placement_map_hash_node(const struct placement_map *map, uint32_t node);
uint64_t placement_map_hash_total(const struct placement_map *map);

#endif
