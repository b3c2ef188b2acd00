/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/helper_notes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/time.h"
#include "test/support/processes.h"
#include "test/support/tap.h"

struct note notes[HELPER_NOTES_MAX];
pid_t last_pid;
int started_count, failed_count, exited_count, empty_count, gone_count;
struct loop *loop;
struct helper *helper;
char scratch[64];
const char *setting;

static void on_started(void *context, uint64_t id, pid_t pid)
{
    notes[id].started++;
    last_pid = pid;
    started_count++;
}

static void on_failed(void *context, uint64_t id, int code, enum start_step step, const char *text)
{
    notes[id].failed++;
    notes[id].code = code;
    notes[id].step = step;
    snprintf(notes[id].text, sizeof notes[id].text, "%s", text);
    failed_count++;
}

static void on_exited(void *context, uint64_t id, int wait_status, enum helper_end end,
                      const struct usage_rank *usage)
{
    notes[id].order_is_right = notes[id].started == 1;
    notes[id].exited++;
    notes[id].status = wait_status;
    notes[id].by_us = end == HELPER_END_US;
    exited_count++;
}

static void on_group_empty(void *context, uint32_t group)
{
    empty_count++;
}

static void on_gone(void *context)
{
    gone_count++;
}

static struct helper_events events = {.started = on_started,
                                      .failed = on_failed,
                                      .exited = on_exited,
                                      .group_empty = on_group_empty,
                                      .gone = on_gone};

static void on_timer(void *context)
{
    loop_stop(loop);
}

int64_t wait_for(const int *counter, int wanted)
{
    uint64_t start_ns = loop_now_ns();
    struct loop_timer *timer = loop_timer_create(loop, on_timer, NULL);
    int64_t result = -1;

    while (loop_now_ns() - start_ns < PATIENCE_MS * NS_PER_MS) {
        if (*counter >= wanted) {
            result = (int64_t)((loop_now_ns() - start_ns) / NS_PER_MS);
            break;
        }
        loop_timer_set(timer, loop_now_ns() + NS_PER_MS);
        loop_run(loop);
    }
    loop_timer_destroy(timer);
    return result;
}

void forget(void)
{
    memset(notes, 0, sizeof notes);
    started_count = failed_count = exited_count = empty_count = 0;
}

const char *const *environment(void)
{
    static const char *list[4096];
    size_t count = 0;

    for (; environ[count] != NULL && count < 4000; count++)
        list[count] = environ[count];
    list[count++] = setting;
    list[count] = NULL;
    return list;
}

void start_full(uint64_t id, uint32_t group, const char *const *argv, const char *const *variables,
                const char *directory, const struct helper_fd *fds, uint32_t count)
{
    struct helper_process process = {.id = id,
                                     .group = group,
                                     .argv = (char *const *)(uintptr_t)argv,
                                     .environment = (char *const *)(uintptr_t)variables,
                                     .directory = directory,
                                     .fds = fds,
                                     .fds_count = count};

    helper_start(helper, &process);
}

void start_shell(uint64_t id, uint32_t group, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    start_full(id, group, argv, environment(), scratch, NULL, 0);
}

char *make_file(const char *name, const char *contents, mode_t mode)
{
    char *path = memory_printf("%s/%s", scratch, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    if (fd < 0 || write(fd, contents, strlen(contents)) < 0)
        bail_out("cannot write %s", path);
    close(fd);
    return path;
}

void helper_notes_begin(void (*on_room)(void *context))
{
    struct error error = ERROR_NONE;

    /* A shell ignores these two for what it starts in the background, and so would our children. */
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    snprintf(scratch, sizeof scratch, "/tmp/bt-helper.XXXXXX");
    if (mkdtemp(scratch) == NULL)
        bail_out("no scratch directory");
    setting = processes_setting();
    (void)signal(SIGPIPE, SIG_IGN);
    helper = helper_fork(&error);
    if (helper == NULL)
        bail_out("%s", error.text);
    loop = loop_create(&error);
    events.room = on_room;
    helper_attach(helper, loop, &events, NULL);
}

void helper_notes_end(void)
{
    char *command = memory_printf("rm -rf %s", scratch);

    is_int(gone_count, 0, "the helper never went away by itself");
    loop_destroy(loop);
    is_int(system(command), 0, "the scratch directory is removed");
    free(command);
}
