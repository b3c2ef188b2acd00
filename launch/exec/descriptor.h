/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmix waits for its clients with select(), which cannot name a descriptor above 1023. So what a
 * daemon opens for each rank stays out of the low numbers once there are many.
 */
#ifndef LAUNCH_EXEC_DESCRIPTOR_H
#define LAUNCH_EXEC_DESCRIPTOR_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Moves a descriptor that is not among the first 256 above 1023, if the limit allows; close-on-exec.
 * Returns its number then or now; -1 stays -1. */
int descriptor_move_high(int fd);
/* The same for what is open as long as a rank runs: -EMFILE, and fd is closed, where that would take
 * one of the last descriptors, which the daemon's links need. */
int descriptor_of_rank(int fd);
/* -EMFILE, with a line that says what is needed, if front end, root or daemon could not even begin. */
int descriptor_require(struct error *error);

/* Writes all, on a descriptor that it makes blocking; -errno. */
int descriptor_write_all(int fd, const struct buffer *data);

#define DESCRIPTOR_ROOM_MAX 8
/* -EMFILE if there is no room for that many more of ranks. */
int descriptor_check_room(uint32_t count);

#endif
