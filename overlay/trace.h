/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording of one place's core: its configuration, then each event with its actions, so that
 * `banyan sim --replay` can run exactly the same steps again.  Pure: bytes in and out;
 * launch/daemon/tracer.c does the files.  The form (versioned by its first line; numbers as
 * base/wire.h):
 *
 *     "BANYAN-RECORD 5\n"
 *     u32 length, configuration
 *     u32 length, step: u8 1, event, u64 hash of the actions, u32 their number, string: in words
 *     ...
 *     u32 length, u8 0         the limit was reached: nothing more was recorded
 *
 * Recordings contain the daemons' messages, hence also programs' arguments and environment.
 */
#ifndef OVERLAY_TRACE_H
#define OVERLAY_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"
#include "overlay/overlay.h"

#define RECORD_MAGIC           "BANYAN-RECORD 5\n"
#define RECORD_ENTRY_BYTES_MAX (FRAME_PAYLOAD_BYTES_MAX + 1024 * 1024)
#define RECORD_TEXT_BYTES_MAX  4096u /* of the actions of a step */

/* A step as it was recorded; event borrows from the rest. */
struct trace_step {
    struct overlay_event event;
    struct frame frame;
    struct addresses own;
    struct ranges set;
    uint64_t actions_hash;
    uint32_t actions_count;
    char *actions_text;
};

/* The start of a recording, including its first line. */
void trace_encode_config(const struct endpoint_config *config, struct buffer *out);
/* 0 or -EBADMSG; ancestors must be freed.  merges are not recorded and stay unchanged. */
int trace_decode_config(struct wire_reader *reader, struct endpoint_config *ret_config,
                        struct endpoint_ancestor **ret_ancestors);
/* Appends an entry with its length. */
void trace_encode_step(const struct overlay_event *event, const struct overlay_actions *actions,
                       struct buffer *out);
void trace_encode_limit(struct buffer *out);
/* Decodes one entry without its length: 1 a step, 0 the limit, -EBADMSG. */
int trace_decode_step(const void *data, size_t bytes, struct trace_step *ret_step);
void trace_step_fini(struct trace_step *step);

/* Equal for equal actions, independent of memory layout. */
uint64_t trace_hash_actions(const struct overlay_actions *actions);
/* One line each, cut at RECORD_TEXT_BYTES_MAX. */
void trace_print_actions(const struct overlay_actions *actions, struct buffer *out);
void trace_print_event(const struct overlay_event *event, struct buffer *out);

#endif
