/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the nodes of a run come from: what the options name; else the source that --source forces;
 * else the scheduler whose job we are in; else this machine.  Never this machine because a
 * scheduler's words could not be read: that is an error.
 */
#ifndef LAUNCH_CLI_REQUEST_RUN_NODES_H
#define LAUNCH_CLI_REQUEST_RUN_NODES_H

#include <stdbool.h>

#include "alloc/allocation.h"
#include "alloc/source.h"
#include "base/error.h"
#include "launch/cli/request/run_options.h"
#include "launch/cli/request/run_settings.h"

/* What --source says for "none: this machine". */
#define SOURCE_LOCAL "local"

struct run_nodes {
    struct allocation allocation;
    /* The scheduler in whose job all nodes lie, so that its starter reaches them; else NULL. */
    const struct source *source;
    char job[64]; /* its id, as in struct source_result */
    bool slots_given;
    /* What the scheduler says and is not done, for the user to know; "": nothing. */
    char notice[RUN_NOTICE_BYTES];
};

/* Cost: O(text). ret_nodes is to be finished after success only. */
int run_nodes_find(const struct run_settings *settings, const struct run_world *world,
                   struct run_nodes *ret_nodes, struct error *error);
void run_nodes_fini(struct run_nodes *nodes);
/* "Slurm job 7", "OAR", or "" without a source. */
void run_nodes_title(const struct run_nodes *nodes, char *text, size_t text_bytes);

#endif
