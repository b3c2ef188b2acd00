/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines of a text file that an option names.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_LINES_H
#define LAUNCH_CLI_REQUEST_REQUEST_LINES_H

#include "base/buffer.h"
#include "base/error.h"

/* line: without its end; the callee may change it.  number: from 1. */
typedef int request_lines_take(const char *path, unsigned int number, char *line, void *context,
                               struct error *error);

/* Each in its turn, until one is refused.  -EINVAL with an error if the text contains a NUL. */
int request_lines_read(const char *path, const struct buffer *text, request_lines_take *take,
                       void *context, struct error *error);

#endif
