/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The size of a terminal in characters, and the message that it has changed (CONTROL_WINDOW,
 * JOB_MESSAGE_WINDOW): of the terminal of a job's rank (job_spec.has_terminal).
 */
#ifndef LAUNCH_PROTO_WINDOW_H
#define LAUNCH_PROTO_WINDOW_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/message.h"
#include "base/wire.h"

struct window {
    uint16_t rows; /* 0: not known; as the next */
    uint16_t columns;
};

/* What follows the job in CONTROL_WINDOW. */
void window_encode(const struct window *window, struct buffer *out);
/* More may follow it: the reader's status says whether it could be read. */
void window_get(struct wire_reader *reader, struct window *ret_window);
struct message *window_message(uint32_t job, const struct window *window);
/* After the message's kind; -EBADMSG. */
int window_decode(uint32_t *ret_job, struct window *ret_window, struct wire_reader *reader);

#endif
