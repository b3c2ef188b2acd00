/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of `banyan map --show-topology`: the number of objects per level, the NUMA nodes with
 * their CPUs and memories, and the devices with what is near.  CPUs and memories have the kernel's
 * numbers.
 */
#ifndef LAUNCH_CLI_VERB_MAP_TOPOLOGY_H
#define LAUNCH_CLI_VERB_MAP_TOPOLOGY_H

#include "base/buffer.h"
#include "launch/cli/request/map_machines.h"

void map_topology_text(const struct map_machines *machines, struct buffer *out);
void map_topology_json(const struct map_machines *machines, struct buffer *out);

#endif
