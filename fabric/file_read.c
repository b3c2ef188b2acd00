/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/file_read.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PIECE_BYTES 16384u

int file_read_fd(int fd, size_t bytes_max, struct buffer *contents)
{
    size_t left_bytes = bytes_max;

    assert(fd >= 0);
    for (;;) {
        /* One byte more than may be taken: a file of just that size ends, a longer one goes on. */
        size_t wanted_bytes = left_bytes < PIECE_BYTES ? left_bytes + 1 : PIECE_BYTES;
        ssize_t bytes = read(fd, buffer_reserve(contents, wanted_bytes), wanted_bytes);

        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            return bytes < 0 ? -errno : 0;
        if ((size_t)bytes > left_bytes) {
            buffer_commit(contents, left_bytes);
            return -EFBIG;
        }
        buffer_commit(contents, (size_t)bytes);
        left_bytes -= (size_t)bytes;
    }
}

int file_read(const char *path, size_t bytes_max, struct buffer *contents)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int rc = fd < 0 ? -errno : file_read_fd(fd, bytes_max, contents);

    if (fd >= 0)
        close(fd);
    return rc;
}
