/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The facts of this machine other than its processors, as reported by the kernel: memory,
 * architecture, operating system, and the flags of its processors as features.  GPUs are read by
 * topology_read.
 */
#ifndef FABRIC_FACTS_READ_H
#define FABRIC_FACTS_READ_H

#include "base/node_facts.h"

/* Adds what can be read; the rest stays unknown.  Two small files, no hwloc. */
void facts_read(struct node_facts *facts);

#endif
