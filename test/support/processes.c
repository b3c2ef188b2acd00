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
#include "launch/exec/process_environment.h"

#define PAUSE_NS     5000000
#define LIMIT_NUMBER 4194304

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
        process_environment_read(pid, &environment);
        if (!process_environment_has(&environment, setting))
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
