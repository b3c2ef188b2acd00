/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes the stacks of processes of this machine by gdb, or eu-stack of elfutils where there is no gdb.  For a process by
 * itself, as it waits for these programs: four of them run at a time, each for at most 10 s, then it is killed, and a
 * process that it has left stopped goes on.  Of a shell that waits for one program, that program's stack is taken.
 */
#ifndef LAUNCH_EXEC_STACK_READ_H
#define LAUNCH_EXEC_STACK_READ_H

#include <stdint.h>

#include "base/buffer.h"

/* words: "INDEX:PID", the last is NULL.  Appends what stack_fold_put_local (launch/proto/stack_fold.h) makes of each, in
 * any order, within limit_ms and a moment. */
void stack_read(char *const *words, uint32_t limit_ms, struct buffer *out);

#endif
