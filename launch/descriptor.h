/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmix waits for its clients with select(), which cannot name a descriptor above 1023. So what a
 * daemon opens for each rank stays out of the low numbers once there are many.
 */
#ifndef LAUNCH_DESCRIPTOR_H
#define LAUNCH_DESCRIPTOR_H

/* Moves a descriptor that is not among the first 256 above 1023, if the limit allows; close-on-exec.
 * Returns its number then or now; -1 stays -1. */
int descriptor_move_high(int fd);

#endif
