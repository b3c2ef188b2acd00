/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/pseudo_terminal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

int pseudo_terminal_open(const struct window *window, int *ret_fd, int *ret_process_fd)
{
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    int process_fd = -1;
    int rc = 0;

    if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0)
        rc = -errno;
    /* Not by its name: that may be another terminal's in this mount name space. */
    if (rc == 0)
        process_fd = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (rc == 0 && process_fd < 0)
        rc = -errno;
    if (rc < 0 && fd >= 0)
        close(fd);
    if (rc < 0)
        return rc;
    pseudo_terminal_resize(fd, window);
    *ret_fd = fd;
    *ret_process_fd = process_fd;
    return 0;
}

void pseudo_terminal_resize(int fd, const struct window *window)
{
    const struct winsize size = {.ws_row = window->rows, .ws_col = window->columns};

    assert(fd >= 0);
    (void)ioctl(fd, TIOCSWINSZ, &size);
}
