/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes what ranks say to the user's stdout and stderr: in order per rank and stream, every byte
 * once, and no line inside another one.  A rank that has left a line unfinished keeps the output
 * for LINE_WAIT_MS or WHOLE_LINE_WAIT_MS; what others say meanwhile is held back and follows when
 * the line ends or the wait is over.  Nothing is added to the output but labels, where they are asked
 * for: in front of each line, and again where a rank goes on with a line that others have come
 * between; and between a rank's last line, if it ended without a newline, and the next label one.
 *
 * Never blocks the loop, whatever reads: a terminal or pipe that allows it is opened once more for
 * non-blocking use (the mode of the user's own description is not touched, others share it), what
 * cannot be opened is asked before each small write, and files are written as they are.
 *
 * Memory: what was put and not yet told as written; the caller bounds it by credit.
 */
#ifndef LAUNCH_CLI_CLIENT_OUTPUT_WRITER_H
#define LAUNCH_CLI_CLIENT_OUTPUT_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fabric/loop.h"

/* Somebody at a terminal waits for a prompt; a file or a pipe rather wants whole lines, also of a
 * rank that gets no processor for a while. */
#define LINE_WAIT_MS       100  /* of a terminal */
#define WHOLE_LINE_WAIT_MS 1000 /* of anything else */

struct output_writer;

struct output_writer_events {
    /* So many of the put bytes have been written (0: only words of our own) or dropped. */
    void (*written)(void *context, size_t bytes);
    /* stdout or stderr cannot be written any more; what follows for it is dropped and told as
     * written.  Told once for each. */
    void (*failed)(void *context, const struct error *error);
};

/* The descriptors stay the caller's.  Both streams share one queue if they are one thing, so that
 * they keep the order in which they came. */
struct output_writer *output_writer_create(struct loop *loop, int stdout_fd, int stderr_fd,
                                           int label, const struct output_writer_events *events,
                                           void *context);
void output_writer_destroy(struct output_writer *writer);
/* stream: 1 or 2.  No bytes: the rank's stream has ended, an unfinished line does not go on. */
void output_writer_put(struct output_writer *writer, uint32_t rank, uint8_t stream,
                       const void *data, size_t data_bytes);
/* "banyan: text" as a line of its own on stderr, behind what was put before. */
void output_writer_message(struct output_writer *writer, const char *text);
/* No rank will finish a line any more: what is held back follows at once. */
void output_writer_release(struct output_writer *writer);
/* Drops what is queued and all that ranks say from now on; messages are still written. */
void output_writer_discard(struct output_writer *writer);
/* Bytes that have not been written, labels and our own words included. */
size_t output_writer_queued(const struct output_writer *writer);

#endif
