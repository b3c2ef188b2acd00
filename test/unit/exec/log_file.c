/* SPDX-License-Identifier: BSD-3-Clause */
/* The log of a daemon in a file: launch/exec/log_file.c; launch/daemon/daemon_log.c connects it to the daemon, test/system/run_log.sh. */
#include "config.h"

#include "launch/exec/log_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "test/support/tap.h"

static void is_tail(const char *path, uint32_t lines, const char *expected, const char *name)
{
    struct buffer text = {0};

    is_int(log_file_tail(path, lines, &text), 0, "%s is read", name);
    is_string(buffer_string(&text), expected, "%s", name);
    buffer_fini(&text);
}

static void test_lines(const char *path)
{
    struct error error;
    struct stat status;
    struct log_file *log = log_file_open(path, &error);

    ok(log != NULL, "a log is made");
    ok(stat(path, &status) == 0 && (status.st_mode & 077) == 0, "which others cannot read");
    is_tail(path, 3, "", "no line");
    log_file_write(log, 1500000000 * NS_PER_S + 1234567, LOG_LEVEL_INFO, "one");
    log_file_write(log, 0, LOG_LEVEL_ERROR, "two");
    is_tail(path, 1, "1970-01-01T00:00:00.000000Z error: two\n", "the last line");
    is_tail(path, 2,
            "2017-07-14T02:40:00.001234Z info: one\n1970-01-01T00:00:00.000000Z error: two\n",
            "the last two, which are all");
    is_tail(path, 9,
            "2017-07-14T02:40:00.001234Z info: one\n1970-01-01T00:00:00.000000Z error: two\n",
            "there are no more");
    ok(log_file_open(path, &error) == NULL && error.code == -EEXIST, "it is not written over");
    has_string(error.text, path, "and is named");
    log_file_close(log);
}

static void test_end(const char *path)
{
    struct error error;
    struct log_file *log = log_file_open(path, &error);
    char line[1501], *expected;
    struct stat status;

    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    for (uint32_t i = 0; i < LOG_FILE_BYTES_MAX / 1500 + 10; i++)
        log_file_write(log, 0, LOG_LEVEL_DEBUG, line);
    ok(stat(path, &status) == 0 && status.st_size <= LOG_FILE_BYTES_MAX + 64 &&
           status.st_size > LOG_FILE_BYTES_MAX - 4096,
       "a log ends at its limit");
    is_tail(path, 1, "the log ends here: it has 64 MiB\n", "and says so");
    expected = memory_printf("1970-01-01T00:00:00.000000Z debug: %s\n", line);
    expected = memory_resize(expected, 2 * strlen(expected) + 64);
    strcat(expected, "the log ends here: it has 64 MiB\n");
    is_tail(path, 2, expected, "long lines are whole");
    free(expected);
    log_file_close(log);
}

int main(void)
{
    char directory[] = "/tmp/log.XXXXXX", *path;
    struct error error;
    struct buffer text = {0};
    FILE *file;

    if (mkdtemp(directory) == NULL)
        exit(1);
    path = log_file_path(directory, "0123", "n1");
    has_string(path, "/banyan-0123-n1.log", "its name has the session and the node");
    is_int(log_file_tail(path, 3, &text), -ENOENT, "there is none yet");
    test_lines(path);
    unlink(path);
    test_end(path);
    file = fopen(path, "w");
    fputs("one\ntwo\nhal", file);
    fclose(file);
    is_tail(path, 1, "two\n", "a line that was not finished is left out");
    unlink(path);
    rmdir(directory);
    ok(log_file_open(path, &error) == NULL && error.code == -ENOENT, "there is no directory");
    has_string(error.text, "option --log: cannot create /tmp/log.", "it is named, with the option");
    log_file_close(NULL);
    free(path);
    buffer_fini(&text);
    return done_testing();
}
