/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/descriptor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <unistd.h>

#define LOW_MAX 256 /* that many may be low: a job of a few ranks need not move any */
#define RESERVE 64  /* where the limit is so low that all are */
/* What a run of one rank takes in its hungriest process, the daemon; and the helper's children put theirs
 * above all numbers that a process may be given. */
#define LIMIT_MIN 40
#define FREE_MIN  24

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

/* The number shows it: the lowest free one is given, of the high ones likewise. */
static int is_of_reserve(int fd)
{
    struct rlimit limit;

    if (fd < LOW_MAX - RESERVE || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    if (limit.rlim_cur > FD_SETSIZE)
        return fd >= LOW_MAX && fd < FD_SETSIZE; /* no high one was left */
    return (rlim_t)fd + RESERVE >= limit.rlim_cur;
}

int descriptor_of_rank(int fd)
{
    int moved = descriptor_move_high(fd);

    if (moved < 0 || !is_of_reserve(moved))
        return moved;
    close(moved);
    return -EMFILE;
}

/* By taking them for a moment: their numbers need not follow each other. */
int descriptor_check_room(uint32_t count)
{
    int fds[DESCRIPTOR_ROOM_MAX];
    uint32_t held = 0;
    int rc = 0;

    assert(count <= DESCRIPTOR_ROOM_MAX);
    while (rc == 0 && held < count) {
        int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

        fds[held] = fd < 0 ? -EMFILE : descriptor_of_rank(fd);
        rc = fds[held] < 0 ? -EMFILE : 0;
        held += rc == 0;
    }
    while (held > 0)
        close(fds[--held]);
    return rc;
}

static uint32_t count_free(void)
{
    int fds[FREE_MIN];
    uint32_t count = 0;

    while (count < FREE_MIN) {
        fds[count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        if (fds[count] < 0)
            break;
        count++;
    }
    for (uint32_t i = 0; i < count; i++)
        close(fds[i]);
    return count;
}

int descriptor_require(struct error *error)
{
    struct rlimit limit;
    uint32_t left;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 0;
    left = count_free();
    if (limit.rlim_cur < LIMIT_MIN)
        return error_set(error, -EMFILE,
                         "too few descriptors: ulimit -n is %llu, at least %d are needed",
                         (unsigned long long)limit.rlim_cur, LIMIT_MIN);
    if (left < FREE_MIN)
        return error_set(error, -EMFILE,
                         "too few descriptors: ulimit -n is %llu, but all except %u of them are in "
                         "use already; at least %d more are needed",
                         (unsigned long long)limit.rlim_cur, left, FREE_MIN);
    return 0;
}

int descriptor_write_all(int fd, const struct buffer *data)
{
    (void)fcntl(fd, F_SETFL, 0); /* as a pipe that may be full must be */
    for (size_t written = 0; written < data->length_bytes;) {
        ssize_t put = write(fd, data->data + written, data->length_bytes - written);

        if (put < 0 && errno != EINTR)
            return -errno;
        written += put > 0 ? (size_t)put : 0;
    }
    return 0;
}
