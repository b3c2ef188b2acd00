/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/remote/alloc_request_terminal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define NAME_BYTES  64
#define END_OF_FILE 4 /* Ctrl-D */

/* Line ends stay as they are, nothing is echoed, no byte is a signal; end of file is kept. */
static int make_plain(int slave)
{
    struct termios mode;

    if (tcgetattr(slave, &mode) < 0)
        return -errno;
    mode.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON | ISTRIP);
    mode.c_oflag &= ~(tcflag_t)OPOST;
    mode.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ISIG);
    return tcsetattr(slave, TCSANOW, &mode) < 0 ? -errno : 0;
}

int alloc_request_terminal_open(struct alloc_request_terminal *terminal, int *ret_slave,
                                struct error *error)
{
    char name[NAME_BYTES];
    int slave = -1, rc = 0;

    terminal->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal->fd < 0 || grantpt(terminal->fd) < 0 || unlockpt(terminal->fd) < 0 ||
        ptsname_r(terminal->fd, name, sizeof(name)) != 0)
        rc = -errno;
    if (rc == 0)
        slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (rc == 0)
        rc = slave < 0 ? -errno : make_plain(slave);
    if (rc < 0)
        return error_set(error, rc, "cannot make a terminal: %s", strerror(-rc));
    (void)fcntl(terminal->fd, F_SETFL, O_NONBLOCK);
    *ret_slave = slave;
    return 0;
}

int alloc_request_terminal_become(int slave)
{
    int has_output = isatty(STDOUT_FILENO);

    if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 || dup2(slave, STDIN_FILENO) < 0 ||
        (!has_output && dup2(slave, STDOUT_FILENO) < 0))
        return -errno;
    return 0;
}

short alloc_request_terminal_wants(const struct alloc_request_terminal *terminal)
{
    return (short)(POLLIN | (terminal->pending_bytes > 0 ? POLLOUT : 0));
}

int alloc_request_terminal_wants_input(const struct alloc_request_terminal *terminal)
{
    return terminal->fd >= 0 && !terminal->is_input_over && terminal->pending_bytes == 0;
}

void alloc_request_terminal_take_input(struct alloc_request_terminal *terminal)
{
    ssize_t got = read(STDIN_FILENO, terminal->pending, sizeof(terminal->pending));

    assert(terminal->pending_bytes == 0 && !terminal->is_input_over);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        terminal->is_input_over = 1;
        terminal->pending[0] = END_OF_FILE;
        got = 1;
    }
    terminal->pending_bytes = (size_t)got;
}

static void write_pending(struct alloc_request_terminal *terminal)
{
    ssize_t put = write(terminal->fd, terminal->pending, terminal->pending_bytes);

    if (put <= 0)
        return;
    assert((size_t)put <= terminal->pending_bytes);
    terminal->pending_bytes -= (size_t)put;
    memmove(terminal->pending, terminal->pending + put, terminal->pending_bytes);
}

static void write_all(const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t put = write(STDOUT_FILENO, data, bytes);

        if (put < 0 && errno != EINTR)
            return;
        if (put > 0) {
            data += put;
            bytes -= (size_t)put;
        }
    }
}

void alloc_request_terminal_ready(struct alloc_request_terminal *terminal, short events)
{
    char data[4096];
    ssize_t got;

    assert(terminal->fd >= 0);
    if (events & POLLOUT)
        write_pending(terminal);
    if (!(events & (POLLIN | POLLHUP | POLLERR)))
        return;
    got = read(terminal->fd, data, sizeof(data));
    if (got > 0) {
        write_all(data, (size_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(terminal->fd); /* EIO: no process has the other side open */
        terminal->fd = -1;
    }
}
