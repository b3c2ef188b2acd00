/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/input_fan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"

enum reader_state {
    READER_WAITING, /* to be started */
    READER_OPEN,
    READER_CLOSED,
    READER_STATE_COUNT
};

struct fan_reader {
    struct input_fan *fan;
    struct loop_watch *watch; /* and */
    int fd;                   /* while it is open; else NULL and -1 */
    enum reader_state state;
    uint64_t offset; /* of the next byte that it gets, unless it is closed */
};

struct input_fan {
    struct loop *loop;
    input_taken_function *taken;
    void *context;
    struct buffer queue;
    uint64_t offset; /* of its first byte: what a reader still needs */
    uint32_t slow;   /* readers that need it */
    bool is_ended;
    struct fan_reader *readers;
    uint32_t readers_count;
};

static uint64_t end_of(const struct input_fan *fan)
{
    return fan->offset + fan->queue.length_bytes;
}

static void fan_check(const struct input_fan *fan)
{
    assert(fan->slow <= fan->readers_count);
    assert(fan->slow > 0 || fan->queue.length_bytes == 0);
}

static void reader_check(const struct fan_reader *reader)
{
    assert(reader->state < READER_STATE_COUNT);
    assert((reader->state == READER_OPEN) == (reader->fd >= 0));
    assert((reader->watch != NULL) == (reader->fd >= 0));
    assert(reader->state == READER_CLOSED ||
           (reader->offset >= reader->fan->offset && reader->offset <= end_of(reader->fan)));
}

/* ---- what has been taken ---- */

static uint64_t least_offset(const struct input_fan *fan)
{
    uint64_t least = end_of(fan);

    for (uint32_t i = 0; i < fan->readers_count; i++)
        if (fan->readers[i].state != READER_CLOSED && fan->readers[i].offset < least)
            least = fan->readers[i].offset;
    return least;
}

/* The slowest readers have gone on: drops what nobody needs.  Calls taken last, which may do anything but destroy. */
static void fan_advance(struct input_fan *fan)
{
    uint64_t least;
    uint32_t taken;

    if (fan->slow > 0)
        return;
    least = least_offset(fan);
    taken = (uint32_t)(least - fan->offset);
    buffer_consume(&fan->queue, taken);
    fan->offset = least;
    for (uint32_t i = 0; i < fan->readers_count; i++)
        if (fan->readers[i].state != READER_CLOSED && fan->readers[i].offset == least)
            fan->slow++;
    fan_check(fan);
    if (taken > 0)
        fan->taken(fan->context, taken);
}

/* ---- a reader ---- */

static void reader_close(struct fan_reader *reader)
{
    if (reader->state == READER_CLOSED)
        return;
    reader_check(reader);
    if (reader->offset == reader->fan->offset)
        reader->fan->slow--;
    loop_watch_destroy(reader->watch);
    reader->watch = NULL;
    if (reader->fd >= 0)
        close(reader->fd);
    reader->fd = -1;
    reader->state = READER_CLOSED;
}

static void reader_moved(struct fan_reader *reader, size_t bytes)
{
    if (reader->offset == reader->fan->offset)
        reader->fan->slow--;
    reader->offset += bytes;
}

/* Writes what its pipe takes; the caller advances the fan. */
static void reader_flush(struct fan_reader *reader)
{
    struct input_fan *fan = reader->fan;

    while (reader->state == READER_OPEN && reader->offset < end_of(fan)) {
        ssize_t wrote = write(reader->fd, fan->queue.data + (reader->offset - fan->offset),
                              (size_t)(end_of(fan) - reader->offset));

        if (wrote > 0)
            reader_moved(reader, (size_t)wrote);
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            reader_close(reader); /* EPIPE: nobody reads */
    }
    if (reader->state != READER_OPEN)
        return;
    if (fan->is_ended && reader->offset == end_of(fan))
        reader_close(reader);
    else
        loop_watch_set(reader->watch, reader->offset < end_of(fan) ? LOOP_WRITE : 0);
}

static void reader_ready(void *context, int fd, unsigned int ready)
{
    struct fan_reader *reader = context;

    (void)fd;
    (void)ready;
    reader_check(reader);
    reader_flush(reader);
    fan_advance(reader->fan);
}

/* ---- the fan ---- */

struct input_fan *input_fan_create(struct loop *loop, uint32_t readers, input_taken_function *taken,
                                   void *context)
{
    struct input_fan *fan = memory_allocate_zeroed(sizeof(*fan));

    assert(loop != NULL && taken != NULL);
    fan->loop = loop;
    fan->taken = taken;
    fan->context = context;
    fan->readers = memory_allocate_zeroed((readers + 1) * sizeof(*fan->readers));
    fan->readers_count = fan->slow = readers;
    for (uint32_t i = 0; i < readers; i++) {
        fan->readers[i].fan = fan;
        fan->readers[i].fd = -1;
    }
    return fan;
}

void input_fan_destroy(struct input_fan *fan)
{
    if (fan == NULL)
        return;
    for (uint32_t i = 0; i < fan->readers_count; i++)
        reader_close(&fan->readers[i]);
    buffer_fini(&fan->queue);
    free(fan->readers);
    free(fan);
}

int input_fan_open(struct input_fan *fan, uint32_t index, int *ret_fd)
{
    struct fan_reader *reader = &fan->readers[index];
    int ends[2];

    assert(index < fan->readers_count && reader->state == READER_WAITING);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        int rc = -errno;

        input_fan_close(fan, index);
        return rc;
    }
    (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
    reader->fd = ends[1];
    reader->watch = loop_watch_create(fan->loop, ends[1], 0, reader_ready, reader);
    reader->state = READER_OPEN;
    *ret_fd = ends[0];
    reader_flush(reader);
    fan_advance(fan);
    return 0;
}

void input_fan_close(struct input_fan *fan, uint32_t index)
{
    assert(index < fan->readers_count);
    reader_close(&fan->readers[index]);
    fan_advance(fan);
}

void input_fan_write(struct input_fan *fan, const void *data, size_t bytes)
{
    fan_check(fan);
    if (bytes == 0)
        fan->is_ended = true;
    else
        buffer_append(&fan->queue, data, bytes);
    for (uint32_t i = 0; i < fan->readers_count; i++)
        reader_flush(&fan->readers[i]);
    fan_advance(fan);
}
