/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The drawing of `banyan map --svg`: each node that has processes, with its packages, cores and
 * hardware threads in the colours of the ranks that are bound to them, or, where none is bound, with
 * its slots.
 *
 * Cost: O(hardware threads x processes) per node.
 */
#ifndef LAUNCH_CLI_VERB_MAP_SVG_H
#define LAUNCH_CLI_VERB_MAP_SVG_H

#include "launch/cli/verb/map_report.h"

#define MAP_SVG_NODES_MAX 512u /* more than that nobody looks at */

/* -E2BIG with an error if more nodes than that have processes. */
int map_svg_print(const struct map_report *report, struct buffer *out, struct error *error);

#endif
