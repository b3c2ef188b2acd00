/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_cores.h"

#include <assert.h>
#include <stdlib.h>

#include "alloc/placement_local.h"

/* All threads that the node's processes are bound to. */
static void bindings_threads(const struct placement_bindings *bindings, struct ranges *ret_threads)
{
    ranges_clear(ret_threads);
    for (uint32_t i = 0; i < bindings->count; i++)
        ranges_add_all(ret_threads, &bindings->items[i].cpus);
}

static void add_nodes(struct placement_cores *cores, uint32_t first, uint32_t last,
                      struct ranges *threads)
{
    struct placement_cores_item *item;
    uint32_t i = 0;

    while (i < cores->count && !ranges_equal(&cores->items[i].threads, threads))
        i++;
    if (i < cores->count) {
        item = &cores->items[i];
    } else {
        cores->items = memory_resize(cores->items, (cores->count + 1) * sizeof(*cores->items));
        item = &cores->items[cores->count++];
        *item = (struct placement_cores_item){.nodes = {0}};
        ranges_move(&item->threads, threads);
    }
    ranges_add(&item->nodes, first, last);
}

static void add_run(struct placement_cores *cores, struct placement_sorts *sorts,
                    const struct placement_map *map, const struct placement_run *run)
{
    uint32_t after = run->first + run->nodes, alike;
    struct ranges threads = {0};

    for (uint32_t node = run->first; node < after; node += alike) {
        const struct placement_bindings *bindings = placement_sorts_get(sorts, node, NULL);

        alike = placement_map_alike(map, node);
        assert(bindings != NULL); /* the map was checked */
        bindings_threads(bindings, &threads);
        if (!ranges_is_empty(&threads))
            add_nodes(cores, node, (node + alike < after ? node + alike : after) - 1, &threads);
    }
    ranges_fini(&threads);
}

void placement_cores_make(struct placement_cores *ret_cores, const struct placement_map *map)
{
    struct placement_sorts *sorts;

    assert(ret_cores->count == 0);
    if (!map->has_topology)
        return;
    sorts = placement_sorts_create(map);
    for (uint32_t i = 0; i < map->apps_count; i++)
        for (uint32_t j = 0; j < map->apps[i].runs_count; j++)
            add_run(ret_cores, sorts, map, &map->apps[i].runs[j]);
    placement_sorts_destroy(sorts);
}

void placement_cores_fini(struct placement_cores *cores)
{
    for (uint32_t i = 0; i < cores->count; i++) {
        ranges_fini(&cores->items[i].nodes);
        ranges_fini(&cores->items[i].threads);
    }
    free(cores->items);
    *cores = (struct placement_cores){0};
}

void placement_cores_take(const struct placement_cores *cores, struct placement_machines *machines)
{
    for (uint32_t i = 0; i < cores->count; i++)
        placement_machines_take(machines, &cores->items[i].nodes, &cores->items[i].threads);
}

void placement_cores_count(const struct placement_machines *machines, uint64_t *ret_taken,
                           uint64_t *ret_all)
{
    *ret_taken = *ret_all = 0;
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        const struct placement_kind *kind = &machines->kinds[i];
        uint64_t nodes = ranges_count(&kind->nodes);

        *ret_taken += nodes * placement_machines_taken(kind, TOPOLOGY_CORE);
        *ret_all += nodes * kind->view.counts[TOPOLOGY_CORE];
    }
}
