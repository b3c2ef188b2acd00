/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/task_spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct task_spool *task_spool_create(uint32_t task)
{
    struct task_spool *spool = memory_allocate_zeroed(sizeof(*spool));

    list_link_init(&spool->node);
    spool->task = task;
    spool->fd = -1;
    return spool;
}

void task_spool_destroy(struct task_spool *spool)
{
    if (spool == NULL)
        return;
    list_remove(&spool->node);
    buffer_fini(&spool->memory);
    if (spool->fd >= 0)
        close(spool->fd);
    free(spool);
}

static int open_file(void)
{
    const char *directory = getenv("TMPDIR");
    int fd = open(directory != NULL && directory[0] != '\0' ? directory : "/tmp",
                  O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    return fd >= 0 ? fd : memfd_create("banyan-task", MFD_CLOEXEC);
}

static int write_all(int fd, const unsigned char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t wrote = write(fd, data, bytes);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return -errno;
        data += wrote;
        bytes -= (size_t)wrote;
    }
    return 0;
}

int task_spool_add(struct task_spool *spool, uint8_t stream, const void *data, size_t bytes)
{
    int rc = 0;

    assert(stream == 2 || (stream == 1 && spool->bytes[1] == 0));
    assert(spool->taken == 0);
    if (spool->fd < 0 && spool->memory.length_bytes + bytes > TASK_SPOOL_MEMORY_BYTES) {
        spool->fd = open_file();
        if (spool->fd < 0)
            return -errno;
        rc = write_all(spool->fd, spool->memory.data, spool->memory.length_bytes);
        buffer_fini(&spool->memory);
    }
    if (rc == 0 && spool->fd >= 0)
        rc = write_all(spool->fd, data, bytes);
    else if (rc == 0)
        buffer_append(&spool->memory, data, bytes);
    if (rc == 0)
        spool->bytes[stream - 1] += bytes;
    return rc;
}

size_t task_spool_read(const struct task_spool *spool, uint64_t at, void *data, size_t bytes)
{
    ssize_t got;

    if (spool->fd < 0) {
        assert(at <= spool->memory.length_bytes && bytes <= spool->memory.length_bytes - at);
        if (bytes > 0)
            memcpy(data, spool->memory.data + at, bytes);
        return bytes;
    }
    got = pread(spool->fd, data, bytes, (off_t)at);
    return got > 0 ? (size_t)got : 0;
}

size_t task_spool_take(struct task_spool *spool, void *data, size_t bytes, uint8_t *ret_stream)
{
    uint64_t end = spool->bytes[0];

    *ret_stream = 1;
    if (spool->taken >= spool->bytes[0]) {
        *ret_stream = 2;
        end += spool->bytes[1];
    }
    if (bytes > end - spool->taken)
        bytes = (size_t)(end - spool->taken);
    bytes = task_spool_read(spool, spool->taken, data, bytes);
    spool->taken += bytes;
    return bytes;
}
