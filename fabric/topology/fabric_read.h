/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of a fabric from what describes it, as text.  The model must be empty; on success it is
 * settled.  Errors name the line or the entry and the reason; the model must be finished then, too.
 *
 * Cost: O(text + NICs).
 */
#ifndef FABRIC_TOPOLOGY_FABRIC_READ_H
#define FABRIC_TOPOLOGY_FABRIC_READ_H

#include <stddef.h>

#include "fabric/topology/fabric_model.h"

/* Slurm's topology.conf: topology/tree (SwitchName, Switches, Nodes) or topology/block (BlockName, Nodes, BlockSizes);
 * also what `scontrol show topology` prints of topology/tree.
 * Each node has one NIC, with the node's name.  A link costs 1; nodes of different blocks are one more apart for each
 * size of blocks that does not hold both. */
int fabric_read_slurm(struct fabric_model *model, const char *text, struct error *error);
/* What ibnetdiscover(8) prints.  Switches are grouped level by level: leaf switches that have common
 * switches above them are one group.  A NIC is a port of a channel adapter, "node01:HCA-1/1", its node
 * the first word of the adapter's description. */
int fabric_read_infiniband(struct fabric_model *model, const char *text, struct error *error);
/* {"switches": [{"name", "parent", "up", "down", "across"}],
 *  "nics": [{"name", "node", "switch", "plane", "up", "down", "device"} or {"nodes": "n[1-16]", ...}]}
 * with "device": {"driver", "vendor", "device", "address", "speed", "mtu", "state", "type", "pci", "numa"}. */
int fabric_read_json(struct fabric_model *model, const char *text, size_t text_bytes,
                     struct error *error);
/* Lines of SLURM_TOPOLOGY_ADDR and, after a blank, SLURM_TOPOLOGY_ADDR_PATTERN, as tasks of Slurm on all nodes print
 * them.  A link costs 1, and all blocks are connected, by one more.  A node without switches is left out, as topology.conf
 * would.  Without a pattern the node's name is what follows the last dot. */
int fabric_read_addresses(struct fabric_model *model, const char *text, struct error *error);
/* Does the text begin as such lines, rather than with NAME=VALUE? */
int fabric_read_is_address(const char *text);
/* One of the four formats above, whichever the text has.  A NUL follows its text_bytes. */
int fabric_read_text(struct fabric_model *model, const char *text, size_t text_bytes,
                     struct error *error);
/* "fat-tree:16x8x4", nodes of a leaf switch x leaf switches of a pod x pods, with any number of levels, or
 * "dragonfly:4x8x16", nodes of a router x routers of a group x groups, with nodes n1, n2, ... */
int fabric_read_generate(struct fabric_model *model, const char *text, struct error *error);
/* Is it such a text, rather than the name of a file? */
int fabric_read_is_generated(const char *text);

#endif
