/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of place_map.h share: how many processes each node gets (place_count.c), their
 * numbers (place_map.c) and hashes (place_hash.c).
 */
#ifndef ALLOC_PLACE_MAP_INTERNAL_H
#define ALLOC_PLACE_MAP_INTERNAL_H

#include "alloc/place_map.h"

#define MAP_WIDTH_ALL UINT32_MAX /* all of a node are numbered at a time */

/* Nodes that are alike: what they had and what applications have taken there so far. */
struct free_run {
    uint32_t first;
    uint32_t nodes;
    uint32_t slots;
    uint32_t kind;
    uint32_t units; /* 0 if no topology is known */
    uint32_t used_slots;
    uint64_t used_units;
    uint64_t used_devices[MAP_DEVICE_COUNT];
    uint8_t is_out; /* the application that is placed leaves them out */
};

struct free_runs {
    struct free_run *items;
    uint32_t count;
    uint32_t capacity;
};

/* Appends; a run like the last one is joined to it. */
void free_runs_append(struct free_runs *runs, const struct free_run *run);
/* The nodes of an allocation that take part, those with slots; kinds on request. */
int free_runs_make(struct free_runs *ret_runs, const struct place_map *map,
                   const struct allocation *allocation, struct error *error);
/* Places one application on what is free, and takes that away. */
int place_count_app(struct map_app *app, const struct place_map *map, struct free_runs *runs,
                    const struct allocation *allocation, struct error *error);
/* The run of a node, or NULL. */
const struct map_run *map_app_run(const struct map_app *app, uint32_t node);

static inline uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
