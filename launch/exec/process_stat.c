/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/process_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"

#define FLAG_EXITING 0x4u /* PF_EXITING of the kernel */

/* Without the final NUL; 0 if it cannot be read. */
static size_t read_file(pid_t pid, const char *name, char *text, size_t text_bytes)
{
    char path[64];
    ssize_t bytes;
    int fd;

    if (pid <= 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    bytes = read(fd, text, text_bytes - 1);
    close(fd);
    if (bytes <= 0)
        return 0;
    text[bytes] = 0;
    return (size_t)bytes;
}

/* What follows the second word of the file, which is in brackets and may hold anything; NULL if it cannot be read. */
static const char *read_stat(pid_t pid, char *text, size_t text_bytes)
{
    const char *end;

    if (read_file(pid, "stat", text, text_bytes) == 0)
        return NULL;
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? end + 2 : NULL;
}

uint8_t process_stat_state(pid_t pid)
{
    char text[512];
    const char *words = read_stat(pid, text, sizeof(text));

    return words != NULL ? (uint8_t)words[0] : 0;
}

/* The ninth word are the kernel's flags. */
int process_stat_is_exiting(pid_t pid)
{
    char text[512], state;
    const char *words = read_stat(pid, text, sizeof(text));
    unsigned int flags;

    if (words == NULL || sscanf(words, "%c %*d %*d %*d %*d %*d %u", &state, &flags) != 2)
        return 1;
    return state == 'Z' || state == 'X' || (flags & FLAG_EXITING) != 0;
}

/* The second number of the file, in pages. */
uint64_t process_stat_memory_kib(pid_t pid)
{
    unsigned long long pages;
    char text[256];

    if (read_file(pid, "statm", text, sizeof(text)) == 0 || sscanf(text, "%*u %llu", &pages) != 1)
        return 0;
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

int process_stat_cpu_ns(pid_t pid, uint64_t *ret_ns)
{
    struct timespec used;
    clockid_t clock;

    if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) < 0)
        return -ESRCH;
    *ret_ns = (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
    return 0;
}

/* "0" where it runs, or for others than its owner. */
void process_stat_channel(pid_t pid, char *text, size_t text_bytes)
{
    text[0] = '\0';
    if (read_file(pid, "wchan", text, text_bytes) > 0 && strcmp(text, "0") == 0)
        text[0] = '\0';
}
