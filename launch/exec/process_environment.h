/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment that a process was started with, as /proc shows it: strings, each with its NUL.
 * By it a process is known as one of a session after its helper is dead.
 */
#ifndef LAUNCH_EXEC_PROCESS_ENVIRONMENT_H
#define LAUNCH_EXEC_PROCESS_ENVIRONMENT_H

#include <sys/types.h>

#include "base/buffer.h"

/* Replaces what the buffer holds; it is empty if the process has ended or is another user's. */
void process_environment_read(pid_t pid, struct buffer *environment);
/* What follows prefix (NAME=) in the first string that begins with it; NULL if none does. */
const char *process_environment_find(struct buffer *environment, const char *prefix);
/* Whether it has that very string (NAME=VALUE). */
int process_environment_has(struct buffer *environment, const char *setting);

#endif
