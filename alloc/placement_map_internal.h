/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of placement_map.h share: how many processes each node gets (placement_map_count.c), their
 * numbers (placement_map.c) and hashes (placement_map_hash.c).
 */
#ifndef ALLOC_PLACEMENT_MAP_INTERNAL_H
#define ALLOC_PLACEMENT_MAP_INTERNAL_H

#include "alloc/placement_map.h"

#define PLACEMENT_WIDTH_ALL UINT32_MAX /* all of a node are numbered at a time */

/* Nodes that are alike: what they had and what applications have taken there so far. */
struct free_run {
    uint32_t first;
    uint32_t nodes;
    uint32_t slots;
    uint32_t kind;
    uint32_t units; /* 0 if no topology is known */
    uint32_t used_slots;
    uint64_t used_units;
    uint64_t used_devices[PLACEMENT_DEVICE_COUNT];
    uint8_t is_out; /* the application that is placed leaves them out */
};

struct free_runs {
    struct free_run *items;
    uint32_t count;
    uint32_t capacity;
};

/* Appends; a run like the last one is joined to it. */
void placement_map_append_free_run(struct free_runs *runs, const struct free_run *run);
/* The nodes of an allocation that take part, those with slots; kinds on request. */
int placement_map_make_free_runs(struct free_runs *ret_runs, const struct placement_map *map,
                                 const struct allocation *allocation, struct error *error);
/* Places one application on what is free, and takes that away. */
int placement_map_deal_app(struct placement_app *app, const struct placement_map *map,
                           struct free_runs *runs, const struct allocation *allocation,
                           struct error *error);
/* The run of a node, or NULL. */
const struct placement_run *placement_map_app_run(const struct placement_app *app, uint32_t node);

static inline uint64_t lesser_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* placement_map_move.c: the node of the placement whose processes are on a node, and where those of a node are. */
#define PLACEMENT_NOWHERE UINT32_MAX
uint32_t placement_map_origin(const struct placement_map *map, uint32_t node);
uint32_t placement_map_moved(const struct placement_map *map, uint32_t node);

#endif
