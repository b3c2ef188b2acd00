/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes of an instance and who uses them: the root's book.  A node has a number (its place less
 * one, in the order of insertion), a name that is unique within its cell, other names that resolve to
 * it, a state, slots given and slots used.  A job has a number and what it took; giving back returns
 * exactly that, once, however the job ended.
 *
 * Invariant: slots used of a node are the sum of what the jobs have of it.
 * Cost: at the root only, some 16 bytes a node beside the hostlists; a job costs its runs of nodes.
 */
#ifndef ALLOC_NODE_POOL_H
#define ALLOC_NODE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/facts_table.h"
#include "base/error.h"
#include "base/ranges.h"

#define POOL_CELLS_MAX      1024u
#define POOL_CELL_BYTES_MAX 255u

enum node_state { NODE_UP, NODE_DOWN, NODE_DRAINING, NODE_REBOOTING, NODE_STATE_COUNT };

struct node_pool;

/* A node, as it is at the moment. */
struct node_record {
    char name[HOST_NAME_BYTES_MAX + 1];
    const char *cell; /* the pool's; "" is the default cell */
    enum node_state state;
    uint32_t slots_given;
    uint32_t slots_used;            /* more than given only where a job may oversubscribe */
    uint32_t topology;              /* class of its topology; 0: not known yet */
    const struct node_facts *facts; /* the pool's; NULL: nothing is known */
};

struct node_pool *node_pool_create(void);
void node_pool_destroy(struct node_pool *pool);

/* Adds the nodes of an allocation, all or none: -EEXIST if the cell has one of the names already,
 * also as another node's alias; -E2BIG.  They are up and unused. */
int node_pool_insert(struct node_pool *pool, const char *cell, const struct allocation *nodes,
                     struct error *error);
uint32_t node_pool_count(const struct node_pool *pool);
void node_pool_node(const struct node_pool *pool, uint32_t node, struct node_record *ret_record);
/* Another name or an address of a node: -EEXIST if it is another node's within the cell. */
int node_pool_alias(struct node_pool *pool, uint32_t node, const char *alias, struct error *error);
/* The node of a name or alias; cell NULL: of any cell.  -ENOENT, or -ENOTUNIQ if several cells have
 * it. */
int node_pool_lookup(const struct node_pool *pool, const char *cell, const char *name,
                     uint32_t *ret_node, struct error *error);
/* The node is no more: its name, which others may have from now on, is not found. */
void node_pool_retire(struct node_pool *pool, uint32_t node);
void node_pool_set_state(struct node_pool *pool, uint32_t node, enum node_state state);
void node_pool_set_topology(struct node_pool *pool, uint32_t node, uint32_t topology);

/* This is known of nodes, too (memory, architecture, ...); what was known before counts. */
void node_pool_add_facts(struct node_pool *pool, const struct facts_table *facts);

struct require;

/* Which nodes: all conditions hold. */
struct node_query {
    const char *cell;    /* NULL: any */
    uint32_t states;     /* bits 1 << state; 0: any */
    uint32_t job;        /* that has slots there; 0: any or none */
    uint32_t free_slots; /* minimum */
    bool unused;         /* by any job */
    const struct require
        *require; /* what must be known of them (placement_require.h); NULL: nothing */
};
void node_pool_query(const struct node_pool *pool, const struct node_query *query,
                     struct ranges *ret_nodes);
/* The jobs that have slots of a node. */
void node_pool_jobs_of(const struct node_pool *pool, uint32_t node, struct ranges *ret_jobs);

/* ---- Jobs ---- */

/* Slots of each node of a range. */
struct pool_share {
    struct range nodes;
    uint32_t slots;
};

/* A new job: with the requested number (-EEXIST if it is or was one), or, for 0, with the next
 * that never was one. */
int node_pool_job_add(struct node_pool *pool, uint32_t wanted, uint32_t *ret_job,
                      struct error *error);
/* Records what a job takes, all or nothing, in addition to what it has: -EBUSY if a node that is not
 * oversubscribed has too few free slots, -EHOSTDOWN if one is not up; the error names the node. */
int node_pool_take(struct node_pool *pool, uint32_t job, const struct pool_share *shares,
                   uint32_t shares_count, bool oversubscribe, struct error *error);
/* These are all that the job has from now on, whatever it had; nodes may be oversubscribed.  -EHOSTDOWN, -ENOENT: then it
 * has nothing. */
int node_pool_exchange(struct node_pool *pool, uint32_t job, const struct pool_share *shares,
                       uint32_t shares_count, struct error *error);
/* The job has ended, or was never started: all it has is given back.  A second call does nothing. */
void node_pool_give_back(struct node_pool *pool, uint32_t job);

/* Nodes that were named for the first request: of --host on the command line that began the
 * instance. */
void node_pool_prefer(struct node_pool *pool, const struct ranges *nodes);
/* Those nodes, the first time it is asked; else, and where none were named, all nodes. */
void node_pool_claim(struct node_pool *pool, struct ranges *ret_nodes);

/* Names that are not given one by one: count names of a list, from the one whose last number is
 * `number`: 100 from 512 of q[0-1024] are q[512-611].  -ENOENT, -ERANGE. */
int node_pool_derive_names(const struct hostlist *names, uint64_t number, uint32_t count,
                           struct hostlist *ret_names, struct error *error);

#endif
