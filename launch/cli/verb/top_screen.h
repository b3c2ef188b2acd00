/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A terminal that shows one page after another: its other screen, without cursor and echo.  Whatever ends or stops the
 * program by a signal gives the terminal back first; Ctrl-C is the usual end, with status 0.  There is one at a time.
 */
#ifndef LAUNCH_CLI_VERB_TOP_SCREEN_H
#define LAUNCH_CLI_VERB_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum top_screen_event { TOP_SCREEN_DUE, TOP_SCREEN_RESIZED, TOP_SCREEN_QUIT };

/* Whether standard output is a terminal that can do this. */
bool top_screen_is_possible(void);
void top_screen_open(void);
void top_screen_close(void);
/* 0: not known */
void top_screen_size(uint32_t *ret_lines, uint32_t *ret_columns);
/* Replaces the page; lines end with a newline. */
void top_screen_show(const struct buffer *page);
/* Until the time is over, the size changes, or q is typed. */
enum top_screen_event top_screen_wait(uint32_t milliseconds);

#endif
