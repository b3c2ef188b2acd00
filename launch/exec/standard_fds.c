/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

void standard_fds_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)open("/dev/null", O_RDONLY); /* the lowest free number is fd */
    }
}
