/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the user's stdin without ever blocking the loop, at most a window ahead of its consumer.  A
 * terminal is read only while we are in its foreground, so that a run in the background is not
 * stopped (SIGTTIN must be ignored by the process).
 */
#ifndef LAUNCH_CLI_CLIENT_INPUT_READER_H
#define LAUNCH_CLI_CLIENT_INPUT_READER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fabric/loop.h"

struct input_reader;

struct input_reader_events {
    /* bytes 0: end of file, once, and the last call. */
    void (*data)(void *context, const void *data, size_t bytes);
    /* stdin cannot be read; the end of file follows. */
    void (*failed)(void *context, const struct error *error);
};

/* fd stays the caller's.  Starts reading in the next turn of the loop. */
struct input_reader *input_reader_create(struct loop *loop, int fd, uint32_t window_bytes,
                                         const struct input_reader_events *events, void *context);
void input_reader_destroy(struct input_reader *reader);
/* That many bytes have been consumed. */
void input_reader_credit(struct input_reader *reader, uint32_t bytes);
/* Call when we may have entered or left the foreground. */
void input_reader_resume(struct input_reader *reader);

#endif
