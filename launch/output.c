/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "launch/control.h"
#include "launch/descriptor.h"

#define NS_PER_MS  1000000ull
#define READ_BYTES (32u * 1024)

struct stream {
    struct output *output;
    struct loop_watch *watch; /* NULL once the stream has ended */
    int fd;
    uint32_t index;
    uint8_t number;     /* 1 or 2 */
    struct buffer tail; /* an unfinished line */
    uint64_t tail_since_ns;
    size_t left_bytes; /* cut_over: what is still to be read */
};

struct output {
    struct loop *loop;
    struct loop_timer *tail_timer;
    struct loop_timer *cut_timer;
    const struct output_events *events;
    void *context;
    struct stream *streams; /* two per rank */
    uint32_t streams_count;
    uint32_t open; /* streams that have not ended */
    int64_t credit_bytes;
    uint64_t total_bytes;
    uint8_t paused;
    uint8_t cut;
    uint8_t cut_over;
    uint8_t discard;
    uint8_t drained;
    uint8_t tail_armed;
    unsigned char *chunk;
};

static void stream_ready(void *context, int fd, unsigned int ready);
static void tails_flush(void *context);
static void cut_over(void *context);
static void read_left(struct output *output);

static void deferred_check(void *context)
{
    struct output *output = context;

    if (output->drained || output->open > 0 || !output->cut)
        return;
    output->drained = 1;
    output->events->drained(output->context, output->total_bytes);
}

uint32_t output_window_bytes(uint32_t nodes)
{
    uint32_t share_bytes = CONTROL_OUTPUT_WINDOW / (nodes > 0 ? nodes : 1);

    if (share_bytes > OUTPUT_WINDOW_BYTES)
        return OUTPUT_WINDOW_BYTES;
    return share_bytes < OUTPUT_WINDOW_BYTES_MIN ? OUTPUT_WINDOW_BYTES_MIN : share_bytes;
}

struct output *output_create(struct loop *loop, uint32_t ranks, uint32_t window_bytes,
                             const struct output_events *events, void *context)
{
    struct output *output = memory_allocate_zeroed(sizeof *output);

    output->loop = loop;
    output->events = events;
    output->context = context;
    output->streams_count = 2 * ranks;
    output->streams = memory_allocate_zeroed((output->streams_count + 1) * sizeof *output->streams);
    output->credit_bytes = window_bytes;
    output->tail_timer = loop_timer_create(loop, tails_flush, output);
    output->cut_timer = loop_timer_create(loop, cut_over, output);
    output->chunk = memory_allocate(READ_BYTES);
    return output;
}

int output_pipe(struct output *output, uint32_t index, uint8_t number, int *ret_write_fd)
{
    struct stream *stream = &output->streams[2 * index + number - 1u];
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
        int rc = -errno;
        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    ends[0] = descriptor_move_high(ends[0]);
    stream->output = output;
    stream->fd = ends[0];
    stream->index = index;
    stream->number = number;
    stream->watch = loop_watch_create(output->loop, ends[0], output->paused ? 0 : LOOP_READ,
                                      stream_ready, stream);
    output->open++;
    *ret_write_fd = ends[1];
    return 0;
}

static void forward(struct stream *stream, const void *data, size_t bytes)
{
    struct output *output = stream->output;

    if (bytes == 0)
        return;
    output->total_bytes += bytes;
    output->credit_bytes -= (int64_t)bytes;
    output->events->data(output->context, stream->index, stream->number, data, bytes);
}

static void tail_forward(struct stream *stream)
{
    forward(stream, stream->tail.data, stream->tail.length_bytes);
    buffer_fini(&stream->tail);
}

static void stream_end(struct stream *stream)
{
    struct output *output = stream->output;

    tail_forward(stream);
    loop_watch_destroy(stream->watch);
    stream->watch = NULL;
    close(stream->fd);
    output->open--;
    if (output->open == 0)
        loop_defer(output->loop, deferred_check, output);
}

/* Splits what was read behind its last newline: the lines go, the rest waits. */
static void stream_data(struct stream *stream, const unsigned char *data, size_t bytes)
{
    struct output *output = stream->output;
    const unsigned char *newline = memrchr(data, '\n', bytes);
    size_t whole = newline ? (size_t)(newline - data) + 1 : 0;

    if (whole > 0 && stream->tail.length_bytes > 0) {
        buffer_append(&stream->tail, data, whole);
        tail_forward(stream);
    } else {
        forward(stream, data, whole);
    }
    if (whole == bytes)
        return;
    if (stream->tail.length_bytes == 0)
        stream->tail_since_ns = loop_now_ns();
    buffer_append(&stream->tail, data + whole, bytes - whole);
    if (stream->tail.length_bytes >= OUTPUT_TAIL_BYTES) {
        tail_forward(stream);
    } else if (!output->tail_armed) {
        output->tail_armed = 1;
        loop_timer_set(output->tail_timer, loop_now_ns() + OUTPUT_TAIL_MS * NS_PER_MS);
    }
}

static void pause_all(struct output *output, int paused)
{
    if (output->paused == paused || output->cut_over)
        return;
    output->paused = (uint8_t)paused;
    for (uint32_t i = 0; i < output->streams_count; i++)
        if (output->streams[i].watch)
            loop_watch_set(output->streams[i].watch, paused ? 0 : LOOP_READ);
}

static void stream_ready(void *context, int fd, unsigned int ready)
{
    struct stream *stream = context;
    struct output *output = stream->output;
    ssize_t got;

    (void)ready;
    if (output->credit_bytes <= 0) {
        pause_all(output, 1);
        return;
    }
    got = read(fd, output->chunk,
               output->credit_bytes < READ_BYTES ? (size_t)output->credit_bytes : READ_BYTES);
    if (got > 0)
        stream_data(stream, output->chunk, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        stream_end(stream);
}

static void tails_flush(void *context)
{
    struct output *output = context;
    uint64_t now_ns = loop_now_ns(), next_ns = UINT64_MAX;

    output->tail_armed = 0;
    for (uint32_t i = 0; i < output->streams_count; i++) {
        struct stream *stream = &output->streams[i];
        uint64_t due_ns = stream->tail_since_ns + OUTPUT_TAIL_MS * NS_PER_MS;

        if (!stream->watch || stream->tail.length_bytes == 0)
            continue;
        if (due_ns <= now_ns)
            tail_forward(stream);
        else if (due_ns < next_ns)
            next_ns = due_ns;
    }
    if (next_ns != UINT64_MAX) {
        output->tail_armed = 1;
        loop_timer_set(output->tail_timer, next_ns);
    }
}

void output_credit(struct output *output, uint32_t bytes)
{
    output->credit_bytes += bytes;
    if (output->credit_bytes > 0)
        pause_all(output, 0);
    if (output->cut_over)
        read_left(output);
}

void output_credit_renew(struct output *output)
{
    if (output->credit_bytes < (int64_t)OUTPUT_WINDOW_BYTES)
        output_credit(output, (uint32_t)(OUTPUT_WINDOW_BYTES - output->credit_bytes));
}

/* Reads the next of what is left; 0 if it has to wait for credit. */
static int stream_read_left(struct stream *stream)
{
    struct output *output = stream->output;
    size_t bytes = stream->left_bytes < READ_BYTES ? stream->left_bytes : READ_BYTES;
    ssize_t got = 0;

    if (bytes > 0 && output->credit_bytes > 0)
        got = read(stream->fd, output->chunk, bytes);
    else if (bytes > 0 && !output->discard)
        return 0;
    if (got > 0) {
        stream->left_bytes -= (size_t)got;
        stream_data(stream, output->chunk, (size_t)got);
    } else if (bytes == 0 || got == 0 || errno != EINTR) {
        stream_end(stream);
    }
    return 1;
}

static void read_left(struct output *output)
{
    for (uint32_t i = 0; i < output->streams_count; i++)
        while (output->streams[i].watch)
            if (!stream_read_left(&output->streams[i]))
                return; /* goes on with the next credit */
}

/* What is in a pipe by now is read before it is closed, but not what an escaped process goes on to
 * write. */
static void cut_over(void *context)
{
    struct output *output = context;

    output->cut_over = 1;
    for (uint32_t i = 0; i < output->streams_count; i++) {
        struct stream *stream = &output->streams[i];
        int bytes = 0;

        if (!stream->watch)
            continue;
        loop_watch_set(stream->watch, 0);
        if (ioctl(stream->fd, FIONREAD, &bytes) == 0 && bytes > 0)
            stream->left_bytes = (size_t)bytes;
    }
    read_left(output);
}

void output_cut(struct output *output, uint32_t milliseconds, int discard)
{
    output->discard |= discard != 0;
    if (output->cut_over)
        read_left(output);
    if (output->cut)
        return;
    output->cut = 1;
    loop_timer_set(output->cut_timer, loop_now_ns() + milliseconds * NS_PER_MS);
    loop_defer(output->loop, deferred_check, output);
}

void output_destroy(struct output *output)
{
    if (!output)
        return;
    for (uint32_t i = 0; i < output->streams_count; i++)
        if (output->streams[i].watch) {
            buffer_clear(&output->streams[i].tail);
            stream_end(&output->streams[i]);
        }
    loop_defer_cancel(output->loop, output);
    loop_timer_destroy(output->tail_timer);
    loop_timer_destroy(output->cut_timer);
    free(output->streams);
    free(output->chunk);
    free(output);
}
