/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A page of `banyan top`: three lines about the instance, its jobs, and the nodes with the most to do.  Pure.
 */
#ifndef LAUNCH_CLI_VERB_TOP_REPORT_H
#define LAUNCH_CLI_VERB_TOP_REPORT_H

#include "base/buffer.h"
#include "launch/cli/verb/instance_report.h"
#include "launch/proto/load.h"

struct top_report {
    const struct instance_report *instance;
    const struct load *load;
    uint32_t lines;   /* that there is room for; 0: any number */
    uint32_t columns; /* likewise */
};

/* Appends lines that end with a newline.  O(jobs log jobs + rows). */
void top_report_text(const struct top_report *report, struct buffer *out);
void top_report_json(const struct top_report *report, struct buffer *out);

#endif
