/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of nodes in the tree, where it differs from that of the allocation: which node (index in the
 * allocation) has which position in the tree (position i is place i + 1).  Ranks, indexes and lists go by
 * the allocation; only the tree goes by positions, so that its ranges can be parts of the network
 * (doc/architecture.rst, "Shaped trees").  NULL stands for no order: position i is node i.
 *
 * An order is a permutation, or a slice of one.  Nodes and positions outside of it have equal numbers: such
 * are nodes that are added to an instance.
 * Cost: 24 bytes for each stretch of neighbours that stay neighbours; look-ups are O(log stretches).
 */
#ifndef ALLOC_NODE_ORDER_H
#define ALLOC_NODE_ORDER_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"

struct node_order;

/* nodes[i] is the node at position i: a permutation of 0..count-1.  NULL if nothing is moved.  The caller frees
 * what it gets with node_order_destroy. */
struct node_order *node_order_create(const uint32_t *nodes, uint32_t count);
struct node_order *node_order_copy(const struct node_order *order);
/* Positions first..first+count-1 only, which may be beyond its end.  Of no order there is no slice. */
struct node_order *node_order_slice(const struct node_order *order, uint32_t first, uint32_t count);
void node_order_destroy(struct node_order *order);

/* How many positions it has. */
uint32_t node_order_count(const struct node_order *order);
/* The node at a position, and how many neighbours from it on are at the positions that follow. */
uint32_t node_order_stretch(const struct node_order *order, uint32_t position, uint32_t *ret_count);
uint32_t node_order_node(const struct node_order *order, uint32_t position);
uint32_t node_order_position(const struct node_order *order, uint32_t node);

/* The same for places, of which 0, the root, is no node: the place that a node would have by the allocation
 * (its index + 1), and the one that it has in the tree. */
uint32_t node_order_listed_place(const struct node_order *order, uint32_t tree_place);
uint32_t node_order_tree_place(const struct node_order *order, uint32_t listed_place);
/* Sets of places; ret_places is replaced.  O(stretches * log stretches) unless the set has all places of the
 * order. */
void node_order_listed_places(const struct node_order *order, const struct ranges *tree_places,
                              struct ranges *ret_places);
void node_order_tree_places(const struct node_order *order, const struct ranges *listed_places,
                            struct ranges *ret_places);

/* NULL is encoded, too. */
void node_order_encode(const struct node_order *order, struct buffer *out);
/* 0 or -EBADMSG: of positions first..first+count-1; is_whole: it must be a permutation of 0..count-1. */
int node_order_decode(struct wire_reader *reader, uint32_t first, uint32_t count, int is_whole,
                      struct node_order **ret_order);

#endif
