/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/place_map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"

/* A walk over the runs of slots; first is the index of the run's first node. */
struct run_walk {
    const struct slots_run *run;
    uint32_t left; /* runs after this one */
    uint32_t first;
    uint64_t slots;     /* of all nodes before the run */
    uint32_t positions; /* of all nodes before the run that have slots */
};

static int run_walk_begin(struct run_walk *walk, const struct allocation *allocation)
{
    *walk = (struct run_walk){.run = allocation->runs, .left = allocation->runs_count};
    return walk->left-- > 0;
}

static int run_walk_next(struct run_walk *walk)
{
    walk->first += walk->run->nodes;
    walk->slots += (uint64_t)walk->run->nodes * walk->run->slots;
    walk->positions += walk->run->slots > 0 ? walk->run->nodes : 0;
    walk->run++;
    return walk->left-- > 0;
}

/* Goes to the run of a node. */
static void run_walk_to(struct run_walk *walk, const struct allocation *allocation, uint32_t node)
{
    int more = run_walk_begin(walk, allocation);

    while (more && node - walk->first >= walk->run->nodes)
        more = run_walk_next(walk);
    assert(more);
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Nodes that have slots. */
static uint32_t nodes_with_slots(const struct allocation *allocation)
{
    uint32_t nodes = 0;

    for (uint32_t i = 0; i < allocation->runs_count; i++)
        nodes += allocation->runs[i].slots > 0 ? allocation->runs[i].nodes : 0;
    return nodes;
}

/* Index of the position-th node that has slots. */
static uint32_t node_at(const struct allocation *allocation, uint32_t position)
{
    struct run_walk walk;
    int more = run_walk_begin(&walk, allocation);

    while (more && (walk.run->slots == 0 || position - walk.positions >= walk.run->nodes))
        more = run_walk_next(&walk);
    assert(more);
    return walk.first + (position - walk.positions);
}

/* ---- By slot ---- */

/* The first rank of the node before which there are so many slots.  Every slot gets q ranks, and
 * one more as long as the remainder lasts; with no fewer slots than processes that is one rank a
 * slot until they are all placed. */
static uint64_t by_slot_first(const struct map_rule *rule, uint64_t slots_all,
                              uint64_t slots_before)
{
    return rule->processes / slots_all * slots_before +
           lesser(slots_before, rule->processes % slots_all);
}

static uint32_t by_slot_count(const struct map_rule *rule, const struct allocation *allocation,
                              const struct run_walk *walk, uint32_t node)
{
    uint64_t all = allocation_slots(allocation);
    uint64_t before = walk->slots + (uint64_t)(node - walk->first) * walk->run->slots;

    return (uint32_t)(by_slot_first(rule, all, before + walk->run->slots) -
                      by_slot_first(rule, all, before));
}

static uint32_t by_slot_rank(const struct map_rule *rule, const struct allocation *allocation,
                             const struct run_walk *walk, uint32_t node, uint32_t local_index)
{
    uint64_t before = walk->slots + (uint64_t)(node - walk->first) * walk->run->slots;

    return (uint32_t)by_slot_first(rule, allocation_slots(allocation), before) + local_index;
}

static void by_slot_find(const struct map_rule *rule, const struct allocation *allocation,
                         uint32_t rank, uint32_t *ret_node, uint32_t *ret_local_index)
{
    uint64_t all = allocation_slots(allocation);
    struct run_walk walk;
    int more = run_walk_begin(&walk, allocation);
    uint32_t low = 0, high;

    while (more && by_slot_first(rule, all,
                                 walk.slots + (uint64_t)walk.run->nodes * walk.run->slots) <= rank)
        more = run_walk_next(&walk);
    assert(more);
    /* The last node of the run whose first rank is not above. */
    high = walk.run->nodes - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;

        if (by_slot_first(rule, all, walk.slots + (uint64_t)middle * walk.run->slots) <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    *ret_node = walk.first + low;
    *ret_local_index =
        rank - (uint32_t)by_slot_first(rule, all, walk.slots + (uint64_t)low * walk.run->slots);
}

/* How many of the nodes that have slots have ranks: those before which slots are not used up. */
static uint32_t by_slot_used(const struct map_rule *rule, const struct allocation *allocation)
{
    struct run_walk walk;
    int more = run_walk_begin(&walk, allocation);

    if (rule->processes >= allocation_slots(allocation))
        return nodes_with_slots(allocation);
    while (more && walk.slots + (uint64_t)walk.run->nodes * walk.run->slots < rule->processes)
        more = run_walk_next(&walk);
    assert(more);
    return walk.positions +
           (uint32_t)((rule->processes - walk.slots + walk.run->slots - 1) / walk.run->slots);
}

/* ---- By node ---- */

/* Ranks dealt before a round, while slots last: each node takes part in as many rounds as it has
 * slots. */
static uint64_t dealt_before(const struct allocation *allocation, uint32_t round)
{
    uint64_t dealt = 0;

    for (uint32_t i = 0; i < allocation->runs_count; i++)
        dealt += allocation->runs[i].nodes * lesser(allocation->runs[i].slots, round);
    return dealt;
}

/* Nodes before a node that take part in a round. */
static uint32_t partners_before(const struct allocation *allocation, uint32_t node, uint32_t round)
{
    uint32_t first = 0;
    uint32_t partners = 0;

    for (const struct slots_run *run = allocation->runs; first < node; first += run++->nodes) {
        if (run->slots > round)
            partners += (uint32_t)lesser(run->nodes, node - first);
    }
    return partners;
}

/* The round in which a rank is dealt, while slots last. */
static uint32_t round_of(const struct allocation *allocation, uint64_t rank)
{
    uint32_t low = 0, high = ALLOCATION_SLOTS_MAX;

    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;

        if (dealt_before(allocation, middle) <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static uint32_t by_node_count(const struct map_rule *rule, const struct allocation *allocation,
                              const struct run_walk *walk, uint32_t node)
{
    uint64_t all = allocation_slots(allocation);
    uint32_t slots = walk->run->slots;
    uint32_t round;

    if (rule->processes >= all) {
        uint32_t position = walk->positions + (node - walk->first);
        uint64_t over = rule->processes - all;
        uint32_t nodes = nodes_with_slots(allocation);

        return slots + (uint32_t)(over / nodes) + (position < over % nodes);
    }
    /* The round that the processes end in, whole or not. */
    round = round_of(allocation, rule->processes);
    if (slots <= round)
        return slots;
    return round + (dealt_before(allocation, round) + partners_before(allocation, node, round) <
                    rule->processes);
}

static uint32_t by_node_rank(const struct allocation *allocation, const struct run_walk *walk,
                             uint32_t node, uint32_t local_index)
{
    uint32_t slots = walk->run->slots;

    if (local_index < slots)
        return (uint32_t)dealt_before(allocation, local_index) +
               partners_before(allocation, node, local_index);
    return (uint32_t)(allocation_slots(allocation) +
                      (uint64_t)(local_index - slots) * nodes_with_slots(allocation)) +
           walk->positions + (node - walk->first);
}

static void by_node_find(const struct allocation *allocation, uint32_t rank, uint32_t *ret_node,
                         uint32_t *ret_local_index)
{
    uint64_t all = allocation_slots(allocation);
    uint32_t nodes = nodes_with_slots(allocation);
    uint32_t first = 0;
    uint32_t round;
    uint64_t partner;

    if (rank >= all) {
        *ret_node = node_at(allocation, (uint32_t)((rank - all) % nodes));
        *ret_local_index =
            allocation_slots_of(allocation, *ret_node) + (uint32_t)((rank - all) / nodes);
        return;
    }
    round = round_of(allocation, rank);
    partner = rank - dealt_before(allocation, round);
    for (const struct slots_run *run = allocation->runs;; first += run++->nodes) {
        if (run->slots <= round)
            continue;
        if (partner < run->nodes)
            break;
        partner -= run->nodes;
    }
    *ret_node = first + (uint32_t)partner;
    *ret_local_index = round;
}

/* ---- Per node ---- */

static uint32_t per_node_count(const struct map_rule *rule, const struct run_walk *walk,
                               uint32_t node)
{
    uint64_t first = (uint64_t)(walk->positions + (node - walk->first)) * rule->per_node;

    if (first >= rule->processes)
        return 0;
    return (uint32_t)lesser(rule->processes - first, rule->per_node);
}

/* ---- All policies ---- */

uint32_t map_count_node(const struct map_rule *rule, const struct allocation *allocation,
                        uint32_t node)
{
    struct run_walk walk;

    run_walk_to(&walk, allocation, node);
    if (walk.run->slots == 0)
        return 0;
    switch (rule->policy) {
    case MAP_BY_SLOT:
        return by_slot_count(rule, allocation, &walk, node);
    case MAP_BY_NODE:
        return by_node_count(rule, allocation, &walk, node);
    default:
        return per_node_count(rule, &walk, node);
    }
}

uint32_t map_rank(const struct map_rule *rule, const struct allocation *allocation, uint32_t node,
                  uint32_t local_index)
{
    struct run_walk walk;

    run_walk_to(&walk, allocation, node);
    switch (rule->policy) {
    case MAP_BY_SLOT:
        return by_slot_rank(rule, allocation, &walk, node, local_index);
    case MAP_BY_NODE:
        return by_node_rank(allocation, &walk, node, local_index);
    default:
        return (walk.positions + (node - walk.first)) * rule->per_node + local_index;
    }
}

void map_find(const struct map_rule *rule, const struct allocation *allocation, uint32_t rank,
              uint32_t *ret_node, uint32_t *ret_local_index)
{
    assert(rank < rule->processes);
    switch (rule->policy) {
    case MAP_BY_SLOT:
        by_slot_find(rule, allocation, rank, ret_node, ret_local_index);
        break;
    case MAP_BY_NODE:
        by_node_find(allocation, rank, ret_node, ret_local_index);
        break;
    default:
        *ret_node = node_at(allocation, rank / rule->per_node);
        *ret_local_index = rank % rule->per_node;
        break;
    }
}

/* How many of the nodes that have slots have ranks: with every policy the first ones. */
static uint32_t nodes_used(const struct map_rule *rule, const struct allocation *allocation)
{
    switch (rule->policy) {
    case MAP_BY_SLOT:
        return by_slot_used(rule, allocation);
    case MAP_BY_NODE:
        return (uint32_t)lesser(rule->processes, nodes_with_slots(allocation));
    default:
        return (rule->processes + rule->per_node - 1) / rule->per_node;
    }
}

void map_places(const struct map_rule *rule, const struct allocation *allocation,
                struct ranges *ret_places)
{
    uint32_t left = nodes_used(rule, allocation);
    uint32_t place = 1;

    ranges_clear(ret_places);
    for (uint32_t i = 0; left > 0; place += allocation->runs[i++].nodes) {
        const struct slots_run *run = &allocation->runs[i];
        uint32_t nodes;

        assert(i < allocation->runs_count);
        nodes = (uint32_t)lesser(run->nodes, left);

        if (run->slots == 0)
            continue;
        ranges_add(ret_places, place, place + nodes - 1);
        left -= nodes;
    }
}

/* ---- The hash ---- */

static uint64_t hash_rank(uint64_t rank, uint32_t node)
{
    uint32_t place = node + 1;

    return hash_mix(rank << 32 | place);
}

uint64_t map_hash_node(const struct map_rule *rule, const struct allocation *allocation,
                       uint32_t node)
{
    uint32_t count = map_count_node(rule, allocation, node);
    uint32_t first = count > 0 ? map_rank(rule, allocation, node, 0) : 0;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++)
        sum += hash_rank(
            rule->policy == MAP_BY_NODE ? map_rank(rule, allocation, node, i) : first + i, node);
    return sum;
}

/* Ranks are contiguous on each node: by slot, and per node. */
static uint64_t hash_contiguous(const struct map_rule *rule, const struct allocation *allocation)
{
    uint64_t all = allocation_slots(allocation);
    struct run_walk walk;
    uint64_t sum = 0;
    uint32_t rank = 0;

    for (int more = run_walk_begin(&walk, allocation); more && rank < rule->processes;
         more = run_walk_next(&walk)) {
        uint64_t slots = walk.slots;

        if (walk.run->slots == 0)
            continue;
        for (uint32_t node = walk.first; node - walk.first < walk.run->nodes; node++) {
            uint64_t end;

            slots += walk.run->slots;
            end = rule->policy == MAP_BY_SLOT ? by_slot_first(rule, all, slots)
                                              : rank + per_node_count(rule, &walk, node);

            for (; rank < end; rank++)
                sum += hash_rank(rank, node);
        }
    }
    return sum;
}

/* Deals one round to the nodes that still have slots; runs that have none left are dropped, so that
 * all rounds together cost no more than the ranks they deal. */
struct dealer {
    struct dealer_run {
        uint32_t first;
        uint32_t nodes;
        uint32_t slots;
    } * runs;
    uint32_t runs_count;
    uint32_t rank;
    uint64_t sum;
};

static void deal_round(struct dealer *dealer, uint32_t round, uint32_t processes)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < dealer->runs_count; i++) {
        struct dealer_run run = dealer->runs[i];

        if (run.slots <= round)
            continue;
        dealer->runs[kept++] = run;
        for (uint32_t j = 0; j < run.nodes && dealer->rank < processes; j++, dealer->rank++)
            dealer->sum += hash_rank(dealer->rank, run.first + j);
    }
    dealer->runs_count = kept;
}

/* All nodes that have slots. */
static void dealer_fill(struct dealer *dealer, const struct allocation *allocation)
{
    struct run_walk walk;

    dealer->runs_count = 0;
    for (int more = run_walk_begin(&walk, allocation); more; more = run_walk_next(&walk)) {
        if (walk.run->slots > 0)
            dealer->runs[dealer->runs_count++] = (struct dealer_run){
                .first = walk.first, .nodes = walk.run->nodes, .slots = walk.run->slots};
    }
}

static uint64_t hash_dealt(const struct map_rule *rule, const struct allocation *allocation)
{
    struct dealer dealer = {.runs = memory_allocate(allocation->runs_count * sizeof(*dealer.runs))};

    dealer_fill(&dealer, allocation);
    for (uint32_t round = 0; dealer.runs_count > 0 && dealer.rank < rule->processes; round++)
        deal_round(&dealer, round, rule->processes);
    /* No slot is left: every further round is like the first. */
    dealer_fill(&dealer, allocation);
    while (dealer.runs_count > 0 && dealer.rank < rule->processes)
        deal_round(&dealer, 0, rule->processes);
    free(dealer.runs);
    return dealer.sum;
}

uint64_t map_hash_total(const struct map_rule *rule, const struct allocation *allocation)
{
    return rule->policy == MAP_BY_NODE ? hash_dealt(rule, allocation)
                                       : hash_contiguous(rule, allocation);
}
