/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/placement.h"

#include <assert.h>
#include <stdlib.h>

void placement_fini(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++)
        placement_rule_fini(&placement->rules[i]);
    free(placement->rules);
    ranges_fini(&placement->excluded);
    placement_machines_fini(&placement->machines);
    facts_table_fini(&placement->facts);
    *placement = (struct placement){0};
}

void placement_add(struct placement *placement, const struct placement_rule *rule)
{
    assert(placement->rules_count < PLACEMENT_APPS_MAX);
    placement->rules =
        memory_resize(placement->rules, (placement->rules_count + 1) * sizeof(*placement->rules));
    placement->rules[placement->rules_count++] = *rule;
}

void placement_copy(struct placement *ret_placement, const struct placement *source)
{
    struct buffer bytes = {0};
    struct wire_reader reader;

    placement_encode(source, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    (void)placement_decode(ret_placement, &reader);
    buffer_fini(&bytes);
}

uint32_t placement_processes(const struct placement *placement)
{
    uint32_t processes = 0;

    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement->rules[i].processes == 0)
            return 0;
        processes += placement->rules[i].processes;
    }
    return processes;
}

bool placement_wants_topology(const struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement_rule_wants_topology(&placement->rules[i]))
            return true;
    }
    return false;
}

bool placement_wants_devices(const struct placement *placement)
{
    for (uint32_t i = 0; i < placement->rules_count; i++) {
        if (placement->rules[i].gpus > 0 || placement->rules[i].policy == PLACEMENT_BY_DISTANCE ||
            placement->rules[i].policy == PLACEMENT_BY_DEVICE)
            return true;
    }
    return false;
}

bool placement_rule_binds(const struct placement_rule *rule, int in_threads)
{
    return rule->bind != PLACEMENT_BIND_NONE &&
           (rule->policy == PLACEMENT_BY_CPUS || rule->policy == PLACEMENT_BY_DEVICE ||
            placement_rule_lists_cores(rule) ||
            placement_rule_bind_level(rule, in_threads) != TOPOLOGY_NODE);
}

bool placement_binds(const struct placement *placement)
{
    int in_threads = 0;

    for (uint32_t i = 0; i < placement->rules_count; i++)
        in_threads |= placement_rule_wants_threads(&placement->rules[i]);
    for (uint32_t i = 0; i < placement->rules_count; i++)
        if (placement_rule_binds(&placement->rules[i], in_threads))
            return true;
    return false;
}
