/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows a file that others change, from a separate process (fork_self.h): a file system may not answer for as long
 * as it likes, and the loop must not wait for it.  The process looks at the file once an interval, as notifications do not
 * come for changes that another machine makes, and reads it when it has changed and two looks have then found it the
 * same.  The last text is reported again only if it is another.
 *
 * Cost: a process; a system call an interval; for each change the text, once more in that process.
 */
#ifndef LAUNCH_EXEC_FILE_WATCH_H
#define LAUNCH_EXEC_FILE_WATCH_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "fabric/loop.h"

#define FILE_WATCH_BYTES_MAX (256u * 1024 * 1024)

struct file_watch;

struct file_watch_events {
    /* The whole text, also the first one; the callee may take it by buffer_swap. */
    void (*text)(void *context, struct buffer *text);
    /* It could not be read, once for each change; -EPIPE: the process has died, nothing follows. */
    void (*failed)(void *context, int code);
};

/* events: as long as the watch lives.  NULL with an error if there is no process. */
struct file_watch *file_watch_create(struct loop *loop, const char *path, uint32_t interval_ms,
                                     const struct file_watch_events *events, void *context,
                                     struct error *error);
/* Has it look now, and not wait for a second look. */
void file_watch_look(struct file_watch *watch);
/* Kills the process and does not wait for it.  NULL is fine; not from within its events. */
void file_watch_destroy(struct file_watch *watch);

#endif
