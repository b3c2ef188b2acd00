/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of what a starter wrote on standard error, at most 1 KiB, and the one line made of it for
 * people.  The node's name in it becomes REPORT_LINE_NODE, so that the same failure of many nodes
 * is the same text, until it is printed.
 */
#ifndef LAUNCH_START_STDERR_TAIL_H
#define LAUNCH_START_STDERR_TAIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define STDERR_TAIL_BYTES_MAX 1024

void stderr_tail_add(struct buffer *words, const void *data, size_t bytes);
/* program ended before its time, with this wait status. */
void stderr_tail_of_end(struct buffer *words, const char *program, const char *node_name,
                        int wait_status, struct error *ret_why);
/* program has not led to a running daemon within that many seconds. */
void stderr_tail_of_timeout(struct buffer *words, const char *program, const char *node_name,
                            unsigned int seconds, struct error *ret_why);
/* The user has to do something about it first, which the line then says. */
int stderr_tail_has_hint(struct buffer *words);

#endif
