/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nodes that a scheduler's job has now, which may be more than when the instance was started: of Slurm, whose jobs
 * can be extended.
 */
#ifndef LAUNCH_CLI_VERB_NODE_SCHEDULER_H
#define LAUNCH_CLI_VERB_NODE_SCHEDULER_H

#include "alloc/allocation.h"
#include "base/error.h"

/* Appends the nodes of $SLURM_JOB_ID, as scontrol lists them, with a slot for every $SLURM_CPUS_PER_TASK of the job's
 * CPUs there.  Takes as long as scontrol does. */
int node_scheduler_read(struct allocation *nodes, struct error *error);
/* What `scontrol --details show job` writes.  -EBADMSG if it names no node. */
int node_scheduler_parse(const char *text, uint32_t cpus_per_slot, struct allocation *nodes,
                         struct error *error);

#endif
