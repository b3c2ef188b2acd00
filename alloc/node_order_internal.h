/* SPDX-License-Identifier: BSD-3-Clause */
/* What node_order.c and node_order_wire.c share. */
#ifndef ALLOC_NODE_ORDER_INTERNAL_H
#define ALLOC_NODE_ORDER_INTERNAL_H

#include "alloc/node_order.h"

#define NODE_ORDER_NODES_MAX 16777216u /* as there are places */

/* Numbers that are neighbours on both sides: from + i stands for to + i. */
struct stretch {
    uint32_t from;
    uint32_t to;
    uint32_t count;
};

struct stretches {
    struct stretch *items; /* ascending by from */
    uint32_t count;
};

struct node_order {
    struct stretches nodes;     /* from positions */
    struct stretches positions; /* from nodes */
    uint32_t first;             /* the first position */
    uint32_t count;             /* of positions */
    uint8_t is_whole;           /* a permutation of 0..count-1 */
};

/* Adds a stretch of positions, which begins where the one before ends; it may be joined to that. */
void node_order_add(struct stretches *nodes, struct stretch added);
/* When all have been added: fails if a node has two positions, or if the whole is not a permutation. */
int node_order_index(struct node_order *order);

#endif
