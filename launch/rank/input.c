/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"

struct input {
    struct loop *loop;
    struct loop_watch *watch;
    input_taken_function *taken;
    void *context;
    struct buffer queue;
    int fd; /* -1: closed, further input is discarded */
    uint8_t ended;
};

static void input_close(struct input *input)
{
    loop_watch_destroy(input->watch);
    input->watch = NULL;
    if (input->fd >= 0)
        close(input->fd);
    input->fd = -1;
}

static void input_flush(struct input *input)
{
    uint32_t taken = 0;

    assert((input->fd >= 0) == (input->watch != NULL));
    while (input->fd >= 0 && input->queue.length_bytes > 0) {
        ssize_t wrote = write(input->fd, input->queue.data, input->queue.length_bytes);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0 && errno == EAGAIN)
            break;
        if (wrote < 0) {
            input_close(input); /* EPIPE: no reader left */
            break;
        }
        buffer_consume(&input->queue, (size_t)wrote);
        taken += (uint32_t)wrote;
    }
    if (input->fd < 0) {
        taken += (uint32_t)input->queue.length_bytes;
        buffer_clear(&input->queue);
    }
    if (input->ended && input->queue.length_bytes == 0)
        input_close(input);
    if (input->watch)
        loop_watch_set(input->watch, input->queue.length_bytes > 0 ? LOOP_WRITE : 0);
    if (taken > 0)
        input->taken(input->context, taken);
}

static void input_ready(void *context, int fd, unsigned int ready)
{
    (void)fd;
    (void)ready;
    input_flush(context);
}

struct input *input_create(struct loop *loop, int write_fd, input_taken_function *taken,
                           void *context)
{
    struct input *input = memory_allocate_zeroed(sizeof *input);

    assert(write_fd >= 0 && taken != NULL);
    (void)fcntl(write_fd, F_SETFL, O_NONBLOCK);
    input->loop = loop;
    input->fd = write_fd;
    input->taken = taken;
    input->context = context;
    input->watch = loop_watch_create(loop, write_fd, 0, input_ready, input);
    return input;
}

void input_write(struct input *input, const void *data, size_t bytes)
{
    if (bytes == 0)
        input->ended = 1;
    else
        buffer_append(&input->queue, data, bytes);
    input_flush(input);
}

void input_destroy(struct input *input)
{
    if (!input)
        return;
    input_close(input);
    buffer_fini(&input->queue);
    free(input);
}
