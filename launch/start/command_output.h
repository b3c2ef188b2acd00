/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a command to its end and takes what it writes: for the front end, before there is a loop.
 * The command's stdin is /dev/null; it ends with us.
 */
#ifndef LAUNCH_START_COMMAND_OUTPUT_H
#define LAUNCH_START_COMMAND_OUTPUT_H

#include "base/buffer.h"
#include "base/error.h"

#define COMMAND_OUTPUT_BYTES_MAX (64u * 1024 * 1024)
#define COMMAND_OUTPUT_MS        30000 /* what a scheduler's command may take */

/* Appends its stdout.  argv[0] is searched in PATH.  Fails if the command cannot be run (-ENOENT if
 * it is not there), takes too long, writes too much, or ends with a status other than 0: the error
 * then has the last line that it wrote to stderr. */
int command_output(const char *const *argv, struct buffer *out, struct error *error);

#endif
