/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of `banyan map`: as text, as JSON, and why something was refused.
 */
#ifndef LAUNCH_CLI_VERB_MAP_REPORT_H
#define LAUNCH_CLI_VERB_MAP_REPORT_H

#include "alloc/allocation.h"
#include "alloc/placement_local.h"
#include "alloc/placement_map.h"
#include "alloc/source.h"
#include "base/buffer.h"
#include "launch/cli/request/map_machines.h"
#include "launch/cli/request/request.h"

struct map_report {
    const struct allocation *allocation;
    const struct map_machines *machines;
    char notice[RUN_NOTICE_BYTES]; /* of struct request_nodes */
    const struct source *source;   /* where the nodes come from; NULL: no scheduler */
    struct placement placement;
    struct placement_map map; /* of all that */
};

/* Per node: its ranks, and a drawing of each one's binding if they are bound. */
void map_report_text(const struct map_report *report, int explain, struct buffer *out);
void map_report_json(const struct map_report *report, struct buffer *out);
/* Adds to an error which nodes --require has excluded. */
void map_report_left_out(const struct map_report *report, struct error *error);
/* Adds to an error what would work instead, the closest first. */
void map_report_refusal(struct map_report *report, struct error *error);

#endif
