/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree of an instance for its reader: as text, as JSON, for dot(1), and as a drawing.  Each node
 * with others below it has a row; those without that have the same parent share one.
 *
 * Cost: O(nodes).
 */
#ifndef LAUNCH_CLI_VERB_TREE_REPORT_H
#define LAUNCH_CLI_VERB_TREE_REPORT_H

#include "alloc/hostlist.h"
#include "base/buffer.h"
#include "overlay/tree.h"

struct tree_row {
    uint32_t parent;      /* its row; of the first, the root's: UINT32_MAX */
    uint32_t level;       /* 0: the root */
    struct ranges places; /* one, or those without others below them */
    uint64_t below;       /* how many nodes are below it; 0: a row of such places */
    int is_last;          /* of the rows with its parent */
};

struct tree_report {
    const struct tree *tree;
    const struct hostlist *names; /* of places 1 and on */
    struct tree_row *rows;        /* a parent comes before its children, these one after another */
    uint32_t rows_count;
};

/* levels: how many are listed, 0: all; what is below them is only counted.  Names and tree must outlive the report. */
void tree_report_make(struct tree_report *ret_report, const struct tree *tree,
                      const struct hostlist *names, uint32_t levels);
void tree_report_fini(struct tree_report *report);

void tree_report_text(const struct tree_report *report, struct buffer *out);
void tree_report_json(const struct tree_report *report, struct buffer *out);
void tree_report_dot(const struct tree_report *report, struct buffer *out);
void tree_report_svg(const struct tree_report *report, struct buffer *out);

#endif
