/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log lines.  The sink is a function that the program sets (stderr, the link to the root, a test's
 * memory); base does no I/O itself.  Secrets are never logged.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_COUNT
};

/* line has no newline at its end and is valid during the call only. */
typedef void log_sink_function(void *context, enum log_level level, const char *line);

/* Sets where lines of at most `level` go; sink NULL drops everything (the default). */
void log_set_sink(log_sink_function *sink, void *context, enum log_level level);

/* 1 if a line of this level would be written: guards costly arguments. */
bool log_enabled(enum log_level level);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
