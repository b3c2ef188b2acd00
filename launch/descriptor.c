/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/descriptor.h"

#include <fcntl.h>
#include <sys/select.h>
#include <unistd.h>

#define LOW_MAX 256 /* so many may be low: a job of a few ranks need not move any */

int descriptor_move_high(int fd)
{
    int high;

    if (fd < LOW_MAX || fd >= FD_SETSIZE)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, FD_SETSIZE);
    if (high < 0)
        return fd; /* the limit is lower: then there are not that many */
    close(fd);
    return high;
}
