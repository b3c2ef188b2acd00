/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/orphan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/time.h"
#include "fabric/file_read.h"
#include "launch/exec/process_environment.h"

#define CHILDREN_BYTES_MAX (64u * 1024 * 1024) /* more than pids can take */
#define NAME_BYTES         32
#define PAUSE_MS           5

size_t orphan_list(pid_t **ret_pids)
{
    struct buffer text = {0};
    char path[64];
    size_t count = 0;
    siginfo_t info;
    pid_t *pids;
    char *at;

    /* No child at all is what there usually is at the end: asked so, it costs 15 us less. */
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) {
        *ret_pids = NULL;
        return 0;
    }
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    (void)file_read(path, CHILDREN_BYTES_MAX, &text);
    pids = memory_allocate((text.length_bytes / 2 + 1) * sizeof(*pids));
    at = (char *)(uintptr_t)buffer_string(&text);
    for (;;) {
        char *end;
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        pids[count++] = (pid_t)pid;
        at = end;
    }
    buffer_fini(&text);
    *ret_pids = pids;
    return count;
}

static int is_named(pid_t pid, const char *line)
{
    struct buffer name = {0};
    char path[64];
    int result;

    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    (void)file_read(path, NAME_BYTES, &name);
    result = strcmp(buffer_string(&name), line) == 0;
    buffer_fini(&name);
    return result;
}

static int is_helper(pid_t pid)
{
    return is_named(pid, HELPER_NAME "\n");
}

static int is_daemon(pid_t pid)
{
    return is_named(pid, DAEMON_NAME "\n");
}

/* Its memory has been freed, at least by its first thread. */
static int is_ending(pid_t pid)
{
    char path[32];
    char target;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return readlink(path, &target, 1) < 0 && errno == ENOENT;
}

int orphan_helper_lives(pid_t pid)
{
    char path[32];
    char text[64];
    char *name, *end;
    ssize_t bytes;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT; /* what cannot be known is left alone */
    bytes = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    name = strchr(text, '(');
    end = strrchr(text, ')');
    if (name == NULL || end == NULL || end[1] != ' ')
        return bytes >= 0;
    *end = '\0';
    return end[2] != 'Z' && end[2] != 'X' && strcmp(name + 1, HELPER_NAME) == 0;
}

enum orphan_kind orphan_examine(pid_t pid, pid_t *ret_helper, uint32_t *ret_group)
{
    struct buffer environment = {0};
    enum orphan_kind kind = ORPHAN_UNMARKED;
    int helper;
    unsigned int group;
    const char *mark;

    if (is_helper(pid))
        return ORPHAN_HELPER;
    process_environment_read(pid, &environment);
    mark = process_environment_find(&environment, ORPHAN_MARK);
    if (mark != NULL && sscanf(mark, "%d.%u", &helper, &group) == 2) {
        *ret_helper = helper;
        *ret_group = group;
        kind = ORPHAN_MARKED;
    } else if (is_daemon(pid)) {
        kind = ORPHAN_DAEMON;
    } else if (is_ending(pid)) {
        kind = ORPHAN_ENDING;
    }
    buffer_fini(&environment);
    return kind;
}

void orphan_kill(pid_t pid, int with_group)
{
    pid_t group = with_group ? getpgid(pid) : -1;

    if (group > 1 && group != getpgrp())
        kill(-group, SIGKILL);
    kill(pid, SIGKILL);
}

static size_t kill_children(int spare_daemons)
{
    pid_t *pids;
    size_t count = orphan_list(&pids);
    size_t killed = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_helper(pids[i]) || (spare_daemons && is_daemon(pids[i])))
            continue;
        orphan_kill(pids[i], 1);
        killed++;
    }
    free(pids);
    return killed;
}

size_t orphan_kill_all(uint32_t milliseconds, int spare_daemons)
{
    struct timespec pause = {.tv_nsec = PAUSE_MS * NS_PER_MS};
    size_t left;

    for (uint32_t spent_ms = 0;; spent_ms += PAUSE_MS) {
        left = kill_children(spare_daemons);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (left == 0 || spent_ms >= milliseconds)
            return left;
        nanosleep(&pause, NULL);
    }
}
