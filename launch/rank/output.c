/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/time.h"
#include "launch/proto/control.h"
#include "launch/exec/descriptor.h"

#define READ_BYTES (48u * 1024) /* with its headers it fits into one chunk of a link */

struct stream {
    struct output *output;
    struct loop_watch *watch; /* NULL once the stream has ended */
    struct list_link waiting; /* not being read: for credit, or for the end of a long line */
    int fd;
    uint32_t index;
    uint8_t number;     /* 1 or 2 */
    uint8_t inside;     /* part of its line has been forwarded */
    uint8_t is_raw;     /* a terminal: without lines */
    struct buffer tail; /* an unfinished line, less than OUTPUT_TAIL_BYTES */
    struct list_link tails;
    uint64_t tail_since_ns;
    uint64_t read_ns;  /* when it was last read, since 1970 */
    size_t left_bytes; /* cut_over: what remains to be read */
};

/* The long line being forwarded, of all stdouts or of all stderrs. */
struct long_line {
    struct stream *stream; /* NULL: none */
    uint64_t last_ns;      /* when it went on */
    uint64_t wanted_ns;    /* since when a stream has waited for its end; UINT64_MAX: none waits */
    struct list waiting;   /* streams */
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
    struct list tails;          /* streams with one, the oldest first */
    struct list without_credit; /* streams */
    struct long_line lines[2];  /* of stream 1 and 2 */
    uint8_t cut;
    uint8_t cut_over;
    uint8_t discard;
    uint8_t drained;
    uint64_t timer_ns; /* of tail_timer, UINT64_MAX: not set */
    unsigned char *chunk;
};

static void stream_ready(void *context, int fd, unsigned int ready);
static void on_timer(void *context);
static void cut_over(void *context);
static void read_left(struct output *output);

static void output_check(const struct output *output)
{
    assert(output->open <= output->streams_count);
    assert(!output->cut_over || output->cut);
    assert(!output->drained || output->cut);
    for (int i = 0; i < 2; i++) {
        const struct long_line *line = &output->lines[i];

        assert(line->stream != NULL || list_is_empty(&line->waiting));
        assert(line->stream == NULL || line->stream->watch != NULL);
        assert(line->stream == NULL || line->stream->number == i + 1);
    }
}

static void stream_check(const struct stream *stream)
{
    assert(stream->number == 1 || stream->number == 2);
    assert((stream->tail.length_bytes > 0) == list_is_linked(&stream->tails));
    assert(stream->tail.length_bytes < OUTPUT_TAIL_BYTES);
    assert(stream->watch != NULL || !list_is_linked(&stream->waiting));
}

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

    if (share_bytes > CONTROL_NODE_WINDOW)
        return CONTROL_NODE_WINDOW;
    return share_bytes < OUTPUT_WINDOW_BYTES_MIN ? OUTPUT_WINDOW_BYTES_MIN : share_bytes;
}

struct output *output_create(struct loop *loop, uint32_t ranks, uint32_t window_bytes,
                             const struct output_events *events, void *context)
{
    struct output *output = memory_allocate_zeroed(sizeof *output);

    assert(loop != NULL && events != NULL);
    output->loop = loop;
    output->events = events;
    output->context = context;
    output->streams_count = 2 * ranks;
    output->streams = memory_allocate_zeroed((output->streams_count + 1) * sizeof *output->streams);
    output->credit_bytes = window_bytes;
    list_init(&output->tails);
    list_init(&output->without_credit);
    for (int i = 0; i < 2; i++)
        list_init(&output->lines[i].waiting);
    output->timer_ns = UINT64_MAX;
    output->tail_timer = loop_timer_create(loop, on_timer, output);
    output->cut_timer = loop_timer_create(loop, cut_over, output);
    output->chunk = memory_allocate(READ_BYTES);
    return output;
}

/* The pipe of the process before this one has data yet, or a process that this one has left: what the next
 * one writes comes after that.  Another open file than theirs, which may be non-blocking. */
static int pipe_again(const struct stream *stream, int *ret_write_fd)
{
    char path[32];
    int fd;

    snprintf(path, sizeof path, "/proc/self/fd/%d", stream->fd);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_write_fd = fd;
    return 0;
}

static void stream_open(struct output *output, uint32_t index, uint8_t number, int fd)
{
    struct stream *stream = &output->streams[2 * index + number - 1u];

    assert(stream->watch == NULL);
    stream->output = output;
    stream->fd = fd;
    stream->index = index;
    stream->number = number;
    stream->inside = 0;
    list_link_init(&stream->waiting);
    list_link_init(&stream->tails);
    stream->watch = loop_watch_create(output->loop, fd, LOOP_READ, stream_ready, stream);
    output->open++;
}

int output_pipe(struct output *output, uint32_t index, uint8_t number, int *ret_write_fd)
{
    struct stream *stream = &output->streams[2 * index + number - 1u];
    int ends[2];

    assert(index < output->streams_count / 2 && (number == 1 || number == 2));
    assert(!output->cut);
    if (stream->watch != NULL)
        return pipe_again(stream, ret_write_fd);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
        int rc = -errno;
        close(ends[0]);
        close(ends[1]);
        return rc;
    }
    ends[0] = descriptor_of_rank(ends[0]);
    if (ends[0] < 0) {
        close(ends[1]);
        return ends[0];
    }
    stream_open(output, index, number, ends[0]);
    *ret_write_fd = ends[1];
    return 0;
}

void output_terminal(struct output *output, uint32_t index, int fd)
{
    assert(index < output->streams_count / 2 && fd >= 0);
    output->streams[2 * index].is_raw = 1;
    stream_open(output, index, 1, fd);
}

static void forward_data(struct stream *stream, const void *data, size_t bytes)
{
    struct output *output = stream->output;

    if (bytes == 0)
        return;
    output->total_bytes += bytes;
    output->credit_bytes -= (int64_t)bytes;
    stream->inside = ((const unsigned char *)data)[bytes - 1] != '\n';
    output->events->data(output->context, stream->index, stream->number, stream->read_ns, data,
                         bytes);
}

static void tail_forward(struct stream *stream)
{
    forward_data(stream, stream->tail.data, stream->tail.length_bytes);
    buffer_fini(&stream->tail);
    list_remove(&stream->tails);
}

/* ---- which streams are read ---- */

static void set_timer(struct output *output, uint64_t deadline_ns)
{
    if (deadline_ns >= output->timer_ns)
        return;
    output->timer_ns = deadline_ns;
    loop_timer_set(output->tail_timer, deadline_ns);
}

static void stream_wait(struct stream *stream, struct list *list)
{
    assert(stream->watch != NULL && !list_is_linked(&stream->waiting));
    loop_watch_set(stream->watch, 0);
    list_append(list, &stream->waiting);
}

static void streams_go_on(struct output *output, struct list *list)
{
    struct list_link *node;

    while ((node = list_first(list)) != NULL) {
        list_remove(node);
        if (!output->cut_over)
            loop_watch_set(list_entry(node, struct stream, waiting)->watch, LOOP_READ);
    }
}

static struct long_line *line_of(const struct stream *stream)
{
    return &stream->output->lines[stream->number - 1];
}

/* Others may be read again. */
static void line_release(struct output *output, struct long_line *line)
{
    line->stream = NULL;
    streams_go_on(output, &line->waiting);
}

/* When the line's rank must give way. */
static uint64_t line_deadline_ns(const struct output *output, const struct long_line *line)
{
    uint64_t silent_ns = line->last_ns + OUTPUT_TAIL_MS * NS_PER_MS;
    uint64_t unfair_ns = line->wanted_ns + OUTPUT_LINE_MS * NS_PER_MS;

    if (line->stream == NULL || list_is_empty(&line->waiting))
        return UINT64_MAX;
    if (output->credit_bytes <= 0) /* it is silent because it is not read */
        silent_ns = loop_now_ns() + OUTPUT_TAIL_MS * NS_PER_MS;
    return silent_ns < unfair_ns ? silent_ns : unfair_ns;
}

/* Keeps the long line for the stream, or gives it up: called after each piece forwarded. */
static void line_follow(struct stream *stream)
{
    struct long_line *line = line_of(stream);

    if (!stream->inside) {
        if (line->stream == stream)
            line_release(stream->output, line);
        return;
    }
    if (line->stream == NULL) {
        line->stream = stream;
        line->wanted_ns = UINT64_MAX;
    }
    line->last_ns = loop_now_ns();
}

static void line_await(struct stream *stream, struct long_line *line)
{
    stream_wait(stream, &line->waiting);
    if (line->wanted_ns == UINT64_MAX)
        line->wanted_ns = loop_now_ns();
    set_timer(stream->output, line_deadline_ns(stream->output, line));
}

static void stream_end(struct stream *stream)
{
    struct output *output = stream->output;

    assert(stream->watch != NULL && output->open > 0);
    tail_forward(stream);
    if (stream->inside && output->events->line_ended != NULL)
        output->events->line_ended(output->context, stream->index, stream->number);
    loop_watch_destroy(stream->watch);
    stream->watch = NULL;
    if (list_is_linked(&stream->waiting))
        list_remove(&stream->waiting);
    if (line_of(stream)->stream == stream)
        line_release(output, line_of(stream));
    close(stream->fd);
    output->open--;
    if (output->open == 0)
        loop_defer(output->loop, deferred_check, output);
}

/* ---- lines ---- */

/* What follows the last newline waits, unless it is long: then it is sent, and so is the rest of
 * the line. */
static void stream_rest(struct stream *stream, const unsigned char *data, size_t bytes)
{
    struct output *output = stream->output;

    if (bytes == 0)
        return;
    if (stream->tail.length_bytes + bytes >= OUTPUT_TAIL_BYTES ||
        line_of(stream)->stream == stream) {
        tail_forward(stream);
        forward_data(stream, data, bytes);
        line_follow(stream);
        return;
    }
    if (stream->tail.length_bytes == 0) {
        stream->tail_since_ns = loop_now_ns();
        list_append(&output->tails, &stream->tails);
    }
    buffer_append(&stream->tail, data, bytes);
    set_timer(output, stream->tail_since_ns + OUTPUT_TAIL_MS * NS_PER_MS);
}

/* Splits input after its last newline: the lines are sent, the rest waits. */
static void stream_data(struct stream *stream, const unsigned char *data, size_t bytes)
{
    const unsigned char *newline = memrchr(data, '\n', bytes);
    struct timespec now;
    size_t whole = newline ? (size_t)(newline - data) + 1 : 0;

    clock_gettime(CLOCK_REALTIME, &now);
    stream->read_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    if (stream->is_raw) {
        forward_data(stream, data, bytes);
        return;
    }
    if (whole > 0) {
        if (stream->tail.length_bytes > 0) {
            buffer_append(&stream->tail, data, whole);
            tail_forward(stream);
        } else {
            forward_data(stream, data, whole);
        }
        line_follow(stream);
    }
    stream_rest(stream, data + whole, bytes - whole);
}

static void stream_ready(void *context, int fd, unsigned int ready)
{
    struct stream *stream = context;
    struct output *output = stream->output;
    struct long_line *line = line_of(stream);
    ssize_t got;

    assert(stream->watch != NULL && !output->cut_over);
    (void)ready;
    if (output->credit_bytes <= 0) {
        stream_wait(stream, &output->without_credit);
        return;
    }
    if (line->stream != NULL && line->stream != stream && !stream->is_raw) {
        line_await(stream, line);
        return;
    }
    got = read(fd, output->chunk,
               output->credit_bytes < READ_BYTES ? (size_t)output->credit_bytes : READ_BYTES);
    if (got > 0)
        stream_data(stream, output->chunk, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        stream_end(stream);
    stream_check(stream);
    output_check(output);
}

static void tails_flush(struct output *output, uint64_t now_ns)
{
    struct list_link *node;

    while ((node = list_first(&output->tails)) != NULL) {
        struct stream *stream = list_entry(node, struct stream, tails);
        uint64_t due_ns = stream->tail_since_ns + OUTPUT_TAIL_MS * NS_PER_MS;

        if (due_ns > now_ns) {
            set_timer(output, due_ns);
            return;
        }
        tail_forward(stream);
    }
}

/* Hands it to the stream that has waited longest, which has input. */
static void line_hand_over(struct output *output, struct long_line *line, uint64_t now_ns)
{
    struct stream *next = list_entry(list_first(&line->waiting), struct stream, waiting);

    assert(line->stream != NULL && next != line->stream);
    assert(!output->cut_over);
    list_remove(&next->waiting);
    line->stream = next;
    line->last_ns = now_ns;
    line->wanted_ns = list_is_empty(&line->waiting) ? UINT64_MAX : now_ns;
    loop_watch_set(next->watch, LOOP_READ);
}

static void on_timer(void *context)
{
    struct output *output = context;
    uint64_t now_ns = loop_now_ns();

    output->timer_ns = UINT64_MAX;
    output_check(output);
    if (output->cut_over)
        return;
    tails_flush(output, now_ns);
    for (int i = 0; i < 2; i++) {
        struct long_line *line = &output->lines[i];

        if (line_deadline_ns(output, line) <= now_ns)
            line_hand_over(output, line, now_ns);
        set_timer(output, line_deadline_ns(output, line));
    }
}

void output_credit(struct output *output, uint32_t bytes)
{
    output_check(output);
    output->credit_bytes += bytes;
    if (output->credit_bytes > 0)
        streams_go_on(output, &output->without_credit);
    if (output->cut_over)
        read_left(output);
}

void output_credit_renew(struct output *output)
{
    if (output->credit_bytes < (int64_t)CONTROL_NODE_WINDOW)
        output_credit(output, (uint32_t)(CONTROL_NODE_WINDOW - output->credit_bytes));
}

/* Reads the next of the remaining bytes; 0 if it has to wait for credit. */
static int stream_read_left(struct stream *stream)
{
    struct output *output = stream->output;
    size_t bytes = stream->left_bytes < READ_BYTES ? stream->left_bytes : READ_BYTES;
    ssize_t got = 0;

    assert(output->cut_over && stream->watch != NULL);
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

/* What a pipe holds now is read before it is closed, but not what an escaped process writes
 * later. */
static void cut_over(void *context)
{
    struct output *output = context;

    assert(output->cut);
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
            output->streams[i].inside = 0;
            stream_end(&output->streams[i]);
        }
    loop_defer_cancel(output->loop, output);
    loop_timer_destroy(output->tail_timer);
    loop_timer_destroy(output->cut_timer);
    free(output->streams);
    free(output->chunk);
    free(output);
}
