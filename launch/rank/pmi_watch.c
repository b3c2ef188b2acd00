/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/pmi_watch.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"

/* Of one thread, or of all. */
struct sample {
    uint64_t cpu_ms;
    int is_asleep; /* not running or ready, stopped, or in a call that cannot be interrupted */
};

/* proc(5): the name, which is in brackets and may hold anything, is followed by the state, and as the 11th
 * and 12th number after it the ticks in user mode and in the kernel. */
static int stat_parse(const char *text, struct sample *ret_sample)
{
    const char *end = strrchr(text, ')');
    unsigned long long user, system;
    char state;

    if (end == NULL || sscanf(end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu",
                              &state, &user, &system) != 3)
        return -1;
    ret_sample->is_asleep = state == 'S';
    ret_sample->cpu_ms = (user + system) * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
    return 0;
}

static int thread_sample(pid_t pid, const char *thread, struct sample *ret_sample)
{
    char path[64], text[1024];
    size_t got;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)pid, thread);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    got = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[got] = '\0';
    return stat_parse(text, ret_sample);
}

/* -1 if there is no such process. */
static int process_sample(pid_t pid, struct sample *ret_sample)
{
    struct sample all = {.is_asleep = 1}, one;
    const struct dirent *entry;
    char path[32];
    DIR *threads;
    int count = 0;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    threads = opendir(path);
    if (threads == NULL)
        return -1;
    while ((entry = readdir(threads)) != NULL) {
        if (entry->d_name[0] == '.' || thread_sample(pid, entry->d_name, &one) < 0)
            continue;
        all.cpu_ms += one.cpu_ms;
        all.is_asleep &= one.is_asleep;
        count++;
    }
    closedir(threads);
    if (count == 0)
        return -1;
    *ret_sample = all;
    return 0;
}

void pmi_watch_ask(struct pmi_watch *watch, pid_t pid)
{
    struct sample sample = {0};

    (void)process_sample(pid, &sample);
    watch->pid = pid;
    watch->asked_cpu_ms = sample.cpu_ms;
    watch->last_cpu_ms = sample.cpu_ms;
    watch->sleeping_looks = 0;
}

enum pmi_watch_finding pmi_watch_look(struct pmi_watch *watch)
{
    struct sample sample;

    if (process_sample(watch->pid, &sample) < 0)
        return PMI_WATCH_GOES_ON;
    if (sample.is_asleep && sample.cpu_ms == watch->last_cpu_ms)
        watch->sleeping_looks++;
    else
        watch->sleeping_looks = 0;
    watch->last_cpu_ms = sample.cpu_ms;
    if (sample.cpu_ms >= watch->asked_cpu_ms + watch->limits.busy_ms)
        return PMI_WATCH_SPINS;
    return watch->sleeping_looks >= watch->limits.sleeping_looks ? PMI_WATCH_SLEEPS
                                                                 : PMI_WATCH_GOES_ON;
}
