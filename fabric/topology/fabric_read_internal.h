/* SPDX-License-Identifier: BSD-3-Clause */
/* What the readers of fabric_read.h share. */
#ifndef FABRIC_TOPOLOGY_FABRIC_READ_INTERNAL_H
#define FABRIC_TOPOLOGY_FABRIC_READ_INTERNAL_H

#include "alloc/hostlist.h"
#include "fabric/topology/fabric_model.h"

/* A link of cost 1 in both directions. */
extern const struct fabric_link fabric_read_link;

/* fabric_read.c */
/* One NIC for each node of the list, called as the node, or node:plane if the plane has a name. */
int fabric_read_add_nodes(struct fabric_model *model, const struct hostlist *nodes,
                          const char *plane, uint32_t top, struct fabric_link link,
                          struct error *error);

#endif
