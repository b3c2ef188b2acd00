/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/output_sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_WRITE_BYTES_MAX (256u * 1024) /* per write, to bound the wait for a slow disk */

int output_sink_is_pollable(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int rc = epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);

    if (epoll_fd >= 0)
        close(epoll_fd);
    return rc == 0;
}

static int open_again(int fd)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* A file must not be reopened: the offset is shared with its other writers. */
struct sink_fd output_sink_fd_open(int user_fd)
{
    struct sink_fd sink = {.kind = SINK_SHARED, .fd = user_fd};
    struct stat status;

    if (fstat(user_fd, &status) < 0 || !output_sink_is_pollable(user_fd)) {
        sink.kind = SINK_FILE;
    } else if (S_ISSOCK(status.st_mode)) {
        sink.kind = SINK_SOCKET;
    } else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
        int fd = open_again(user_fd);
        if (fd >= 0)
            sink = (struct sink_fd){.kind = SINK_OWN, .fd = fd, .is_own = 1};
    }
    return sink;
}

void output_sink_fd_close(struct sink_fd *sink)
{
    assert(!sink->is_own || sink->fd >= 0);
    if (sink->is_own)
        close(sink->fd);
    *sink = (struct sink_fd){.fd = -1};
}

/* If poll() reports a pipe writable, it has room for at least PIPE_BUF bytes. */
static long write_if_ready(int fd, const void *data, size_t data_bytes)
{
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    int ready = poll(&writable, 1, 0);

    if (ready == 0)
        return -EAGAIN;
    if (ready < 0)
        return -errno;
    return write(fd, data, data_bytes < PIPE_BUF ? data_bytes : PIPE_BUF);
}

static long write_once(const struct sink_fd *sink, const void *data, size_t data_bytes)
{
    switch (sink->kind) {
    case SINK_SOCKET:
        return send(sink->fd, data, data_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    case SINK_SHARED:
        return write_if_ready(sink->fd, data, data_bytes);
    case SINK_FILE:
        return write(sink->fd, data,
                     data_bytes < FILE_WRITE_BYTES_MAX ? data_bytes : FILE_WRITE_BYTES_MAX);
    default:
        return write(sink->fd, data, data_bytes);
    }
}

long output_sink_fd_write(const struct sink_fd *sink, const void *data, size_t data_bytes)
{
    assert(data_bytes > 0);
    for (;;) {
        long written = write_once(sink, data, data_bytes);
        if (written == -1 && errno == EINTR)
            continue;
        assert(written <= (long)data_bytes);
        return written == -1 ? -errno : written;
    }
}

/* Different descriptions may still be the same pipe or terminal. */
static int is_same_device(int a, int b)
{
    struct stat of_a, of_b;

    if (fstat(a, &of_a) < 0 || fstat(b, &of_b) < 0 || S_ISREG(of_a.st_mode))
        return 0;
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

int output_sink_fd_same(int a, int b)
{
    return syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b) == 0 || is_same_device(a, b);
}
