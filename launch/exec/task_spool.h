/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a task has written, until it is printed whole: its stdout, then its stderr, in memory up to
 * TASK_SPOOL_MEMORY_BYTES, beyond in a file without a name.
 */
#ifndef LAUNCH_EXEC_TASK_SPOOL_H
#define LAUNCH_EXEC_TASK_SPOOL_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"

#define TASK_SPOOL_MEMORY_BYTES (256u * 1024)

struct task_spool {
    struct list_link node; /* the owner's */
    uint32_t task;         /* the owner's */
    struct buffer memory;
    int fd;            /* -1: all of it is in memory */
    uint64_t bytes[2]; /* of stdout and of stderr */
    uint64_t taken;    /* by task_spool_take */
};

struct task_spool *task_spool_create(uint32_t task);
void task_spool_destroy(struct task_spool *spool); /* NULL is fine */
/* stdout (1) first.  0, or a negative errno: the file cannot be made or written. */
int task_spool_add(struct task_spool *spool, uint8_t stream, const void *data, size_t bytes);
/* Copies bytes from there on; fewer only if they can no longer be read. */
size_t task_spool_read(const struct task_spool *spool, uint64_t at, void *data, size_t bytes);
/* The next piece, of one stream; returns its bytes, 0 at the end. */
size_t task_spool_take(struct task_spool *spool, void *data, size_t bytes, uint8_t *ret_stream);

#endif
