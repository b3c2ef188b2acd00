/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who goes where: the rule that the launch message carries, and the closed forms by which each
 * daemon computes its own part from the rule and the run-length slots.  Nothing here loops over all
 * nodes or ranks except map_hash_total (the root's own total) and, where no two neighbours have
 * equal slots, the run-length slots themselves.  Ranks are global: 0..processes-1;
 * node indexes are those of the allocation (place - 1).
 *
 * By slot: nodes are filled in order, each with its slots; if that is not enough (oversubscribed)
 * node i gets q * slots_i + its share of the remainder filled in order, q = processes / all slots;
 * ranks of a node are contiguous.  By node: ranks are dealt one at a time in turn to the nodes that
 * still have a free slot; when none has, to all nodes that have slots, in turn.  Per node k: k
 * contiguous ranks on each node that has slots, in order (the last may get fewer when processes is
 * given).
 */
#ifndef ALLOC_PLACE_MAP_H
#define ALLOC_PLACE_MAP_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"
#include "base/wire.h"

#define MAP_PROCESSES_MAX 268435456u

enum map_policy { MAP_BY_SLOT, MAP_BY_NODE, MAP_PER_NODE, MAP_POLICY_COUNT };

struct map_rule {
    enum map_policy policy;
    uint32_t processes; /* of the whole job */
    uint32_t per_node;  /* MAP_PER_NODE only */
    uint8_t oversubscribe;
};

/* Which policy a --map-by word names; -EINVAL lists what there is. */
int map_policy_parse(const char *word, enum map_policy *ret_policy, struct error *error);
const char *map_policy_name(enum map_policy policy);

/* "runs" below are those of allocation.runs.  All functions but map_policy_* and map_rule_* want a
 * rule that map_rule_resolve has accepted for the same allocation: so does a daemon with what came
 * over the wire. */

/* Completes and checks a rule against the allocation: processes 0 means "as many as there are
 * slots" (or per_node * nodes).  Fails with one line that says how many slots there were, where the
 * count came from (allocation.origin) and what to type instead. */
int map_rule_resolve(struct map_rule *rule, const struct allocation *allocation,
                     struct error *error);

/* Ranks on a node.  O(runs), by node: O(runs * log slots). */
uint32_t map_count_node(const struct map_rule *rule, const struct allocation *allocation,
                        uint32_t node);
/* The local_index-th rank (ascending) of a node; local_index < map_count_node.  O(runs). */
uint32_t map_rank(const struct map_rule *rule, const struct allocation *allocation, uint32_t node,
                  uint32_t local_index);
/* Inverse: where a rank is; rank < processes.  O(runs + log nodes), by node O(runs * log slots). */
void map_find(const struct map_rule *rule, const struct allocation *allocation, uint32_t rank,
              uint32_t *ret_node, uint32_t *ret_local_index);
/* Nodes [0, n) that host at least one rank are a prefix or scattered by zero-slot nodes: the count
 * of used nodes is that of the set of their places (index + 1).  O(runs). */
void map_places(const struct map_rule *rule, const struct allocation *allocation,
                struct ranges *ret_places);

/* h(rank, place), summed (wrapping) over ranks: one daemon's share, O(its ranks + runs), by
 * node O(its ranks * runs), and the root's total, O(processes + nodes). */
uint64_t map_hash_node(const struct map_rule *rule, const struct allocation *allocation,
                       uint32_t node);
uint64_t map_hash_total(const struct map_rule *rule, const struct allocation *allocation);

void map_rule_encode(const struct map_rule *rule, struct buffer *out);
/* 0 or -EBADMSG. */
int map_rule_decode(struct map_rule *ret_rule, struct wire_reader *reader);

#endif
