/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines for the user that nodes report.  REPORT_LINE_NODE stands for the node's name until it is
 * printed, so that the same failure of many nodes has the same text.
 */
#ifndef LAUNCH_PROTO_REPORT_LINE_H
#define LAUNCH_PROTO_REPORT_LINE_H

#include <stdint.h>

#include "base/buffer.h"

#define REPORT_LINE_NODE "<node>"

/* Appends the line with the placeholder replaced by the node's name, the first of the `nodes` to
 * which it applies. */
void report_line_print(const char *line, const char *node_name, uint64_t nodes, struct buffer *out);

#endif
