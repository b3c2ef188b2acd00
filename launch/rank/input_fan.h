/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same input for all local ranks of a job: bytes that come down the tree are kept once, and go into
 * each rank's pipe without ever blocking the loop.  They are taken when every rank has got them; one that has
 * closed its end, has ended or was never started takes everything.
 *
 * The sender keeps at most a window under way, so what is kept is bounded by it, whatever the ranks do.
 * Cost: O(1) for each write to a pipe, and O(ranks) when the slowest of them have gone on.
 */
#ifndef LAUNCH_RANK_INPUT_FAN_H
#define LAUNCH_RANK_INPUT_FAN_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/loop.h"
#include "launch/rank/input.h"

struct input_fan;

struct input_fan *input_fan_create(struct loop *loop, uint32_t readers, input_taken_function *taken,
                                   void *context);
void input_fan_destroy(struct input_fan *fan); /* NULL is fine */
/* The pipe of a rank, before its start, once: *ret_fd is the process's end, the caller's.  -errno: it
 * takes everything, as one that has ended. */
int input_fan_open(struct input_fan *fan, uint32_t index, int *ret_fd);
/* The rank has ended, or does not start; may be repeated. */
void input_fan_close(struct input_fan *fan, uint32_t index);
/* bytes 0: end of file, after what is queued. */
void input_fan_write(struct input_fan *fan, const void *data, size_t bytes);

#endif
