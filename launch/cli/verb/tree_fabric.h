/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree in its fabric: in which switch each of its places is, and what its edges cost, in the unit of the model
 * (fabric/topology/fabric_model.h).  All functions take NULL for a fabric that is not known.
 */
#ifndef LAUNCH_CLI_VERB_TREE_FABRIC_H
#define LAUNCH_CLI_VERB_TREE_FABRIC_H

#include <jansson.h>

#include "alloc/hostlist.h"
#include "fabric/topology/fabric_model.h"
#include "overlay/tree.h"

struct tree_fabric {
    const struct fabric_model *model;
    uint32_t *vertices; /* of each place; FABRIC_NONE: not in the model */
    uint32_t places;
};

/* names: of places 1 and on; root: the name of the machine with place 0.  The model must outlive it. */
void tree_fabric_init(struct tree_fabric *ret_fabric, const struct fabric_model *model,
                      const struct hostlist *names, const char *root);
void tree_fabric_fini(struct tree_fabric *fabric);

/* FABRIC_NONE: not known. */
uint32_t tree_fabric_vertex(const struct tree_fabric *fabric, uint32_t place);
/* Are they in the same switch, or both not known? */
int tree_fabric_is_beside(const struct tree_fabric *fabric, uint32_t vertex, uint32_t other);
/* "-" if it is not known. */
const char *tree_fabric_switch(const struct tree_fabric *fabric, uint32_t vertex);
/* Of the way between two places, the dearer direction; FABRIC_COST_NO_WAY: not known. */
uint16_t tree_fabric_cost(const struct tree_fabric *fabric, uint32_t from, uint32_t to);

/* Of all edges, and of those of each level: how many, how many in one switch, what they cost.  O(places). */
void tree_fabric_text(const struct tree_fabric *fabric, const struct tree *tree,
                      struct buffer *out);
json_t *tree_fabric_json(const struct tree_fabric *fabric, const struct tree *tree);

#endif
