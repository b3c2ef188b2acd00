/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output of the local ranks of one job, from their pipes towards the root.  Whole lines are kept
 * whole: an unfinished last line waits for its end, for OUTPUT_TAIL_MS or for OUTPUT_TAIL_BYTES.  A
 * longer line is sent in pieces, and meanwhile no other rank of the node is read on the same
 * stream: their bytes would use up the window while the front end holds them back until the line
 * ends, and the line could not continue.  Its rank gives way after OUTPUT_TAIL_MS without a byte,
 * or when others have waited for OUTPUT_LINE_MS.  At most a window of bytes is under way; the rest
 * stays in the pipes and slows the ranks, so memory is bounded by the window and the tails: O(local
 * ranks).
 */
#ifndef LAUNCH_RANK_OUTPUT_H
#define LAUNCH_RANK_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fabric/loop.h"

struct output;

#define OUTPUT_WINDOW_BYTES_MIN (4u * 1024)
#define OUTPUT_TAIL_BYTES       (16u * 1024)
#define OUTPUT_TAIL_MS          100
#define OUTPUT_LINE_MS          1000

struct output_events {
    /* stream is 1 or 2; time_ns: when the last of the bytes was read, since 1970, UTC. */
    void (*data)(void *context, uint32_t index, uint8_t stream, uint64_t time_ns, const void *data,
                 size_t bytes);
    /* The stream has ended inside a line that was partly forwarded: the line will not be completed.
     * May be NULL. */
    void (*line_ended)(void *context, uint32_t index, uint8_t stream);
    /* All streams have ended and everything has been forwarded, total_bytes in total.  Called
     * once. */
    void (*drained)(void *context, uint64_t total_bytes);
};

/* The window of one of that many nodes: a share of CONTROL_OUTPUT_WINDOW, within limits.  So the
 * root and the front end hold at most 2.5 MiB up to 640 nodes, 4 KiB per node beyond. */
uint32_t output_window_bytes(uint32_t nodes);

struct output *output_create(struct loop *loop, uint32_t ranks, uint32_t window_bytes,
                             const struct output_events *events, void *context);
/* Makes the pipe of a rank's stream; the write end goes to the process and is the caller's to
 * close.  -errno if the system has no more.  Again for a rank that is started again: then it may be another write
 * end of the same pipe. */
int output_pipe(struct output *output, uint32_t index, uint8_t stream, int *ret_write_fd);
/* The rank's stream 1 is its terminal, and it has no other.  What it writes is sent at once: the echo of a key is no
 * line.  Owns fd, which must not block. */
void output_terminal(struct output *output, uint32_t index, int fd);
/* bytes have been consumed at the far end. */
void output_credit(struct output *output, uint32_t bytes);
/* A relay was lost, and with it perhaps data under way, or the credit for it.  Starts with a full
 * window again, so each loss adds up to a window to what may be under way. */
void output_credit_renew(struct output *output);
/* No process of the job is left: the content of the pipes is forwarded, and streams that do not end
 * (held by an escaped process) are closed after milliseconds.  discard: also drop what has no
 * credit by then. */
void output_cut(struct output *output, uint32_t milliseconds, int discard);
void output_destroy(struct output *output);

#endif
