/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines for people that nodes report. The node's name in one is REPORT_LINE_NODE until it is printed,
 * so that the same failure of many nodes is the same text.
 */
#ifndef LAUNCH_PROTO_REPORT_LINE_H
#define LAUNCH_PROTO_REPORT_LINE_H

#include <stdint.h>

#include "base/buffer.h"

#define REPORT_LINE_NODE "<node>"

/* Appends the line for people: with the name of the node, which is the first of `nodes` to which it
 * applies, where that stood. */
void report_line_print(const char *line, const char *node_name, uint64_t nodes, struct buffer *out);

#endif
