/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shows equal lines of several ranks once.  A line waits for OUTPUT_FOLD_WAIT_MS, and ranks whose
 * next line is the same join it; lines leave in the order in which the first rank of each has
 * printed them.  Invariant: a rank joins only lines after its last one, so the lines of a rank
 * stay in order and none is lost or shown twice for it.
 *
 * Only whole lines leave.  An unfinished one waits for its end, for OUTPUT_FOLD_WAIT_MS or
 * OUTPUT_FOLD_LINE_BYTES, and is then a line.
 *
 * Memory: OUTPUT_FOLD_BYTES_MAX of lines and what was put last, at most OUTPUT_FOLD_LINES_MAX of
 * them (the first then leave early), and a few words for each stream of each rank, since only the
 * last line of each decides which of the waiting ones it may join.
 */
#ifndef LAUNCH_CLI_CLIENT_OUTPUT_FOLD_H
#define LAUNCH_CLI_CLIENT_OUTPUT_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/ranges.h"
#include "fabric/loop.h"

#define OUTPUT_FOLD_WAIT_MS    300
#define OUTPUT_FOLD_LINE_BYTES (64u * 1024)
#define OUTPUT_FOLD_BYTES_MAX  (1024u * 1024)
#define OUTPUT_FOLD_LINES_MAX  512u

struct output_fold;

/* The stream of a rank. */
struct output_fold_source {
    uint32_t job;
    uint32_t rank;
    uint8_t stream;
};

/* A line without its newline, of these ranks of source's job; time_ns: when its end was read, of
 * the first of them. */
typedef void output_fold_function(void *context, const struct output_fold_source *source,
                                  const struct ranges *ranks, uint64_t time_ns, const char *line,
                                  size_t line_bytes);

struct output_fold *output_fold_create(struct loop *loop, output_fold_function *line,
                                       void *context);
void output_fold_destroy(struct output_fold *fold);
/* No bytes: the stream has ended, and with it an unfinished line. */
void output_fold_put(struct output_fold *fold, const struct output_fold_source *source,
                     uint64_t time_ns, const char *data, size_t data_bytes);
/* All lines leave, also unfinished ones. */
void output_fold_release(struct output_fold *fold);
/* All lines are dropped. */
void output_fold_drop(struct output_fold *fold);
/* Of the lines that wait, also of unfinished ones. */
size_t output_fold_bytes(const struct output_fold *fold);

#endif
