/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two jobs on the same nodes, by any rules (CORES_CASES random cases of two each): the second is bound to no core
 * that the first is bound to, unless its user has allowed that; its parts are those of the whole; and
 * what it takes is what its processes are bound to.
 */
#include "config.h"

#include "alloc/placement_cores.h"

#include <stdlib.h>

#include "alloc/placement_local.h"
#include "base/random.h"
#include "test/support/place_case.h"
#include "test/support/tap.h"

#define CASES 4000

static struct {
    uint32_t both, shared, refused, unbound;
} totals;

/* Whether its user has allowed that processes share cores to which they are bound. */
static int may_share(const struct placement *placement)
{
    int oversubscribes = 0, lists = 0;

    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement->rules[i].overload)
            return 1;
        oversubscribes |= placement->rules[i].oversubscribe;
        lists |= placement_rule_lists_cores(&placement->rules[i]);
    }
    return oversubscribes && lists;
}

/* The slots of a map's processes are used. */
static void use_slots(struct allocation *allocation, const struct placement_map *map)
{
    struct slots_run *runs = memory_allocate(map->nodes * sizeof(*runs));

    for (uint32_t node = 0; node < map->nodes; node++) {
        uint32_t count = placement_map_count(map, node);

        runs[node] = (struct slots_run){.nodes = 1, .slots = allocation_slots_of(allocation, node)};
        runs[node].used = count < runs[node].slots ? count : runs[node].slots;
    }
    free(allocation->runs);
    allocation->runs = runs;
    allocation->runs_count = allocation->runs_capacity = map->nodes;
}

/* All threads that are bound on a node, by the list of items or by the bindings. */
static void threads_by_items(const struct placement_cores *cores, uint32_t node,
                             struct ranges *threads)
{
    for (uint32_t i = 0; i < cores->count; i++)
        if (ranges_contains(&cores->items[i].nodes, node))
            ranges_add_all(threads, &cores->items[i].threads);
}

static void threads_by_bindings(const struct placement_map *map, uint32_t node,
                                struct ranges *threads)
{
    struct placement_bindings bindings;

    if (placement_bindings_make(&bindings, map, node, NULL) < 0)
        return;
    for (uint32_t i = 0; i < bindings.count; i++)
        ranges_add_all(threads, &bindings.items[i].cpus);
    placement_bindings_fini(&bindings);
}

static const char *judge(const struct placement_map *map, const struct placement_cores *cores,
                         const struct placement_cores *others)
{
    const char *wrong = NULL;
    int binds = 0;

    for (uint32_t node = 0; node < map->nodes; node++) {
        struct ranges items = {0}, bindings = {0}, taken = {0};

        threads_by_items(cores, node, &items);
        threads_by_bindings(map, node, &bindings);
        threads_by_items(others, node, &taken);
        binds |= !ranges_is_empty(&bindings);
        if (!ranges_equal(&items, &bindings))
            wrong = "takes other threads than its processes are bound to";
        else if (ranges_overlap_set(&bindings, &taken) && !may_share(map->placement))
            wrong = "is bound to a core of the first";
        totals.shared += ranges_overlap_set(&bindings, &taken) != 0;
        ranges_fini(&items);
        ranges_fini(&bindings);
        ranges_fini(&taken);
    }
    totals.unbound += !binds;
    return wrong;
}

static int place(struct placement_map *map, const struct place_case *c,
                 struct placement_cores *cores)
{
    struct error error = ERROR_NONE;

    if (placement_map_make(map, &c->placement, &c->allocation, &error) < 0)
        return -1;
    if (placement_map_check(map, &c->allocation, &error) < 0) {
        placement_map_fini(map);
        return -1;
    }
    placement_cores_make(cores, map);
    return 0;
}

static uint64_t hash_of_parts(const struct placement_map *map)
{
    uint64_t hash = 0;

    for (uint32_t node = 0; node < map->nodes; node++)
        hash += placement_map_hash_node(map, node);
    return hash;
}

static const char *two_jobs(struct place_case *c)
{
    struct placement_cores first = {0}, second = {0};
    struct placement_map map = {0};
    const char *wrong = NULL;

    if (place(&map, c, &first) < 0)
        return NULL;
    use_slots(&c->allocation, &map);
    placement_map_fini(&map);
    placement_cores_take(&first, &c->placement.machines);
    if (place(&map, c, &second) < 0) {
        totals.refused++;
    } else {
        totals.both++;
        wrong = judge(&map, &second, &first);
        if (hash_of_parts(&map) != placement_map_hash_total(&map))
            wrong = "has parts that are not the whole";
        placement_map_fini(&map);
    }
    placement_cores_fini(&first);
    placement_cores_fini(&second);
    return wrong;
}

int main(void)
{
    const char *text = getenv("CORES_CASES");
    uint32_t cases = text ? (uint32_t)strtoul(text, NULL, 0) : CASES;

    for (uint32_t seed = 1; seed <= cases; seed++) {
        struct random_state random;
        struct place_case c;
        struct buffer before = {0};
        const char *wrong;

        random_init(&random, seed);
        place_case_make(&c, &random);
        place_case_print(&c, &before);
        wrong = two_jobs(&c);
        if (wrong != NULL)
            fail("case %u: the second job %s: %s", seed, wrong, buffer_string(&before));
        buffer_fini(&before);
        place_case_fini(&c);
    }
    diag("%u pairs of jobs, %u nodes with shared cores, %u second jobs refused, %u unbound",
         totals.both, totals.shared, totals.refused, totals.unbound);
    ok(cases < CASES || (totals.both > 500 && totals.shared > 0 && totals.refused > 100 &&
                         totals.both - totals.unbound > 100),
       "%u cases of two jobs", cases);
    return done_testing();
}
