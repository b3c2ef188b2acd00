/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the nodes of an allocation look like.  Machines are kinds: equal topology, equal threads that
 * may be used, and equal threads that other jobs have; topologies (classes) are kept once, so a regular
 * instance of any size costs some dozen bytes.
 *
 * Invariant: a node is of one kind at most, and every kind has nodes.
 */
#ifndef ALLOC_PLACEMENT_MACHINES_H
#define ALLOC_PLACEMENT_MACHINES_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "base/topology.h"
#include "base/wire.h"

#define PLACEMENT_KINDS_MAX 1048576u

struct placement_kind {
    uint32_t class;
    struct ranges allowed; /* the kernel's numbers of threads */
    struct topology view;  /* the class with the allowed threads only */
    struct ranges taken;   /* of the allowed threads those whose cores other jobs are bound to */
    struct ranges nodes;   /* of that kind: indexes of the allocation */
};

/* A zeroed struct is empty. */
struct placement_machines {
    struct topology *classes;
    uint32_t classes_count;
    struct placement_kind *kinds;
    uint32_t kinds_count;
};

void placement_machines_fini(struct placement_machines *machines);
/* Nodes [first, last] have this topology (copied if it is new) and these threads.  -ENOENT if none
 * of the threads is there. */
int placement_machines_add(struct placement_machines *machines, const struct topology *topology,
                           const struct ranges *allowed, uint32_t first, uint32_t last);
/* Adds what other says of other nodes. */
void placement_machines_merge(struct placement_machines *machines,
                              const struct placement_machines *other);
/* Number of the kind, or UINT32_MAX. */
uint32_t placement_machines_kind(const struct placement_machines *machines, uint32_t node);
/* All nodes that are of some kind. */
void placement_machines_nodes(const struct placement_machines *machines, struct ranges *ret_nodes);
/* Keeps what is said of these nodes only, and the topologies that these need. */
void placement_machines_keep(struct placement_machines *machines, const struct ranges *nodes);
/* On these nodes a job is bound to these threads (the kernel's numbers): their cores are taken, as far
 * as they may be used.  O(kinds). */
void placement_machines_take(struct placement_machines *machines, const struct ranges *nodes,
                             const struct ranges *threads);
/* Cores of a kind that are taken; or its threads. */
uint32_t placement_machines_taken(const struct placement_kind *kind, enum topology_level level);
void placement_machines_encode(const struct placement_machines *machines, struct buffer *out);
/* 0 or -EBADMSG; replaces ret_machines, which must be empty. */
int placement_machines_decode(struct placement_machines *ret_machines, struct wire_reader *reader);

#endif
