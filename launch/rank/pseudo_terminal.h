/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The terminal of a rank: what it writes is read at our end, what we write is typed there.  No process has it
 * as its controlling terminal until the leader of a session takes it.
 */
#ifndef LAUNCH_RANK_PSEUDO_TERMINAL_H
#define LAUNCH_RANK_PSEUDO_TERMINAL_H

#include "launch/proto/window.h"

/* Both are the caller's, and closed on exec; ours does not block.  -errno. */
int pseudo_terminal_open(const struct window *window, int *ret_fd, int *ret_process_fd);
/* Its processes in the foreground get SIGWINCH. */
void pseudo_terminal_resize(int fd, const struct window *window);

#endif
