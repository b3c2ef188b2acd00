/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of `banyan node`: nodes of an instance, equal ones folded, as a table or as JSON, and the line about
 * drained nodes that jobs still use.  Pure.
 */
#ifndef LAUNCH_CLI_VERB_NODE_REPORT_H
#define LAUNCH_CLI_VERB_NODE_REPORT_H

#include "base/buffer.h"
#include "launch/proto/node_list.h"

struct node_report_sum {
    uint32_t nodes[NODE_LIST_STATE_COUNT]; /* by state */
    uint64_t slots;
    uint64_t used; /* slots, by jobs */
};

/* O(groups x different nodes). */
void node_report_table(const struct node_list *list, struct buffer *out);
void node_report_json(const struct node_list *list, struct buffer *out);
/* Which nodes still have processes, of which jobs; nothing if there are none. */
void node_report_draining(const struct node_list *list, struct buffer *out);
void node_report_sum(const struct node_list *list, struct node_report_sum *ret_sum);

#endif
