/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/input_reader.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/cli/client/output_sink.h"

#define READ_BYTES_MAX (64u * 1024)
/* A running job gets no signal when the shell moves it to the foreground (fg), so this is
 * polled. */
#define BACKGROUND_LOOK_NS 250000000ull

struct input_reader {
    struct loop *loop;
    struct loop_watch *watch; /* NULL: a file, which is always ready */
    struct loop_timer *look;  /* while we are not in the terminal's foreground */
    int fd;
    uint32_t window_bytes;
    uint32_t ahead_bytes; /* read and not yet taken */
    int ended;
    const struct input_reader_events *events;
    void *context;
};

/* A terminal answers readers in its background with SIGTTIN or EIO. */
static int in_background(int fd)
{
    pid_t foreground = tcgetpgrp(fd);

    return foreground >= 0 && foreground != getpgrp();
}

static void reader_end(struct input_reader *reader)
{
    assert(!reader->ended);
    reader->ended = 1;
    if (reader->watch != NULL)
        loop_watch_set(reader->watch, 0);
    reader->events->data(reader->context, NULL, 0);
}

static void reader_fail(struct input_reader *reader, int code)
{
    struct error error;

    error_set(&error, -code, "cannot read stdin: %s", strerror(code));
    reader->events->failed(reader->context, &error);
    reader_end(reader);
}

static void reader_arm(struct input_reader *reader);

/* Reads once.  Another process that shares the descriptor may have read first, hence the poll. */
static void reader_read(struct input_reader *reader)
{
    char data[READ_BYTES_MAX];
    uint32_t room = reader->window_bytes - reader->ahead_bytes;
    struct pollfd readable = {.fd = reader->fd, .events = POLLIN};
    ssize_t got;
    int code;

    assert(reader->ahead_bytes <= reader->window_bytes);
    if (reader->watch != NULL && poll(&readable, 1, 0) <= 0)
        return;
    got = read(reader->fd, data, room < sizeof(data) ? room : sizeof(data));
    code = errno;
    if (got > 0) {
        assert((size_t)got <= room);
        reader->ahead_bytes += (uint32_t)got;
        reader->events->data(reader->context, data, (size_t)got);
    } else if (got == 0) {
        reader_end(reader);
    } else if (code != EINTR && code != EAGAIN && !in_background(reader->fd)) {
        reader_fail(reader, code);
    }
}

static void reader_read_file(void *context)
{
    struct input_reader *reader = context;

    reader_read(reader);
    reader_arm(reader);
}

static void reader_look(void *context)
{
    reader_arm(context);
}

static void reader_ready(void *context, int fd, unsigned int ready)
{
    struct input_reader *reader = context;

    reader_read(reader);
    reader_arm(reader);
}

/* Continues reading if there is room and we are in the foreground. */
static void reader_arm(struct input_reader *reader)
{
    int wanted = !reader->ended && reader->ahead_bytes < reader->window_bytes;

    if (wanted && in_background(reader->fd)) {
        loop_timer_set(reader->look, loop_now_ns() + BACKGROUND_LOOK_NS);
        wanted = 0;
    }

    if (reader->watch != NULL) {
        loop_watch_set(reader->watch, wanted ? LOOP_READ : 0);
    } else if (wanted) {
        loop_defer_cancel(reader->loop, reader);
        loop_defer(reader->loop, reader_read_file, reader);
    }
}

struct input_reader *input_reader_create(struct loop *loop, int fd, uint32_t window_bytes,
                                         const struct input_reader_events *events, void *context)
{
    struct input_reader *reader = memory_allocate_zeroed(sizeof(*reader));

    assert(fd >= 0 && window_bytes > 0);
    reader->loop = loop;
    reader->fd = fd;
    reader->window_bytes = window_bytes;
    reader->events = events;
    reader->context = context;
    reader->look = loop_timer_create(loop, reader_look, reader);
    if (output_sink_is_pollable(fd))
        reader->watch = loop_watch_create(loop, fd, 0, reader_ready, reader);
    reader_arm(reader);
    return reader;
}

void input_reader_destroy(struct input_reader *reader)
{
    if (reader == NULL)
        return;
    loop_watch_destroy(reader->watch);
    loop_timer_destroy(reader->look);
    loop_defer_cancel(reader->loop, reader);
    free(reader);
}

void input_reader_credit(struct input_reader *reader, uint32_t bytes)
{
    reader->ahead_bytes -= bytes < reader->ahead_bytes ? bytes : reader->ahead_bytes;
    reader_arm(reader);
}

void input_reader_resume(struct input_reader *reader)
{
    reader_arm(reader);
}
