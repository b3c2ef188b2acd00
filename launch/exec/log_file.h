/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The log of a daemon in a file (--log), for its user only.  Each line is written at once, with the time (UTC), so that
 * the file says what a daemon did last that has died.  A slow disk slows the daemon, so logs are written only on
 * request.  A file ends at LOG_FILE_BYTES_MAX, or where a write fails.
 */
#ifndef LAUNCH_EXEC_LOG_FILE_H
#define LAUNCH_EXEC_LOG_FILE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"

#define LOG_FILE_BYTES_MAX (64u * 1024 * 1024)

struct log_file;

/* DIRECTORY/banyan-SESSION-NAME.log; the caller frees it. */
char *log_file_path(const char *directory, const char *session, const char *name);
/* Creates it.  NULL, and an error that names it, if it cannot be written, or exists. */
struct log_file *log_file_open(const char *path, struct error *error);
void log_file_close(struct log_file *log); /* NULL is fine */
/* time_ns: since 1970.  A log that cannot be written ends without a word: who would read it? */
void log_file_write(struct log_file *log, uint64_t time_ns, enum log_level level, const char *line);
/* Appends the last lines, at most that many, each with its newline; or a negative errno.  Reads 8 KiB. */
int log_file_tail(const char *path, uint32_t lines_max, struct buffer *out);

#endif
