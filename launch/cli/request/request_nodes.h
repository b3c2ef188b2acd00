/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the nodes of a run come from: what the options name; else the source that --source forces;
 * else the scheduler whose job we are in; else this machine.  If a scheduler's data cannot be read
 * that is an error, never a fallback to this machine.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_NODES_H
#define LAUNCH_CLI_REQUEST_REQUEST_NODES_H

#include <stdbool.h>

#include "alloc/allocation.h"
#include "alloc/source.h"
#include "base/error.h"
#include "launch/cli/request/request.h"
#include "launch/cli/request/request_settings.h"

/* What --source says for "none: this machine". */
#define SOURCE_LOCAL "local"

struct request_nodes {
    struct allocation allocation;
    /* The scheduler in whose job all nodes lie, so that its starter reaches them; else NULL. */
    const struct source *source;
    char job[64]; /* its id, as in struct source_result */
    bool slots_given;
    /* A request of the scheduler that is not honoured, for the user; "": none. */
    char notice[RUN_NOTICE_BYTES];
};

/* Cost: O(text). ret_nodes must be finished after success only. */
int request_nodes_find(const struct request_settings *settings, const struct request_ops *ops,
                       struct request_nodes *ret_nodes, struct error *error);
void request_nodes_fini(struct request_nodes *nodes);
/* "Slurm job 7", "OAR", or "" without a source. */
void request_nodes_title(const struct request_nodes *nodes, char *text, size_t text_bytes);

#endif
