/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of `banyan alloc`: the nodes, equal ones grouped, as a table or as JSON, and on
 * request where each count came from.  Pure.
 */
#ifndef LAUNCH_CLI_VERB_ALLOC_REPORT_H
#define LAUNCH_CLI_VERB_ALLOC_REPORT_H

#include "alloc/facts_table.h"
#include "base/buffer.h"
#include "launch/cli/request/request_nodes.h"

struct alloc_report {
    const struct request_nodes *nodes;
    const struct facts_table *facts;      /* what is known of them; may be empty */
    const char *unknown;                  /* why the scheduler reported no more; NULL: it did */
    const char *starter;                  /* which one a run would use */
    const struct allocation_trace *trace; /* NULL: the origin of counts is not requested */
    const char *cpus;                     /* what limits this process's cores; NULL: not relevant */
};

void alloc_report_table(const struct alloc_report *report, struct buffer *out);
void alloc_report_json(const struct alloc_report *report, struct buffer *out);

#endif
