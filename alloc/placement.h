/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job is asked to be placed by: a rule for each application, the nodes that are left out, and
 * what the nodes' machines look like.  It travels with the launch; place_map.h makes the map of it.
 * Machines are kinds: equal topology and equal threads that may be used; topologies (classes) are
 * kept once, so a regular instance of any size costs some dozen bytes.
 */
#ifndef ALLOC_PLACEMENT_H
#define ALLOC_PLACEMENT_H

#include "alloc/facts_table.h"
#include "alloc/place_rule.h"

#define PLACEMENT_APPS_MAX  4096u
#define PLACEMENT_KINDS_MAX 1048576u

struct place_kind {
    uint32_t class;
    struct ranges allowed; /* the kernel's numbers of threads */
    struct topology view;  /* the class with the allowed threads only */
    struct ranges nodes;   /* of that kind: indexes of the allocation */
};

/* A zeroed struct is empty. */
struct place_machines {
    struct topology *classes;
    uint32_t classes_count;
    struct place_kind *kinds;
    uint32_t kinds_count;
};

void place_machines_fini(struct place_machines *machines);
/* Nodes [first, last] have this topology (copied if it is new) and these threads.  -ENOENT if none
 * of the threads is there. */
int place_machines_add(struct place_machines *machines, const struct topology *topology,
                       const struct ranges *allowed, uint32_t first, uint32_t last);
/* Adds what other says of other nodes. */
void place_machines_merge(struct place_machines *machines, const struct place_machines *other);
/* Number of the kind, or UINT32_MAX. */
uint32_t place_machines_kind(const struct place_machines *machines, uint32_t node);
void place_machines_encode(const struct place_machines *machines, struct buffer *out);
/* 0 or -EBADMSG; replaces ret_machines, which must be empty. */
int place_machines_decode(struct place_machines *ret_machines, struct wire_reader *reader);

struct placement {
    struct map_rule *rules; /* one for each application */
    uint32_t rules_count;
    struct ranges excluded; /* indexes of nodes that take no part */
    struct place_machines machines;
    struct facts_table facts; /* what requirements are judged by; empty once they are */
};

void placement_fini(struct placement *placement);
/* Appends a rule and takes what it owns. */
void placement_add(struct placement *placement, const struct map_rule *rule);
void placement_copy(struct placement *ret_placement, const struct placement *source);
/* Processes of all applications; 0 if one of them is not known yet. */
uint32_t placement_processes(const struct placement *placement);
int placement_wants_topology(const struct placement *placement);
void placement_encode(const struct placement *placement, struct buffer *out);
/* 0 or -EBADMSG; initialises ret_placement, which is empty on failure. */
int placement_decode(struct placement *ret_placement, struct wire_reader *reader);

#endif
