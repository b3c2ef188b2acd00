/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions of a stack out of what gdb ("bt") or eu-stack has printed of one thread.  Pure.
 */
#ifndef LAUNCH_EXEC_STACK_PARSE_H
#define LAUNCH_EXEC_STACK_PARSE_H

#include <stddef.h>

#define STACK_PARSE_SHOWN_MAX \
    12 /* functions; of more the first and the last ones, with "..." between */
#define STACK_PARSE_NAME_BYTES 72 /* longer names are cut */

/* "main > solve > poll", the outermost first: without what is outside main, and repeated functions once.  A function
 * without a name is "??".  Returns how many functions it is of; 0 (and "") if the output has no frame; -EPERM if it says
 * that the process must not be traced.  out_bytes: at least 1024. */
int stack_parse(const char *output, char *out, size_t out_bytes);
/* What such a program has complained of: its first line that is not empty, or "". */
void stack_parse_complaint(const char *output, char *out, size_t out_bytes);

#endif
