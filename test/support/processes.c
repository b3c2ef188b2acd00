/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/processes.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/time.h"

#define READ_BYTES   65536u
#define PAUSE_NS     5000000
#define LIMIT_NUMBER 4194304

static void read_environment(int pid, struct buffer *environment)
{
    char path[64];
    ssize_t bytes;
    int fd;

    snprintf(path, sizeof path, "/proc/%d/environ", pid);
    buffer_clear(environment);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    while ((bytes = read(fd, buffer_reserve(environment, READ_BYTES), READ_BYTES)) > 0)
        buffer_commit(environment, (size_t)bytes);
    close(fd);
}

static int holds(struct buffer *environment, const char *setting)
{
    const char *at = buffer_string(environment);
    const char *end = at + environment->length_bytes;

    for (; at < end; at += strlen(at) + 1)
        if (strcmp(at, setting) == 0)
            return 1;
    return 0;
}

static size_t visit(const char *setting, int signal_number)
{
    DIR *directory = opendir("/proc");
    struct buffer environment = {0};
    struct dirent *entry;
    size_t count = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid <= 1 || pid == getpid())
            continue;
        read_environment(pid, &environment);
        if (!holds(&environment, setting))
            continue;
        count++;
        if (signal_number > 0)
            kill(pid, signal_number);
    }
    if (directory != NULL)
        closedir(directory);
    buffer_fini(&environment);
    return count;
}

size_t processes_count(const char *setting)
{
    return visit(setting, 0);
}

void processes_kill(const char *setting)
{
    while (visit(setting, SIGKILL) > 0)
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)((uint64_t)now.tv_sec * (NS_PER_S / NS_PER_MS) +
                     (uint64_t)now.tv_nsec / NS_PER_MS);
}

static int64_t wait_between(const char *setting, size_t least, size_t most, uint32_t patience_ms)
{
    int64_t start_ms = now_ms();

    for (;;) {
        size_t count = processes_count(setting);
        int64_t spent_ms = now_ms() - start_ms;
        if (count >= least && count <= most)
            return spent_ms;
        if (spent_ms > patience_ms)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

int64_t processes_wait(const char *setting, size_t wanted, uint32_t patience_ms)
{
    return wait_between(setting, wanted, wanted, patience_ms);
}

int64_t processes_wait_at_least(const char *setting, size_t wanted, uint32_t patience_ms)
{
    return wait_between(setting, wanted, LIMIT_NUMBER, patience_ms);
}

const char *processes_setting(void)
{
    static char setting[64];
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(setting, sizeof setting, "BANYAN_TEST=%d.%ld", (int)getpid(), (long)now.tv_nsec);
    return setting;
}
