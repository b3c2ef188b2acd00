/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that are one machine, as far as that can be determined without a look-up: those of this machine
 * (localhost, 127.0.0.1, ::1, its own name in full and short), and a full name (n1.cluster.org) beside the
 * short one (n1), unless two full names share it.  They become one node: one daemon, the slots of all.
 */
#ifndef ALLOC_SAME_NODE_H
#define ALLOC_SAME_NODE_H

#include <stdbool.h>

#include "alloc/allocation.h"

/* 1 if a name is one of this machine. */
bool same_node_is_here(const char *name, const char *host_name);
/* The node keeps the place and the name that come first.  O(runs) if there is nothing to join, else
 * O(nodes). */
void same_node_join(struct allocation *allocation, const char *host_name);

#endif
