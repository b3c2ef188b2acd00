/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that record how tasks ended (launch/cli/client/task_log.c). */
#include "config.h"

#include "launch/cli/client/task_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "test/support/tap.h"

#define TITLES "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"

static char directory[] = "/tmp/task_log.XXXXXX";
static char joblog[64], results[64];

static const char *content(const char *path)
{
    static struct buffer text;
    FILE *file = fopen(path, "r");
    size_t got;

    buffer_clear(&text);
    if (file == NULL)
        return "";
    while ((got = fread(buffer_reserve(&text, 4096), 1, 4096, file)) > 0)
        buffer_commit(&text, got);
    fclose(file);
    return buffer_string(&text);
}

static void test_entries(void)
{
    struct task_spool *spool = task_spool_create(7);
    struct task_log_entry entry = {.number = 7,
                                   .tries = 2,
                                   .node = "n1",
                                   .command = "echo 'a b'",
                                   .started_us = 1795692823044123,
                                   .run_us = 1500000,
                                   .output_bytes = 9,
                                   .status = 3,
                                   .output = spool};
    struct task_log *log = task_log_open(joblog, results, 0, NULL);
    json_t *object;

    (void)task_spool_add(spool, 1, "a\0b\n", 4);
    (void)task_spool_add(spool, 2, "x\xff\"\n", 4);
    task_log_add(log, &entry);
    entry = (struct task_log_entry){.number = 8, .node = "n2", .command = "c", .signal = 9};
    task_log_add(log, &entry);
    is_int(task_log_flush(log, NULL), 0, "both are written");
    is_string(content(joblog),
              TITLES "7\tn1\t1795692823.044\t1.500\t0\t9\t3\t0\techo 'a b'\n"
                     "8\tn2\t0.000\t0.000\t0\t0\t0\t9\tc\n",
              "a joblog");
    object = json_loads(content(results), JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL);
    is_int(json_integer_value(json_object_get(object, "seq")), 7, "a result is an object");
    is_int(json_integer_value(json_object_get(object, "tries")), 2, "its tries");
    is_bytes(json_string_value(json_object_get(object, "stdout")),
             json_string_length(json_object_get(object, "stdout")), "a\0b\n", 4, "its stdout");
    is_string(json_string_value(json_object_get(object, "stderr")), "x?\"\n",
              "its stderr, of which one byte was no UTF-8");
    json_decref(object);
    task_spool_destroy(spool);
    task_log_close(log);
}

static void test_resume(void)
{
    const struct task_log_entry entry = {.number = 9, .node = "n1", .command = "d"};
    struct task_log *log;
    FILE *file = fopen(joblog, "a");

    fputs("9\tn1\t1.0", file);
    fclose(file);
    log = task_log_open(joblog, NULL, 1, NULL);
    task_log_add(log, &entry);
    task_log_close(log);
    has_string(content(joblog), "\tc\n9\tn1\t0.000\t0.000\t0\t0\t0\t0\td\n",
               "a line that was not finished makes room");
    log = task_log_open(joblog, NULL, 0, NULL);
    task_log_close(log);
    is_string(content(joblog), TITLES, "without --resume it begins again");
}

static void test_failures(void)
{
    const struct task_log_entry entry = {.number = 9, .node = "n1", .command = "d"};
    struct error error = ERROR_NONE;
    struct task_log *log;

    ok(task_log_open(directory, NULL, 0, &error) == NULL, "a directory is no file");
    has_string(error.text, "option --joblog: cannot write /tmp/task_log.", "that is said");
    ok(task_log_open(joblog, "/no/such/file", 0, &error) == NULL, "nor a file without directory");
    has_string(error.text, "option --results: cannot write /no/such/file: No such file",
               "likewise");
    log = task_log_open("/dev/full", NULL, 0, &error);
    task_log_add(log, &entry);
    is_int(task_log_flush(log, &error), -28, "a full disk");
    is_string(error.text, "cannot write /dev/full: No space left on device", "is reported");
    is_int(task_log_flush(log, &error), 0, "once");
    task_log_close(log);
    log = task_log_open(NULL, NULL, 0, NULL);
    task_log_add(log, &entry);
    is_int(task_log_flush(log, NULL), 0, "none is wanted");
    task_log_close(log);
}

int main(void)
{
    if (mkdtemp(directory) == NULL)
        bail_out("no directory");
    snprintf(joblog, sizeof(joblog), "%s/log", directory);
    snprintf(results, sizeof(results), "%s/results", directory);
    test_entries();
    test_resume();
    test_failures();
    unlink(joblog);
    unlink(results);
    rmdir(directory);
    return done_testing();
}
