/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hash of a map: a sum over ranks, so that each daemon adds its own part and nobody needs the
 * whole in one place.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "alloc/placement_local.h"
#include "alloc/placement_map_internal.h"
#include "base/hash.h"

static uint64_t hash_rank(uint64_t rank, uint32_t node, uint64_t binding)
{
    uint32_t place = node + 1;

    return hash_mix((rank << 32 | place) ^ binding);
}

uint64_t placement_map_hash_node(const struct placement_map *map, uint32_t node)
{
    uint32_t count = placement_map_count(map, node);
    struct placement_bindings bindings = {0};
    uint64_t sum = 0;

    /* A node that cannot be given its bindings has no process that starts either. */
    if (map->has_topology && placement_bindings_make(&bindings, map, node, NULL) < 0)
        return 0;
    assert(!map->has_topology || bindings.count == count);
    for (uint32_t i = 0; i < count; i++)
        sum += hash_rank(placement_map_rank(map, node, i), node,
                         map->has_topology ? bindings.items[i].hash : 0);
    placement_bindings_fini(&bindings);
    return sum;
}

/* The hashes of an application's bindings on a node, from its first on; NULL: all are 0. */
static const struct placement_binding *bindings_of(const struct placement_map *map, uint32_t number,
                                                   uint32_t node, struct placement_sorts *sorts)
{
    const struct placement_bindings *bindings;
    uint32_t before = 0;

    if (!map->has_topology)
        return NULL;
    bindings = placement_sorts_get(sorts, node, NULL);
    for (uint32_t i = 0; i < number; i++)
        before += placement_map_count_app(map, i, node);
    return bindings != NULL ? bindings->items + before : NULL;
}

static uint64_t hash_span(uint64_t rank, uint32_t node, const struct placement_binding *bindings,
                          uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count; i++)
        sum += hash_rank(rank + i, node, bindings != NULL ? bindings[i].hash : 0);
    return sum;
}

/* Node by node, also in the order of a list. */
static uint64_t hash_in_order(const struct placement_map *map, uint32_t number,
                              struct placement_sorts *sorts)
{
    const struct placement_app *app = &map->apps[number];
    uint64_t sum = 0;

    for (uint32_t i = 0; i < app->runs_count; i++) {
        const struct placement_run *run = &app->runs[i];
        const struct placement_binding *bindings = NULL;
        uint64_t position = run->before;
        uint32_t alike = 0;

        for (uint32_t node = run->first; node - run->first < run->nodes; node++) {
            if (alike == 0) {
                bindings = bindings_of(map, number, node, sorts);
                alike = map->has_topology ? placement_map_alike(map, node) : UINT32_MAX;
            }
            alike--;
            if (app->by_node == NULL)
                sum += hash_span(app->first_rank + position, node, bindings, run->count);
            for (uint32_t j = 0; app->by_node != NULL && j < run->count; j++)
                sum += hash_span(app->first_rank + app->by_node[position + j], node,
                                 bindings != NULL ? bindings + j : NULL, 1);
            position += run->count;
        }
    }
    return sum;
}

/* Turn by turn; runs that are used up are dropped, so that all turns together cost no more than the
 * ranks they number. */
static uint64_t hash_in_turns(const struct placement_map *map, uint32_t number,
                              struct placement_sorts *sorts)
{
    const struct placement_app *app = &map->apps[number];
    uint32_t *left = memory_allocate(app->runs_count * sizeof(*left));
    uint32_t left_count = app->runs_count;
    uint64_t rank = app->first_rank, sum = 0;

    assert(app->by_node == NULL);
    for (uint32_t i = 0; i < left_count; i++)
        left[i] = i;
    for (uint64_t turn = 0; left_count > 0; turn++) {
        uint32_t kept = 0;

        for (uint32_t i = 0; i < left_count; i++) {
            const struct placement_run *run = &app->runs[left[i]];
            uint64_t first = turn * run->width;
            const struct placement_binding *bindings = NULL;
            uint32_t alike = 0;
            uint64_t count;

            if (run->count <= first)
                continue;
            count = lesser_u64(run->width, run->count - first);
            left[kept++] = left[i];
            for (uint32_t node = run->first; node - run->first < run->nodes; node++) {
                if (alike == 0) {
                    bindings = bindings_of(map, number, node, sorts);
                    alike = map->has_topology ? placement_map_alike(map, node) : UINT32_MAX;
                }
                alike--;
                sum += hash_span(rank, node, bindings != NULL ? bindings + first : NULL, count);
                rank += count;
            }
        }
        left_count = kept;
    }
    assert(rank == (uint64_t)app->first_rank + app->processes);
    free(left);
    return sum;
}

uint64_t placement_map_hash_total(const struct placement_map *map)
{
    struct placement_sorts *sorts = map->has_topology ? placement_sorts_create(map) : NULL;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < map->apps_count; i++) {
        const struct placement_app *app = &map->apps[i];

        if (app->by_node != NULL || app->runs_count == 0 ||
            app->runs[0].width == PLACEMENT_WIDTH_ALL)
            sum += hash_in_order(map, i, sorts);
        else
            sum += hash_in_turns(map, i, sorts);
    }
    placement_sorts_destroy(sorts);
    return sum;
}
