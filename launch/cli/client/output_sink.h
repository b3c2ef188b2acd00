/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of the user's descriptors, written without ever blocking and without changing the mode of a
 * description that others share.
 */
#ifndef LAUNCH_CLI_CLIENT_OUTPUT_SINK_H
#define LAUNCH_CLI_CLIENT_OUTPUT_SINK_H

#include <stddef.h>

enum sink_kind {
    SINK_OWN,    /* reopened non-blocking */
    SINK_SOCKET, /* non-blocking per call */
    SINK_SHARED, /* polled before each small write */
    SINK_FILE,   /* never blocks and cannot be polled: files, /dev/null */
    SINK_KIND_COUNT
};

struct sink_fd {
    enum sink_kind kind;
    int fd;
    int is_own; /* fd must be closed */
};

struct sink_fd output_sink_fd_open(int user_fd);
void output_sink_fd_close(struct sink_fd *sink);
/* Bytes written, or -errno; -EAGAIN: wait until sink->fd is writable. */
long output_sink_fd_write(const struct sink_fd *sink, const void *data, size_t data_bytes);
/* 1 if both descriptors are the same open file, terminal or pipe. */
int output_sink_fd_same(int a, int b);
/* 1 if epoll can wait for it. */
int output_sink_is_pollable(int fd);

#endif
