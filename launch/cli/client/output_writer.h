/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the ranks' output to the user's stdout and stderr: in order per rank and stream, every
 * byte once, and no line inside another one.  A rank that has left a line unfinished keeps the
 * output for LINE_WAIT_MS or WHOLE_LINE_WAIT_MS; output of others is held back meanwhile and
 * follows when the line ends or the wait is over.  Nothing is added but labels, if requested:
 * before each line, and again where a rank continues a line that others have interrupted; and a
 * newline between a rank's last line, if it ended without one, and the next label.
 *
 * Never blocks the loop, whatever reads: a terminal or pipe that allows it is reopened for
 * non-blocking use (the mode of the user's description is not changed, since others share it),
 * other pipes are polled before each small write, and files are written directly.
 *
 * Files of --output and --error are found by the pattern and written in the same way; a file of one
 * rank holds nothing back.
 *
 * Memory: bytes put and not yet reported as written; the caller bounds it by credit; and a few
 * hundred bytes for each file.
 */
#ifndef LAUNCH_CLI_CLIENT_OUTPUT_WRITER_H
#define LAUNCH_CLI_CLIENT_OUTPUT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/allocation.h"
#include "base/error.h"
#include "fabric/loop.h"
#include "launch/cli/client/output_label.h"
#include "launch/cli/request/request_output.h"
#include "launch/proto/unwritten.h"

/* A user at a terminal waits for a prompt; for a file or a pipe whole lines matter more, even of a
 * rank that is not scheduled for a while. */
#define LINE_WAIT_MS       100  /* of a terminal */
#define WHOLE_LINE_WAIT_MS 1000 /* of anything else */

struct output_writer;

/* What a rank has written.  No bytes: its stream has ended, and with it an unfinished line. */
struct output_piece {
    uint32_t job;    /* of a spawned one, or 0 */
    uint32_t number; /* of its job, also of the first */
    uint32_t rank;
    uint32_t place;   /* of its node */
    uint8_t stream;   /* 1 or 2 */
    uint64_t time_ns; /* since 1970, UTC */
    const void *data;
    size_t data_bytes;
};

/* Where output goes, if not all of it goes to the user's descriptors.  The caller's. */
struct output_route {
    const struct request_output *output;
    const struct allocation *nodes; /* the node of a place */
};

struct output_writer_events {
    /* These of the put bytes have been written or dropped; not in which order they were put. */
    void (*written)(void *context, const struct unwritten_part *part);
    /* All that could be written has been: after the reports of it, or nothing but our own messages. */
    void (*moved)(void *context);
    /* stdout or stderr can no longer be written; further output to it is dropped and reported as
     * written.  Called once for each. */
    void (*failed)(void *context, const struct error *error);
};

/* The descriptors stay the caller's.  Both streams share one queue if they are the same file, pipe
 * or terminal, which keeps their order. */
struct output_writer *output_writer_create(struct loop *loop, int stdout_fd, int stderr_fd,
                                           const struct output_label_style *style,
                                           const struct output_writer_events *events,
                                           void *context);
/* Once, before anything is put. */
void output_writer_route(struct output_writer *writer, const struct output_route *route);
/* After the last write: -errno and an error that names the file if output may not be in it. */
int output_writer_close_files(struct output_writer *writer, struct error *error);
void output_writer_destroy(struct output_writer *writer);
/* The data is copied. */
void output_writer_put(struct output_writer *writer, const struct output_piece *output);
/* "banyan: text" as a separate line on stderr, after what was put before. */
void output_writer_message(struct output_writer *writer, const char *text);
/* Shows a line on stderr, a terminal, that is cleared before anything else is written there, or by NULL; it replaces
 * the one before.  No effect while other output is being written, or a line of a rank is unfinished.  It must
 * be shorter than the terminal is wide. */
void output_writer_status(struct output_writer *writer, const char *text);
/* No rank will finish its line: output held back is written at once. */
void output_writer_release(struct output_writer *writer);
/* Drops the queue and all further output of ranks; messages are still written. */
void output_writer_discard(struct output_writer *writer);
/* Bytes that have not been written, including labels and our own messages. */
size_t output_writer_queued(const struct output_writer *writer);

#endif
