/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is followed by another process: launch/exec/file_watch.c. */
#include "config.h"

#include "launch/exec/file_watch.h"
#include "test/support/tap.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"

#define INTERVAL_MS 10
#define PATIENCE_S  60

static struct loop *loop;
static struct loop_timer *patience;
static char *path;
static struct buffer heard;

static void on_text(void *context, struct buffer *text)
{
    (void)context;
    if (text->length_bytes < 100)
        buffer_printf(&heard, "text '%s'\n", buffer_string(text));
    else
        buffer_printf(&heard, "%zu bytes\n", text->length_bytes);
    loop_stop(loop);
}

static void on_failed(void *context, int code)
{
    (void)context;
    buffer_printf(&heard, "failed %d\n", code);
    loop_stop(loop);
}

static const struct file_watch_events events = {.text = on_text, .failed = on_failed};

static void on_patience(void *context)
{
    (void)context;
    buffer_append_string(&heard, "nothing\n");
    loop_stop(loop);
}

static void hears(const char *expected, const char *name)
{
    loop_timer_set(patience, loop_now_ns() + PATIENCE_S * NS_PER_S);
    (void)loop_run(loop);
    loop_timer_cancel(patience);
    is_string(buffer_string(&heard), expected, "%s", name);
    buffer_clear(&heard);
}

/* As a whole: another file gets the name. */
static void write_file(const char *text, size_t bytes)
{
    char *next = memory_printf("%s.next", path);
    FILE *file = fopen(next, "w");

    if (file == NULL || fwrite(text, 1, bytes, file) != bytes || fclose(file) != 0 ||
        rename(next, path) < 0)
        bail_out("cannot write %s", path);
    free(next);
}

static void write_text(const char *text)
{
    write_file(text, strlen(text));
}

static void test_changes(void)
{
    struct error error = ERROR_NONE;
    struct file_watch *watch;
    char *large = memory_allocate_zeroed(1000000);

    write_text("one");
    watch = file_watch_create(loop, path, INTERVAL_MS, &events, NULL, &error);
    ok(watch != NULL, "a file is followed");
    hears("text 'one'\n", "its text is reported");
    write_text("two");
    hears("text 'two'\n", "and another of the same length");
    (void)unlink(path);
    hears("failed -2\n", "that it is removed");
    write_text("two");
    write_text("");
    hears("text ''\n", "not the last text again, but that there is none");
    write_file(large, 1000000);
    hears("1000000 bytes\n", "a large one");
    free(large);
    file_watch_destroy(watch);
}

/* An interval that does not end in this test. */
static void test_look(void)
{
    struct file_watch *watch;

    write_text("three");
    watch = file_watch_create(loop, path, 3600 * 1000, &events, NULL, NULL);
    file_watch_look(watch);
    hears("text 'three'\n", "it looks when it is asked to");
    write_text("four");
    file_watch_look(watch);
    hears("text 'four'\n", "and does not wait for a second look");
    file_watch_destroy(watch);
}

/* The others have been killed, too, but perhaps not waited for: they are older. */
static pid_t last_child(void)
{
    char children[128] = "", name[64], *rest, *end;
    FILE *file;
    pid_t last = -1;

    snprintf(name, sizeof(name), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(name, "r");
    if (file == NULL || fgets(children, sizeof(children), file) == NULL)
        bail_out("cannot read %s", name);
    fclose(file);
    for (rest = children; strtol(rest, &end, 10) > 0; rest = end)
        last = (pid_t)strtol(rest, NULL, 10);
    return last;
}

static void test_death(void)
{
    struct file_watch *watch = file_watch_create(loop, path, INTERVAL_MS, &events, NULL, NULL);
    pid_t child;

    hears("text 'four'\n", "another follows it");
    child = last_child();
    ok(child > 0 && kill(child, SIGKILL) == 0, "its process is killed");
    hears("failed -32\n", "which is reported");
    file_watch_destroy(watch);
    file_watch_destroy(NULL);
}

int main(void)
{
    const char *directory = getenv("TMPDIR");

    path = memory_printf("%s/file_watch.%d", directory != NULL ? directory : "/tmp", (int)getpid());
    loop = loop_create(NULL);
    patience = loop_timer_create(loop, on_patience, NULL);
    test_changes();
    test_look();
    test_death();
    loop_timer_destroy(patience);
    loop_destroy(loop);
    (void)unlink(path);
    free(path);
    buffer_fini(&heard);
    return done_testing();
}
