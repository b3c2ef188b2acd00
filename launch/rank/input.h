/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard input of one rank: bytes that come down the tree go into its pipe without ever blocking
 * the loop.  The sender keeps at most a window under way, so the queue is bounded by it.
 */
#ifndef LAUNCH_RANK_INPUT_H
#define LAUNCH_RANK_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/loop.h"

struct input;

/* bytes were written (or discarded because the reader has closed): credit for the sender. */
typedef void input_taken_function(void *context, uint32_t bytes);

/* Owns write_fd. */
struct input *input_create(struct loop *loop, int write_fd, input_taken_function *taken,
                           void *context);
/* bytes 0: end of file, after what is queued. */
void input_write(struct input *input, const void *data, size_t bytes);
void input_destroy(struct input *input);

#endif
