/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement_cpus.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

/* The most slots of a node of the kind that takes part; 0 if there is none. */
static uint32_t most_slots(const struct placement_kind *kind, const struct ranges *excluded,
                           const struct allocation *allocation)
{
    struct ranges nodes = {0};
    uint32_t first = 0, most = 0;

    ranges_copy(&nodes, &kind->nodes);
    ranges_remove_all(&nodes, excluded);
    for (uint32_t i = 0; i < allocation->runs_count; i++) {
        const struct slots_run *run = &allocation->runs[i];

        if (run->slots > most && ranges_overlap(&nodes, first, first + run->nodes - 1))
            most = run->slots;
        first += run->nodes;
    }
    ranges_fini(&nodes);
    return most;
}

/* Cores of a process, if the scheduler counts hardware threads. */
static uint32_t cores_of(const struct topology *view, uint32_t cpus)
{
    uint64_t cores = view->counts[TOPOLOGY_CORE];

    assert(view->threads > 0);
    return (uint32_t)((cpus * cores + view->threads - 1) / view->threads);
}

/* Cores of the smallest object of a level. */
static uint32_t least_cores(const struct topology *view, enum topology_level level)
{
    uint32_t *counts = memory_allocate_zeroed((view->counts[level] + 1) * sizeof(*counts));
    uint32_t last = TOPOLOGY_NONE, least = UINT32_MAX;

    for (uint32_t t = 0; t < view->threads; t++) {
        uint32_t object = view->objects[level][t];

        if (object != TOPOLOGY_NONE && view->objects[TOPOLOGY_CORE][t] != last)
            counts[object]++;
        last = view->objects[TOPOLOGY_CORE][t];
    }
    for (uint32_t i = 0; i < view->counts[level]; i++)
        least = counts[i] < least ? counts[i] : least;
    free(counts);
    return least;
}

static bool cores_suffice(const struct topology *view, const struct placement_rule *rule,
                          uint32_t slots, uint32_t pe)
{
    uint64_t at_once = rule->policy == PLACEMENT_PER_OBJECT ? rule->per : 1;

    return (uint64_t)slots * pe <= view->counts[TOPOLOGY_CORE] &&
           at_once * pe <= least_cores(view, placement_rule_dealing_level(rule));
}

/* 0 if it fits nowhere or not everywhere. */
static uint32_t pe_of(const struct placement *placement, const struct placement_rule *rule,
                      const struct allocation *allocation)
{
    const struct placement_machines *machines = &placement->machines;
    uint32_t pe = 0;
    int are_cores = 1;

    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        const struct topology *view = &machines->kinds[i].view;
        uint32_t slots = most_slots(&machines->kinds[i], &placement->excluded, allocation);
        uint32_t here = slots > 0 ? cores_of(view, rule->cpus) : 0;

        are_cores &= (uint64_t)slots * rule->cpus <= view->counts[TOPOLOGY_CORE];
        pe = here > pe ? here : pe;
    }
    /* If there are enough cores, cores are meant; if not the scheduler counts hardware threads. */
    pe = are_cores ? rule->cpus : pe;
    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        uint32_t slots = most_slots(&machines->kinds[i], &placement->excluded, allocation);

        if (slots > 0 && !cores_suffice(&machines->kinds[i].view, rule, slots, pe))
            return 0;
    }
    return pe <= PLACEMENT_UNITS_MAX ? pe : 0;
}

void placement_cpus_settle(struct placement *placement, const struct allocation *allocation)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement_rule_wants_threads(&placement->rules[i]))
            return;
    }
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        struct placement_rule *rule = &placement->rules[i];

        if (rule->cpus > 0 && rule->pe == 0 && !rule->oversubscribe)
            rule->pe = pe_of(placement, rule, allocation);
    }
}
