/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of an instance for its reader: as text, as JSON, for dot(1), and as a drawing.  Each node
 * with others below it has a row; those without that have the same parent, and the same switch, share one.
 * Where the fabric is known the switch of each node is shown, and what each edge costs.
 *
 * Cost: O(nodes).
 */
#ifndef LAUNCH_CLI_VERB_TREE_REPORT_H
#define LAUNCH_CLI_VERB_TREE_REPORT_H

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "launch/cli/verb/tree_fabric.h"
#include "overlay/tree.h"

struct tree_row {
    uint32_t parent;      /* its row; of the first, the root's: UINT32_MAX */
    uint32_t level;       /* 0: the root */
    struct ranges places; /* one, or those without others below them */
    uint64_t below;       /* how many nodes are below it; 0: a row of such places */
    int is_last;          /* of the rows with its parent */
    uint32_t vertex; /* of a place in the fabric, all in the same switch; FABRIC_NONE: not known */
    uint16_t cost;   /* of the edges from the parent; FABRIC_COST_NO_WAY: not known */
};

struct tree_report {
    const struct tree *tree;
    const struct hostlist *names;     /* of places 1 and on */
    const struct tree_fabric *fabric; /* NULL: none is known */
    struct tree_row *rows; /* a parent comes before its children, these one after another */
    uint32_t rows_count;
};

/* levels: how many are listed, 0: all; what is below them is only counted.  Names, tree and fabric must outlive the
 * report. */
void tree_report_make(struct tree_report *ret_report, const struct tree *tree,
                      const struct hostlist *names, const struct tree_fabric *fabric,
                      uint32_t levels);
void tree_report_fini(struct tree_report *report);

void tree_report_text(const struct tree_report *report, struct buffer *out);
void tree_report_json(const struct tree_report *report, struct buffer *out);
void tree_report_dot(const struct tree_report *report, struct buffer *out);
void tree_report_svg(const struct tree_report *report, struct buffer *out);

#endif
