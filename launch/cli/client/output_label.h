/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What precedes a line of output on request: when it was written, and by which rank:
 * "2026-11-26T11:30:51.042Z [3] ".
 */
#ifndef LAUNCH_CLI_CLIENT_OUTPUT_LABEL_H
#define LAUNCH_CLI_CLIENT_OUTPUT_LABEL_H

#include <stdint.h>

#include "base/buffer.h"
#include "launch/proto/control.h"

enum output_label_times {
    OUTPUT_LABEL_NO_TIME,
    OUTPUT_LABEL_MILLISECONDS,
    OUTPUT_LABEL_NANOSECONDS,
    OUTPUT_LABEL_TIMES_COUNT
};

struct output_label_style {
    enum output_label_times times;
    int ranks;
};

/* Who wrote last to a descriptor that gets labels, and whether its line is unfinished. */
struct output_label_line {
    uint32_t job;
    uint32_t rank;
    uint8_t stream;
    int is_open;
    int ended; /* with its stream: the line will not be completed */
};

/* How often --timestamp was given. */
enum output_label_times output_label_times_of(int count);
/* The label of a line, nothing if the style is zero.  job: 0 for the first job, whose ranks are
 * labelled by their numbers alone.  time_ns: since 1970, UTC. */
void output_label_append(const struct output_label_style *style, uint32_t job, uint32_t rank,
                         uint64_t time_ns, struct buffer *out);
/* Appends what a rank has written with a label before each line, and before the rest of a line that
 * others have interrupted.  No bytes: its stream has ended inside a line. */
void output_label_append_lines(const struct output_label_style *style,
                               struct output_label_line *line, uint32_t job,
                               const struct control_output *output, struct buffer *out);

#endif
