/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/error.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void test_set(void)
{
    struct error error = ERROR_NONE;
    char long_text[2 * ERROR_TEXT_BYTES];

    is_int(error.code, 0, "no error at first");
    is_int(error_set(&error, -EINVAL, "bad %s %d", "radix", 1), -EINVAL, "the code comes back");
    is_string(error.text, "bad radix 1", "the text is formatted");
    is_int(error.code, -EINVAL, "the code is kept");
    is_int(error_set(NULL, -EIO, "nobody listens"), -EIO, "NULL takes an error too");
    error_set(&error, -EIO, "two\nlines\tand\x7f \x01");
    is_string(error.text, "two lines and   ", "control characters become blanks");
    error_set(&error, -EIO, "n\xc3\xa9");
    is_string(error.text, "n\xc3\xa9", "other bytes stay");
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    error_set(&error, -EIO, "%s", long_text);
    is_uint(strlen(error.text), ERROR_TEXT_BYTES - 1, "a long text is cut");
    error_prefix(&error, "front");
    ok(strlen(error.text) == ERROR_TEXT_BYTES - 1 && strncmp(error.text, "front: xxx", 10) == 0,
       "a prefix of a long text pushes its end out");
}

static void test_prefix(void)
{
    struct error error = ERROR_NONE;

    error_set(&error, -ENOENT, "no such file");
    error_prefix(&error, "cannot read %s", "hosts");
    is_string(error.text, "cannot read hosts: no such file", "a prefix stands in front");
    is_int(error.code, -ENOENT, "a prefix keeps the code");
    error_prefix(&error, "again %s", error.text);
    is_string(error.text, "again cannot read hosts: no such file: cannot read hosts: no such file",
              "an argument may lie in the text itself");
    error_prefix(NULL, "nobody");
}

/* The last line that the log wrote, and how many. */
struct sink {
    char line[4096];
    enum log_level level;
    int lines;
};

static void sink_write(void *context, enum log_level level, const char *line)
{
    struct sink *sink = context;

    snprintf(sink->line, sizeof(sink->line), "%s", line);
    sink->level = level;
    sink->lines++;
    errno = EIO;
}

static void test_log(void)
{
    struct sink sink = {.lines = 0};

    log_error("nobody listens");
    ok(!log_enabled(LOG_LEVEL_ERROR), "without a sink no level is enabled");
    log_set_sink(sink_write, &sink, LOG_LEVEL_INFO);
    ok(log_enabled(LOG_LEVEL_INFO) && !log_enabled(LOG_LEVEL_DEBUG), "levels up to the one set");
    log_debug("too fine");
    is_int(sink.lines, 0, "a finer level is dropped");
    errno = ENOENT;
    log_warning("place %d\nis lost", 7);
    is_int(errno, ENOENT, "errno survives a log line");
    is_string(sink.line, "place 7 is lost", "a line is one line");
    is_int(sink.level, LOG_LEVEL_WARNING, "its level is told");
    log_info("%4000d", 1);
    ok(sink.lines == 2 && strlen(sink.line) < 4000, "a long line is cut");
    log_set_sink(NULL, NULL, LOG_LEVEL_DEBUG);
    log_error("nobody listens again");
    is_int(sink.lines, 2, "a sink taken away gets nothing");
}

int main(void)
{
    test_set();
    test_prefix();
    test_log();
    return done_testing();
}
