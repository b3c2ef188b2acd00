/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user's terminal while a rank's terminal stands in for it: every key goes to the rank, which echoes,
 * edits and interrupts.  There is one per process: what saves its mode must be found by a signal's handler.
 *
 * Invariant: its mode is restored when this process leaves it, ends, or is ended by a signal that can be caught.
 */
#ifndef LAUNCH_CLI_CLIENT_RAW_TERMINAL_H
#define LAUNCH_CLI_CLIENT_RAW_TERMINAL_H

#include <stdbool.h>

#include "launch/proto/window.h"

/* Of standard input; nothing happens unless that is a terminal in whose foreground this process is. */
void raw_terminal_enter(void);
/* May be repeated. */
void raw_terminal_leave(void);
bool raw_terminal_is_entered(void);
/* 0, or -errno if standard input is no terminal. */
int raw_terminal_size(struct window *ret_window);

#endif
