/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define LOG_LINE_BYTES 2048 /* longer lines are cut */

static struct {
    log_sink_function *sink;
    void *context;
    enum log_level level;
} state;

void log_set_sink(log_sink_function *sink, void *context, enum log_level level)
{
    assert(level < LOG_LEVEL_COUNT);
    state.sink = sink;
    state.context = context;
    state.level = level;
}

bool log_enabled(enum log_level level)
{
    return state.sink != NULL && level <= state.level;
}

void log_write(enum log_level level, const char *format, ...)
{
    char line[LOG_LINE_BYTES];
    va_list arguments;
    int saved_errno = errno;

    if (!log_enabled(level))
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    for (char *next = line; *next != '\0'; next++) {
        unsigned char byte = (unsigned char)*next;
        if (byte < 0x20 || byte == 0x7f)
            *next = ' ';
    }
    state.sink(state.context, level, line);
    errno = saved_errno;
}
