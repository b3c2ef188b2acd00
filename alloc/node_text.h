/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A text that may differ from node to node: "/local;q[512-519]=/nvme;west/=/scratch" has entries VALUE, for
 * all nodes, and NODES=VALUE; the last one that holds for a node counts.  NODES is a hostlist, or "CELL/" for
 * all nodes of a cell.  Values begin with '/', which no list of nodes does.  So a daemon finds its own value
 * by its name, and what it keeps is the text, whatever the number of nodes.
 */
#ifndef ALLOC_NODE_TEXT_H
#define ALLOC_NODE_TEXT_H

#include "base/error.h"

/* -EINVAL if it cannot be one. */
int node_text_check(const char *text, struct error *error);
/* The value of the node of that name, for the caller to free(); name "": that of all nodes.  NULL: it has
 * none, or text is NULL. O(text). */
char *node_text_of(const char *text, const char *name);

#endif
