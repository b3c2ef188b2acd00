/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machines described by `banyan map --topology`: "XML|WORDS" for all nodes, or "LIST=XML|WORDS"
 * for some, several of these separated by ';'; one without a list is for all others.  Without the
 * option all nodes are like this machine.
 */
#ifndef LAUNCH_CLI_REQUEST_MAP_MACHINES_H
#define LAUNCH_CLI_REQUEST_MAP_MACHINES_H

#include "alloc/allocation.h"
#include "alloc/placement.h"
#include "base/error.h"
#include "base/topology.h"

#define MAP_MACHINES_MAX 1024u

struct map_machine {
    struct hostlist *names; /* NULL: all others */
    struct topology topology;
    struct ranges allowed;
};

/* A zeroed struct is empty. */
struct map_machines {
    struct map_machine *items;
    uint32_t count;
    int is_described; /* by --topology */
};

/* text is the option's value, or NULL. */
int map_machines_read(struct map_machines *machines, const char *text, struct error *error);
void map_machines_fini(struct map_machines *machines);
/* Gives each node of the allocation as many slots as its machine has cores. */
int map_machines_set_slots(const struct map_machines *machines, struct allocation *allocation,
                           struct error *error);
/* "n[1-4]", of those that --topology names, else "every node" or "every other node"; appended. */
void map_machines_print_whose(const struct map_machines *machines, uint32_t index,
                              struct buffer *out);
/* Appends the nodes of the index-th machine. */
void map_machines_nodes(const struct map_machines *machines, uint32_t index,
                        const struct allocation *allocation, struct ranges *ret_nodes);
/* Adds them to those of the placement. */
int map_machines_add(const struct map_machines *machines, const struct allocation *allocation,
                     struct placement_machines *ret_machines, struct error *error);

#endif
