/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/process_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The third word of the file; the second is in brackets and may hold anything. */
uint8_t process_stat_state(pid_t pid)
{
    char path[64], text[512];
    const char *end;
    ssize_t bytes;
    int fd;

    if (pid <= 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    bytes = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (bytes <= 0)
        return 0;
    text[bytes] = 0;
    end = strrchr(text, ')');
    return end != NULL && end[1] == ' ' ? (uint8_t)end[2] : 0;
}
