/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job is asked to be placed by: a rule for each application, the nodes that are left out, and
 * what the nodes' machines look like.  It travels with the launch; placement_map.h makes the map of it.
 */
#ifndef ALLOC_PLACEMENT_H
#define ALLOC_PLACEMENT_H

#include <stdbool.h>

#include "alloc/facts_table.h"
#include "alloc/placement_machines.h"
#include "alloc/placement_rule.h"

#define PLACEMENT_APPS_MAX 4096u

struct placement {
    struct placement_rule *rules; /* one for each application */
    uint32_t rules_count;
    struct ranges excluded; /* indexes of nodes that take no part */
    struct placement_machines machines;
    struct facts_table facts; /* what requirements are judged by; empty once they are */
};

void placement_fini(struct placement *placement);
/* Appends a rule and takes what it owns. */
void placement_add(struct placement *placement, const struct placement_rule *rule);
void placement_copy(struct placement *ret_placement, const struct placement *source);
/* Processes of all applications; 0 if one of them is not known yet. */
uint32_t placement_processes(const struct placement *placement);
bool placement_wants_topology(const struct placement *placement);
/* true if these must say which devices are near which cores, too. */
bool placement_wants_devices(const struct placement *placement);
/* 1 if processes of a rule are bound to something, unless their node is overloaded; and if those of one
 * of the rules are. */
bool placement_rule_binds(const struct placement_rule *rule, int in_threads);
bool placement_binds(const struct placement *placement);
void placement_encode(const struct placement *placement, struct buffer *out);
/* 0 or -EBADMSG; initialises ret_placement, which is empty on failure. */
int placement_decode(struct placement *ret_placement, struct wire_reader *reader);

#endif
