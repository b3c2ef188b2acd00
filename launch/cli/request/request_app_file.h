/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of applications (--app-file): one per line, options and program as on the command line.  Words
 * are separated by blanks; '...' keeps what it holds, "..." all but \" and \\, and a backslash the next
 * character.  Nothing is expanded.  Blank lines and those that begin with # are skipped.
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_APP_FILE_H
#define LAUNCH_CLI_REQUEST_REQUEST_APP_FILE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

struct request_app_line {
    unsigned int number; /* from 1 */
    char **words; /* words[0] stands for what precedes the options, as in argv; NULL at the end */
    int count;
};

/* Owns its strings; all zero is empty. */
struct request_app_file {
    struct request_app_line *lines;
    uint32_t count;
};

/* path is for messages only.  The caller frees ret_file, which must be empty, in any case. */
int request_app_file_parse(const char *path, const struct buffer *text,
                           struct request_app_file *ret_file, struct error *error);
void request_app_file_fini(struct request_app_file *file);

#endif
