/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes in the order in which a walk through the fabric, switch after switch, comes to them, so that any stretch
 * of neighbours is in as few switches as there can be: what a tree of ranges needs (overlay/tree.h).
 *
 * Where the fabric does not decide, the order is that of the list: switches come in the order of their first
 * nodes, nodes of a switch as they are listed.  Nodes that the model does not know come last.
 */
#ifndef FABRIC_TOPOLOGY_FABRIC_ORDER_H
#define FABRIC_TOPOLOGY_FABRIC_ORDER_H

#include <stdint.h>

#include "alloc/hostlist.h"
#include "fabric/topology/fabric_model.h"

/* ret_vertices[i] is the first NIC of the i-th name, or FABRIC_NONE if the model has no node of that name, nor of its
 * part before the first dot.  O(names + vertices). */
void fabric_order_find(const struct fabric_model *model, const struct hostlist *names,
                       uint32_t *ret_vertices);
/* ret_nodes: the indexes of the nodes with these NICs, sorted.  Returns how many are not in the model, which is
 * settled.  O(n log n * levels). */
uint32_t fabric_order_make(const struct fabric_model *model, const uint32_t *vertices,
                           uint32_t count, uint32_t *ret_nodes);

#endif
