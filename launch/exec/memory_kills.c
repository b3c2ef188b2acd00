/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/memory_kills.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

#define EVENTS_BYTES_MAX 512
#define CGROUP_BYTES_MAX 4096
#define VMSTAT_BYTES_MAX (16u * 1024)

/* A newline and what the file has, so that every line begins with one; 0: it cannot be read. */
static int read_lines(int directory_fd, const char *path, char *text, size_t text_bytes)
{
    int fd = openat(directory_fd, path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t bytes;

    assert(text_bytes > 2);
    if (fd < 0)
        return 0;
    text[length++] = '\n';
    while (length < text_bytes - 1 &&
           (bytes = read(fd, text + length, text_bytes - 1 - length)) > 0)
        length += (size_t)bytes;
    close(fd);
    text[length] = '\0';
    return 1;
}

/* The number in the line "oom_kill N": 0 if there is none. */
static int read_count(int directory_fd, const char *path, char *text, size_t text_bytes,
                      uint64_t *ret_count)
{
    const char *line =
        read_lines(directory_fd, path, text, text_bytes) ? strstr(text, "\noom_kill ") : NULL;

    if (line == NULL)
        return 0;
    *ret_count = strtoull(line + strlen("\noom_kill "), NULL, 10);
    return 1;
}

uint64_t memory_kills_cgroup(int cgroup_fd)
{
    char text[EVENTS_BYTES_MAX];
    uint64_t count = 0;

    if (cgroup_fd >= 0)
        (void)read_count(cgroup_fd, "memory.events", text, sizeof(text), &count);
    return count;
}

/* Of the cgroup that a line of /proc/self/cgroup names after this mark. */
static int count_own(const char *lines, const char *mark, const char *mount, const char *file,
                     uint64_t *ret_count)
{
    const char *path = strstr(lines, mark);
    char text[EVENTS_BYTES_MAX], *name;
    int is_there;

    if (path == NULL)
        return 0;
    path += strlen(mark);
    name = memory_printf("%s%.*s/%s", mount, (int)strcspn(path, "\n"), path, file);
    is_there = read_count(AT_FDCWD, name, text, sizeof(text), ret_count);
    free(name);
    return is_there;
}

uint64_t memory_kills_around(void)
{
    char lines[CGROUP_BYTES_MAX], text[VMSTAT_BYTES_MAX];
    uint64_t count = 0;

    if (read_lines(AT_FDCWD, "/proc/self/cgroup", lines, sizeof(lines)) &&
        (count_own(lines, ":memory:", "/sys/fs/cgroup/memory", "memory.oom_control", &count) ||
         count_own(lines, "\n0::", "/sys/fs/cgroup", "memory.events", &count)))
        return count;
    (void)read_count(AT_FDCWD, "/proc/vmstat", text, sizeof(text), &count);
    return count;
}

void memory_kills_begin(struct memory_kills *kills)
{
    *kills = (struct memory_kills){.around = memory_kills_around()};
}

enum memory_kill memory_kills_judge(struct memory_kills *kills, int cgroup_fd)
{
    if (memory_kills_cgroup(cgroup_fd) > kills->cgroup) {
        kills->cgroup++;
        return MEMORY_KILL_PROVEN;
    }
    return memory_kills_around() > kills->around ? MEMORY_KILL_NEAR : MEMORY_KILL_NONE;
}
