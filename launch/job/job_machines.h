/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the root of an instance knows of its nodes' machines.  A node is asked when the first job needs
 * to know, and once: its machine stays the same as long as its daemon lives.  Nodes without devices in
 * the answer are asked again by the first job that needs these.
 *
 * Memory: O(kinds of machines), and the runs of nodes of each.
 */
#ifndef LAUNCH_JOB_JOB_MACHINES_H
#define LAUNCH_JOB_JOB_MACHINES_H

#include "alloc/placement_machines.h"

/* A zeroed struct knows nothing. */
struct job_machines {
    struct placement_machines known;
    struct ranges with_devices; /* nodes, by index */
};

void job_machines_fini(struct job_machines *machines);
/* The nodes of the answer are like that. */
void job_machines_learn(struct job_machines *machines, const struct placement_machines *answer,
                        int with_devices);
/* Nodes that need not be asked. */
void job_machines_nodes(const struct job_machines *machines, int with_devices,
                        struct ranges *ret_nodes);

#endif
