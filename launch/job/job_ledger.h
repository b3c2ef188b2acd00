/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slots that a job takes at the root (alloc/node_pool.h): one per process on each node; and the
 * slots that other jobs have left.
 */
#ifndef LAUNCH_JOB_JOB_LEDGER_H
#define LAUNCH_JOB_JOB_LEDGER_H

#include "alloc/allocation.h"
#include "alloc/node_pool.h"
#include "alloc/placement_map.h"

/* The book of an instance's nodes: node i is place i + 1.  O(nodes). */
struct node_pool *job_ledger_create(const struct allocation *allocation);
/* The slots of a job: equal neighbours form one share. */
struct job_shares {
    struct pool_share *items;
    uint32_t count;
    uint32_t capacity;
};
void job_shares_fini(struct job_shares *shares);
/* As many slots of each node as the map has processes there; places are those of the map.  O(places). */
void job_shares_make(const struct placement_map *map, const struct ranges *places,
                     struct job_shares *ret_shares);
/* Takes them.  The map has already decided whether a node may be oversubscribed. */
int job_ledger_take(struct node_pool *pool, uint32_t job, const struct job_shares *shares,
                    struct error *error);

/* An allocation of the same nodes as one job may use it: names are the roster's.  Only its runs are its
 * own: job_view_fini. */
struct job_view {
    struct allocation allocation;
    struct slots_delta *deltas; /* while it is being made */
    uint32_t deltas_count;
    uint32_t deltas_capacity;
};
/* Begins with the slots of an allocation ... */
void job_view_init(struct job_view *view, const struct allocation *allocation);
void job_view_fini(struct job_view *view); /* a zeroed view, too; it is zeroed after */
/* ... of which others use shares, and of some nodes (indexes) there are none ... */
void job_view_take(struct job_view *view, const struct job_shares *shares);
void job_view_take_nodes(struct job_view *view, const struct ranges *nodes);
/* ... gives the slots and those used, no more than there are.  O(n log n) of runs and shares. */
void job_view_make(struct job_view *view);

/* All at once: the slots of an allocation, but none of the nodes of these places. */
void job_view_without(struct job_view *view, const struct allocation *allocation,
                      const struct ranges *places);

/* The daemons of places are lost. */
void job_ledger_lost(struct node_pool *pool, const struct ranges *places);

#endif
