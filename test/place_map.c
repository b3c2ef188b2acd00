/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who goes where: the closed forms against a reference that deals the ranks one by one, in many
 * small random allocations; then the messages, and one large machine.
 */
#include "config.h"

#include "alloc/place_map.h"
#include "test/tap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define CASES     200000
#define NODES_MAX 12
#define RANKS_MAX 400

/* ---- The reference: slow and plain ---- */

struct reference {
    uint32_t nodes;
    uint32_t slots[NODES_MAX];
    uint32_t processes;
    uint32_t node_of[RANKS_MAX];
};

/* By slot: the slots in a row get one rank each in turn, round and round; then the ranks of a node
 * are numbered together. */
static void reference_by_slot(struct reference *reference)
{
    uint32_t counts[NODES_MAX] = {0};
    uint32_t placed = 0, rank = 0;

    while (placed < reference->processes) {
        for (uint32_t node = 0; node < reference->nodes; node++) {
            for (uint32_t slot = 0; slot < reference->slots[node]; slot++) {
                if (placed < reference->processes) {
                    counts[node]++;
                    placed++;
                }
            }
        }
    }
    for (uint32_t node = 0; node < reference->nodes; node++) {
        for (uint32_t i = 0; i < counts[node]; i++)
            reference->node_of[rank++] = node;
    }
}

/* By node: in turn to the nodes with a free slot; when there is none, to all that have slots. */
static void reference_by_node(struct reference *reference)
{
    uint32_t free_slots[NODES_MAX];
    uint32_t rank = 0;

    memcpy(free_slots, reference->slots, sizeof(free_slots));
    while (rank < reference->processes) {
        uint32_t dealt = 0;

        for (uint32_t node = 0; node < reference->nodes; node++) {
            if (free_slots[node] > 0 && rank < reference->processes) {
                reference->node_of[rank++] = node;
                free_slots[node]--;
                dealt++;
            }
        }
        for (uint32_t node = 0; dealt == 0 && node < reference->nodes; node++) {
            if (reference->slots[node] > 0 && rank < reference->processes)
                reference->node_of[rank++] = node;
        }
    }
}

static void reference_per_node(struct reference *reference, uint32_t per_node)
{
    uint32_t rank = 0;

    for (uint32_t node = 0; node < reference->nodes; node++) {
        for (uint32_t i = 0; i < per_node && reference->slots[node] > 0; i++) {
            if (rank < reference->processes)
                reference->node_of[rank++] = node;
        }
    }
}

/* ---- One case ---- */

/* Every function agrees with the reference about every node and rank. */
static int map_agrees(const struct map_rule *rule, const struct allocation *allocation,
                      const struct reference *reference)
{
    struct ranges places = {0};
    uint64_t hash = 0;
    uint32_t placed = 0, used = 0;
    int held = 1;

    map_places(rule, allocation, &places);
    for (uint32_t node = 0; node < reference->nodes; node++) {
        uint32_t count = map_count_node(rule, allocation, node);
        uint32_t local = 0;

        for (uint32_t rank = 0; rank < reference->processes; rank++) {
            uint32_t found_node = UINT32_MAX, found_local = UINT32_MAX;

            if (reference->node_of[rank] != node)
                continue;
            map_find(rule, allocation, rank, &found_node, &found_local);
            held = held && local < count && found_node == node && found_local == local &&
                   map_rank(rule, allocation, node, local) == rank;
            local++;
        }
        held = held && local == count && ranges_contains(&places, node + 1) == (count > 0);
        placed += count;
        used += count > 0;
        hash += map_hash_node(rule, allocation, node);
    }
    held = held && placed == reference->processes && ranges_count(&places) == used &&
           hash == map_hash_total(rule, allocation);
    ranges_fini(&places);
    return held;
}

static int wire_agrees(const struct map_rule *rule)
{
    struct buffer bytes = {0};
    struct map_rule decoded = {.processes = 0};
    struct wire_reader reader;
    int held;

    map_rule_encode(rule, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    held = map_rule_decode(&decoded, &reader) == 0 && wire_finish(&reader) == 0 &&
           decoded.policy == rule->policy && decoded.processes == rule->processes &&
           decoded.per_node == rule->per_node && decoded.oversubscribe == rule->oversubscribe;
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        wire_reader_init(&reader, bytes.data, length);
        held = held && map_rule_decode(&decoded, &reader) == -EBADMSG;
    }
    buffer_fini(&bytes);
    return held;
}

static void random_allocation(struct random_state *random, struct allocation *allocation,
                              struct reference *reference)
{
    uint32_t slots_most = 1 + (uint32_t)random_below(random, 6);
    uint32_t slots = 0;
    char name[16];

    reference->nodes = 1 + (uint32_t)random_below(random, NODES_MAX);
    for (uint32_t node = 0; node < reference->nodes; node++) {
        /* Half the time as the node before, so that there are runs. */
        if (node == 0 || random_chance(random, 0.5))
            slots = (uint32_t)random_below(random, slots_most + 1);
        reference->slots[node] = slots;
        snprintf(name, sizeof(name), "n%u", node);
        allocation_add(allocation, name, slots);
    }
}

/* What the rule needs: 1 if it can be placed, by counting. */
static int reference_fits(const struct map_rule *rule, const struct reference *reference)
{
    uint32_t slots = 0, nodes = 0, rank = 0;

    for (uint32_t node = 0; node < reference->nodes; node++) {
        slots += reference->slots[node];
        nodes += reference->slots[node] > 0;
    }
    if (slots == 0)
        return 0;
    if (rule->policy != MAP_PER_NODE)
        return rule->oversubscribe || rule->processes <= slots;
    if (rule->processes > nodes * rule->per_node)
        return 0;
    for (uint32_t node = 0; node < reference->nodes && !rule->oversubscribe; node++) {
        uint32_t left = (rule->processes > 0 ? rule->processes : UINT32_MAX) - rank;
        uint32_t wanted = left < rule->per_node ? left : rule->per_node;

        if (reference->slots[node] == 0)
            continue;
        if (wanted > reference->slots[node])
            return 0;
        rank += wanted;
    }
    return 1;
}

static int random_case_agrees(struct random_state *random, uint64_t *placed)
{
    struct allocation allocation;
    struct reference reference = {.nodes = 0};
    struct map_rule rule = {
        .policy = (enum map_policy)random_below(random, MAP_POLICY_COUNT),
        .processes = (uint32_t)random_below(random, random_chance(random, 0.5) ? 20 : 120),
        .per_node = 1 + (uint32_t)random_below(random, 7),
        .oversubscribe = random_chance(random, 0.6),
    };
    struct map_rule asked = rule;
    struct error error = ERROR_NONE;
    int held, rc;

    allocation_init(&allocation);
    random_allocation(random, &allocation, &reference);
    rc = map_rule_resolve(&rule, &allocation, &error);
    held = (rc == 0) == reference_fits(&asked, &reference) && wire_agrees(&rule);
    if (rc < 0) {
        held = held && rule.processes == asked.processes && error.text[0] != '\0';
    } else {
        reference.processes = rule.processes;
        if (rule.policy == MAP_BY_SLOT)
            reference_by_slot(&reference);
        else if (rule.policy == MAP_BY_NODE)
            reference_by_node(&reference);
        else
            reference_per_node(&reference, rule.per_node);
        held = held && rule.processes > 0 && map_agrees(&rule, &allocation, &reference);
        (*placed)++;
    }
    allocation_fini(&allocation);
    return held;
}

static void test_random(void)
{
    struct random_state random;
    uint64_t placed = 0;
    int held = 1;

    random_init(&random, 1);
    for (int i = 0; held && i < CASES; i++) {
        held = random_case_agrees(&random, &placed);
        if (!held)
            diag("case %d", i);
    }
    ok(held, "%d random cases agree with the reference", CASES);
    ok(placed > CASES / 2, "and most of them could be placed");
}

/* ---- By hand ---- */

static void map_case(const char *hosts, struct map_rule rule, const char *expected)
{
    struct allocation allocation;
    struct error error = ERROR_NONE;
    struct buffer text = {0};

    allocation_init(&allocation);
    if (allocation_parse_hosts(&allocation, hosts, &error) == 0 &&
        map_rule_resolve(&rule, &allocation, &error) == 0) {
        for (uint32_t node = 0; node < allocation_nodes(&allocation); node++) {
            buffer_append_string(&text, node > 0 ? " |" : "");
            for (uint32_t i = 0; i < map_count_node(&rule, &allocation, node); i++)
                buffer_printf(&text, "%s%u", text.length_bytes > 0 ? " " : "",
                              map_rank(&rule, &allocation, node, i));
        }
    }
    is_string(error.code < 0 ? error.text : buffer_string(&text), expected, "%s of %u on %s",
              map_policy_name(rule.policy), rule.processes, hosts);
    allocation_fini(&allocation);
    buffer_fini(&text);
}

/* The hash goes over the wire: it must never change. */
static void test_hash(void)
{
    struct allocation allocation;
    struct map_rule rule = {.policy = MAP_BY_NODE};

    allocation_init(&allocation);
    allocation_parse_hosts(&allocation, "a:2,b:3", NULL);
    map_rule_resolve(&rule, &allocation, NULL);
    is_uint(map_hash_total(&rule, &allocation), 12854085935803379725u, "the hash of a small map");
    allocation_fini(&allocation);
}

static void test_by_hand(void)
{
    map_case("a:2,b:3", (struct map_rule){.policy = MAP_BY_SLOT}, "0 1 | 2 3 4");
    map_case("a:2,b:3", (struct map_rule){.policy = MAP_BY_SLOT, .processes = 3}, "0 1 | 2");
    map_case("a:2,b:0,c:3",
             (struct map_rule){.policy = MAP_BY_SLOT, .processes = 8, .oversubscribe = 1},
             "0 1 2 3 | | 4 5 6 7");
    map_case("a:2,b:3", (struct map_rule){.policy = MAP_BY_NODE}, "0 2 | 1 3 4");
    map_case("a:1,b:0,c:2",
             (struct map_rule){.policy = MAP_BY_NODE, .processes = 6, .oversubscribe = 1},
             "0 3 5 | | 1 2 4");
    map_case("a:2,b:3", (struct map_rule){.policy = MAP_PER_NODE, .per_node = 2}, "0 1 | 2 3");
    map_case("a:2,b:0,c:3",
             (struct map_rule){.policy = MAP_PER_NODE, .per_node = 2, .processes = 3}, "0 1 | | 2");
    map_case("a,b", (struct map_rule){.policy = MAP_PER_NODE, .per_node = 2, .oversubscribe = 1},
             "0 1 | 2 3");
}

/* ---- Messages ---- */

static void resolve_error(struct map_rule rule, const char *origin, const char *expected)
{
    struct allocation allocation;
    struct error error = ERROR_NONE;

    allocation_init(&allocation);
    allocation_generate(&allocation, "v", 3, 4);
    allocation_generate(&allocation, "w", 1, 3);
    snprintf(allocation.origin, sizeof(allocation.origin), "%s", origin);
    map_rule_resolve(&rule, &allocation, &error);
    is_string(error.text, expected, "message of %s", map_policy_name(rule.policy));
    allocation_fini(&allocation);
}

static void test_messages(void)
{
    struct allocation allocation;
    struct map_rule rule = {.policy = MAP_BY_SLOT};
    struct error error = ERROR_NONE;
    enum map_policy policy;

    resolve_error((struct map_rule){.policy = MAP_BY_SLOT, .processes = 64}, "--virtual-nodes",
                  "64 processes were asked for but there are 15 slots on 4 nodes (from "
                  "--virtual-nodes); use -n 15 or fewer, or --oversubscribe");
    resolve_error((struct map_rule){.policy = MAP_BY_NODE, .processes = 16}, "",
                  "16 processes were asked for but there are 15 slots on 4 nodes; use -n 15 or "
                  "fewer, or --oversubscribe");
    resolve_error((struct map_rule){.policy = MAP_PER_NODE, .per_node = 4}, "host file h",
                  "4 processes were asked for on each node but w1 has 3 slots (from host file h); "
                  "use --per-node 3 or fewer, or --oversubscribe");
    resolve_error((struct map_rule){.policy = MAP_PER_NODE, .per_node = 2, .processes = 10},
                  "--host",
                  "10 processes were asked for, 2 on each node, but there are 15 slots on 4 nodes "
                  "(from --host); use -n 8 or fewer, or --per-node 3");
    resolve_error((struct map_rule){.policy = MAP_PER_NODE}, "",
                  "mapping per node needs a number: --per-node 1 or more");
    resolve_error((struct map_rule){.processes = MAP_PROCESSES_MAX + 1, .oversubscribe = 1}, "",
                  "268435457 processes are more than 268435456");
    resolve_error((struct map_rule){.policy = MAP_PER_NODE, .per_node = UINT32_MAX}, "",
                  "17179869180 processes are more than 268435456");

    allocation_init(&allocation);
    is_int(map_rule_resolve(&rule, &allocation, &error), -ENOSPC, "no nodes");
    is_string(error.text, "no process can run: there are 0 slots on 0 nodes", "are said");
    allocation_add(&allocation, "a", 1);
    rule.processes = 2;
    map_rule_resolve(&rule, &allocation, &error);
    is_string(error.text,
              "2 processes were asked for but there is 1 slot on 1 node; use -n 1 or fewer, or "
              "--oversubscribe",
              "one slot is one");
    allocation_fini(&allocation);

    for (int i = 0; i < MAP_POLICY_COUNT; i++)
        ok(map_policy_parse(map_policy_name((enum map_policy)i), &policy, &error) == 0 &&
               policy == (enum map_policy)i,
           "policy %s has its name", map_policy_name((enum map_policy)i));
    is_int(map_policy_parse("numa", &policy, &error), -EINVAL, "another word is refused");
    is_string(error.text, "unknown mapping \"numa\"; there are slot, node and per-node",
              "saying what there is");
}

static void decode_error(const char *bytes, const char *name)
{
    struct map_rule rule;
    struct wire_reader reader;

    wire_reader_init(&reader, bytes, 4);
    is_int(map_rule_decode(&rule, &reader), -EBADMSG, "%s", name);
}

static void test_wire(void)
{
    decode_error("\x03\x01\x01\x00", "an unknown policy");
    decode_error("\x00\x01\x01\x02", "a flag that is neither 0 nor 1");
    decode_error("\x02\x01\x00\x00", "none per node");
    decode_error("\x00\x81\x00\x00", "an overlong number");
}

/* ---- A large machine ---- */

/* The own parts of many daemons of 1,000,000 nodes: this ends soon only if no part walks all nodes
 * or ranks. */
static void test_large(void)
{
    struct allocation allocation;
    struct ranges places = {0};
    struct random_state random;
    int held = 1;

    random_init(&random, 1);
    allocation_init(&allocation);
    allocation_generate(&allocation, "a", 400000, 128);
    allocation_generate(&allocation, "b", 200000, 0);
    allocation_generate(&allocation, "c", 400000, 200);
    for (int i = 0; i < 3 * 20000; i++) {
        struct map_rule rule = {.policy = (enum map_policy)(i % 3), .per_node = 128};
        uint32_t rank, node, local;

        rule.processes = i % 2 ? 100000000 : 0;
        held = held && map_rule_resolve(&rule, &allocation, NULL) == 0;
        rank = (uint32_t)random_below(&random, rule.processes);
        map_find(&rule, &allocation, rank, &node, &local);
        held = held && local < map_count_node(&rule, &allocation, node) &&
               map_rank(&rule, &allocation, node, local) == rank;
        if (i % 100 == 0) {
            map_hash_node(&rule, &allocation, node);
            map_places(&rule, &allocation, &places);
            held = held && ranges_contains(&places, node + 1) && places.count <= 2;
        }
    }
    ok(held, "20,000 daemons of 1,000,000 nodes know their part of each policy");
    allocation_fini(&allocation);
    ranges_fini(&places);
}

int main(void)
{
    test_random();
    test_by_hand();
    test_hash();
    test_messages();
    test_wire();
    test_large();
    return done_testing();
}
