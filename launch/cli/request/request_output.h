/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the output of ranks goes: --output, --error, --merge, --output-from, --fold.  A pattern is a path
 * in which %r is the rank, %j the job's number, %h the name of the node and %t the stream, out or
 * err; %4r and %4j pad with zeros to that width, and %% is a percent sign.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_OUTPUT_H
#define LAUNCH_CLI_REQUEST_REQUEST_OUTPUT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/ranges.h"
#include "launch/cli/request/request_settings.h"

#define REQUEST_OUTPUT_WIDTH_MAX 20u

struct request_output {
    char *patterns[2];  /* of the files for stdout and stderr; NULL: the user's own */
    int is_merged;      /* stderr goes where stdout goes */
    int is_folded;      /* equal lines of ranks are shown once; there are no files */
    struct ranges from; /* only what these ranks write is shown; none: all */
};

/* What a pattern may ask for. */
struct request_output_names {
    uint32_t job;
    uint32_t rank;
    uint8_t stream; /* 1 or 2 */
    const char *node;
};

/* -EINVAL if a pattern or the ranks cannot be read, or the options contradict each other. */
int request_output_make(const struct request_settings *settings, struct request_output *ret_output,
                        struct error *error);
void request_output_fini(struct request_output *output);
/* Appends the path; the pattern has been accepted by request_output_make. */
void request_output_path(const char *pattern, const struct request_output_names *names,
                         struct buffer *out);

#endif
