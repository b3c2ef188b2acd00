/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rule itself: named, checked against an allocation, encoded.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "alloc/place_map.h"

static const char *const policy_names[MAP_POLICY_COUNT] = {
    [MAP_BY_SLOT] = "slot",
    [MAP_BY_NODE] = "node",
    [MAP_PER_NODE] = "per-node",
};

int map_policy_parse(const char *word, enum map_policy *ret_policy, struct error *error)
{
    for (int i = 0; i < MAP_POLICY_COUNT; i++) {
        if (strcmp(word, policy_names[i]) == 0) {
            *ret_policy = (enum map_policy)i;
            return 0;
        }
    }
    return error_set(error, -EINVAL, "unknown mapping \"%.40s\"; there are slot, node and per-node",
                     word);
}

const char *map_policy_name(enum map_policy policy)
{
    assert(policy < MAP_POLICY_COUNT);
    return policy_names[policy];
}

/* ---- Resolving ---- */

/* "1 slot", "2 slots": for `"%" PRIu64 " %s", count, counted(count, "slot", "slots")`. */
static const char *counted(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* "there are 16 slots on 4 nodes (from --virtual-nodes)" */
static const char *describe_slots(const struct allocation *allocation, struct buffer *out)
{
    uint64_t slots = allocation_slots(allocation);
    uint32_t nodes = allocation_nodes(allocation);

    buffer_printf(out, "there %s %" PRIu64 " %s on %u %s", counted(slots, "is", "are"), slots,
                  counted(slots, "slot", "slots"), nodes, counted(nodes, "node", "nodes"));
    if (allocation->origin[0] != '\0')
        buffer_printf(out, " (from %s)", allocation->origin);
    return buffer_string(out);
}

static int too_few_slots(const struct map_rule *rule, const struct allocation *allocation,
                         struct error *error)
{
    struct buffer slots = {0};

    error_set(error, -ENOSPC,
              "%u %s asked for but %s; use -n %" PRIu64 " or fewer, or --oversubscribe",
              rule->processes, counted(rule->processes, "process was", "processes were"),
              describe_slots(allocation, &slots), allocation_slots(allocation));
    buffer_fini(&slots);
    return -ENOSPC;
}

/* processes > per_node * nodes: oversubscribing does not help, the number per node is exact. */
static int too_few_nodes(const struct map_rule *rule, const struct allocation *allocation,
                         uint32_t nodes, struct error *error)
{
    struct buffer slots = {0};
    uint64_t placed = (uint64_t)rule->per_node * nodes;

    error_set(error, -ENOSPC,
              "%u %s asked for, %u on each node, but %s; use -n %" PRIu64 " or fewer, or "
              "--per-node %" PRIu64,
              rule->processes, counted(rule->processes, "process was", "processes were"),
              rule->per_node, describe_slots(allocation, &slots), placed,
              ((uint64_t)rule->processes + nodes - 1) / nodes);
    buffer_fini(&slots);
    return -ENOSPC;
}

static int node_too_small(const struct map_rule *rule, const struct allocation *allocation,
                          uint32_t node, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    uint32_t slots = allocation_slots_of(allocation, node);
    int has_origin = allocation->origin[0] != '\0';

    hostlist_name(allocation->names, node, name);
    return error_set(error, -ENOSPC,
                     "%u %s asked for on each node but %s has %u %s%s%s%s; use --per-node %u or "
                     "fewer, or --oversubscribe",
                     rule->per_node, counted(rule->per_node, "process was", "processes were"), name,
                     slots, counted(slots, "slot", "slots"), has_origin ? " (from " : "",
                     allocation->origin, has_origin ? ")" : "", slots);
}

/* Every node has a slot for each of its ranks: per_node, and the last one what is left. */
static int check_nodes(const struct map_rule *rule, const struct allocation *allocation,
                       struct error *error)
{
    uint32_t left = rule->processes;
    uint32_t first = 0;

    for (const struct slots_run *run = allocation->runs; left > 0; first += run++->nodes) {
        uint64_t taken = (uint64_t)run->nodes * rule->per_node;
        uint32_t wanted = left < rule->per_node ? left : rule->per_node;

        if (run->slots == 0)
            continue;
        if (run->slots < wanted)
            return node_too_small(rule, allocation, first, error);
        left = taken < left ? left - (uint32_t)taken : 0;
    }
    return 0;
}

static int resolve_per_node(struct map_rule *rule, const struct allocation *allocation,
                            struct error *error)
{
    uint32_t nodes = 0;
    uint64_t processes;

    if (rule->per_node == 0)
        return error_set(error, -EINVAL, "mapping per node needs a number: --per-node 1 or more");
    for (uint32_t i = 0; i < allocation->runs_count; i++)
        nodes += allocation->runs[i].slots > 0 ? allocation->runs[i].nodes : 0;
    processes = rule->processes > 0 ? rule->processes : (uint64_t)rule->per_node * nodes;
    if (processes > MAP_PROCESSES_MAX)
        return error_set(error, -E2BIG, "%" PRIu64 " processes are more than %u", processes,
                         MAP_PROCESSES_MAX);
    rule->processes = (uint32_t)processes;
    if (processes > (uint64_t)rule->per_node * nodes)
        return too_few_nodes(rule, allocation, nodes, error);
    return rule->oversubscribe ? 0 : check_nodes(rule, allocation, error);
}

int map_rule_resolve(struct map_rule *rule, const struct allocation *allocation,
                     struct error *error)
{
    struct map_rule resolved = *rule;
    uint64_t slots = allocation_slots(allocation);
    uint64_t processes = rule->processes > 0 ? rule->processes : slots;
    struct buffer text = {0};
    int rc = 0;

    assert(rule->policy < MAP_POLICY_COUNT);
    if (slots == 0) {
        error_set(error, -ENOSPC, "no process can run: %s", describe_slots(allocation, &text));
        buffer_fini(&text);
        return -ENOSPC;
    }
    if (rule->policy == MAP_PER_NODE) {
        rc = resolve_per_node(&resolved, allocation, error);
    } else if (processes > MAP_PROCESSES_MAX) {
        rc = error_set(error, -E2BIG, "%" PRIu64 " processes are more than %u", processes,
                       MAP_PROCESSES_MAX);
    } else {
        resolved.processes = (uint32_t)processes;
        if (processes > slots && !rule->oversubscribe)
            rc = too_few_slots(rule, allocation, error);
    }
    if (rc == 0)
        *rule = resolved;
    return rc;
}

/* ---- Wire ---- */

void map_rule_encode(const struct map_rule *rule, struct buffer *out)
{
    wire_put_u8(out, (uint8_t)rule->policy);
    wire_put_varint(out, rule->processes);
    wire_put_varint(out, rule->per_node);
    wire_put_u8(out, rule->oversubscribe);
}

int map_rule_decode(struct map_rule *ret_rule, struct wire_reader *reader)
{
    struct map_rule rule;
    uint8_t policy = wire_get_u8(reader);

    rule.policy = (enum map_policy)policy;
    rule.processes = (uint32_t)wire_get_varint_max(reader, MAP_PROCESSES_MAX);
    rule.per_node = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    rule.oversubscribe = wire_get_u8(reader);
    if (policy >= MAP_POLICY_COUNT || rule.oversubscribe > 1 ||
        (policy == MAP_PER_NODE && rule.per_node == 0))
        wire_fail(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    *ret_rule = rule;
    return 0;
}
