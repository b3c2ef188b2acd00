/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/output_writer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/time.h"
#include "launch/cli/client/output_files.h"
#include "launch/cli/client/output_fold.h"
#include "launch/cli/client/output_sink.h"

#define TURN_BYTES_MAX (1024u * 1024) /* written in one turn of the loop, before others run */
/* More is not held back, so that output keeps flowing.  The limit exceeds what all nodes together
 * may have under way, up to a thousand or so (CONTROL_OUTPUT_WINDOW), so the line's rank never
 * lacks credit because of it. */
#define HELD_BYTES_MAX  (8u * 1024 * 1024)
#define HELD_PIECES_MAX 4096u /* likewise; the list is searched */
#define CLEAR_LINE      "\r\033[K"
#define KEEP_BYTES_MAX  (1024u * 1024)
/* Nobody reads a longer line as one: if it stalls others continue soon. */
#define LONG_LINE_BYTES (64u * 1024)

/* Output of a rank while another one's line was open.  No bytes: its stream has ended. */
struct piece {
    struct list_link node;
    uint64_t arrival_ns;
    struct output_piece output; /* of data */
    char data[];
};

/* Invariant: no output of the open line's owner is held back. */
struct sink {
    struct output_writer *writer;
    struct list_link busy;    /* while it has something to write or report */
    struct output_file *file; /* opened for each write; NULL: one of the user's descriptors */
    const char *name;
    struct sink_fd to;
    struct loop_watch *watch; /* while it is not writable */
    struct loop_timer *timer; /* of the oldest piece held back */
    struct buffer ready;
    size_t ready_written_bytes;
    struct unwritten ready_put; /* of it, and not reported as written */
    uint64_t ready_put_bytes;   /* all of them */
    struct list held;
    size_t held_bytes;
    uint32_t held_count;
    uint64_t line_wait_ns;
    int line_open; /* and its rank may continue it */
    uint64_t line_source;
    uint8_t line_stream;
    size_t line_bytes;      /* of it */
    uint64_t line_since_ns; /* when its rank got the output */
    uint64_t line_last_ns;  /* when it last grew */
    enum line_state {
        LINE_START,  /* nothing, or a newline, was put last */
        LINE_INSIDE, /* of a line that continues, perhaps later */
        LINE_ENDED,  /* after a line that ended without a newline */
    } state;
    int failed;
    int has_status; /* a line that passes is shown, and the cursor is in it */
};

struct output_writer {
    struct loop *loop;
    const struct output_writer_events *events;
    void *context;
    struct output_label_style style;
    int discarding;
    struct sink sinks[2];
    struct sink *of_stream[3]; /* 1 and 2 */
    struct sink *messages;     /* ours */
    struct list busy;          /* sinks */
    int flush_deferred;
    const struct output_route *route; /* NULL: all goes to the user's descriptors */
    struct output_files *files;       /* each has a sink; NULL: without a route */
    struct output_fold *fold;         /* NULL: lines are not folded */
};

/* Invariants between two calls. */
static void sink_check(const struct sink *sink)
{
    assert(sink->ready_written_bytes <= sink->ready.length_bytes);
    assert((sink->held_count == 0) == (list_is_empty(&sink->held) != 0));
    assert(sink->held_count > 0 || sink->held_bytes == 0);
    assert(sink->line_open == (sink->state == LINE_INSIDE));
}

static size_t sink_left(const struct sink *sink)
{
    return sink->ready.length_bytes - sink->ready_written_bytes;
}

static int writer_has_labels(const struct output_writer *writer)
{
    return writer->style.ranks || writer->style.times != OUTPUT_LABEL_NO_TIME;
}

static void writer_flush(void *context);

static void sink_flush_soon(struct sink *sink)
{
    struct output_writer *writer = sink->writer;

    if (!list_is_linked(&sink->busy))
        list_append(&writer->busy, &sink->busy);
    if (!writer->flush_deferred) {
        writer->flush_deferred = 1;
        loop_defer(writer->loop, writer_flush, writer);
    }
}

/* ---- lines ---- */

static uint64_t source_of(const struct output_piece *output)
{
    return (uint64_t)output->job << 32 | output->rank;
}

static int sink_is_owner(const struct sink *sink, const struct output_piece *output)
{
    return sink->line_open && sink->line_source == source_of(output) &&
           sink->line_stream == output->stream;
}

/* Before anything is appended to what is ready. */
static void sink_clear_status(struct sink *sink)
{
    if (sink->has_status)
        buffer_append_string(&sink->ready, CLEAR_LINE);
    sink->has_status = 0;
}

/* A label precedes each line, and each piece of a line that others have interrupted.  A line that
 * ended without a newline gets one before the next label. */
static void sink_append_labelled(struct sink *sink, const struct output_piece *output)
{
    int at_start = !sink_is_owner(sink, output);
    const char *data = output->data;
    size_t data_bytes = output->data_bytes;

    if (sink->state == LINE_ENDED)
        buffer_append_string(&sink->ready, "\n");
    while (data_bytes > 0) {
        const char *newline = memchr(data, '\n', data_bytes);
        size_t line_bytes = newline != NULL ? (size_t)(newline - data) + 1 : data_bytes;
        if (at_start)
            output_label_append(&sink->writer->style, output->job, output->rank, output->time_ns,
                                &sink->ready);
        buffer_append(&sink->ready, data, line_bytes);
        at_start = 1;
        data += line_bytes;
        data_bytes -= line_bytes;
    }
}

/* The stream has ended, so its line stays unfinished. */
static void sink_end_line(struct sink *sink)
{
    if (!sink->line_open)
        return;
    sink->line_open = 0;
    sink->state = LINE_ENDED;
}

static void sink_follow_line(struct sink *sink, const struct output_piece *output)
{
    const char *data = output->data;
    size_t data_bytes = output->data_bytes;
    const char *newline = memrchr(data, '\n', data_bytes);
    uint64_t now_ns = loop_now_ns();

    assert(data_bytes > 0);
    if (!sink_is_owner(sink, output)) {
        sink->line_since_ns = now_ns;
        sink->line_bytes = 0;
    }
    if (newline != NULL)
        sink->line_bytes = 0;
    sink->line_bytes += newline != NULL ? (size_t)(data + data_bytes - newline) - 1 : data_bytes;
    sink->line_last_ns = now_ns;
    sink->line_open = data[data_bytes - 1] != '\n';
    sink->line_source = source_of(output);
    sink->line_stream = output->stream;
    sink->state = sink->line_open ? LINE_INSIDE : LINE_START;
}

static void sink_owe(struct sink *sink, const struct output_piece *output)
{
    assert(output->data_bytes <= UINT32_MAX);
    unwritten_add(&sink->ready_put,
                  &(struct unwritten_part){.job = output->number,
                                           .place = output->place,
                                           .bytes = (uint32_t)output->data_bytes});
    sink->ready_put_bytes += output->data_bytes;
}

/* Queues the bytes for writing. */
static void sink_accept(struct sink *sink, const struct output_piece *output)
{
    if (output->data_bytes == 0) {
        if (sink_is_owner(sink, output))
            sink_end_line(sink);
        return;
    }
    sink_clear_status(sink);
    if (writer_has_labels(sink->writer))
        sink_append_labelled(sink, output);
    else
        buffer_append(&sink->ready, output->data, output->data_bytes);
    sink_owe(sink, output);
    sink_follow_line(sink, output);
}

static void sink_accept_piece(struct sink *sink, struct piece *piece)
{
    assert(sink->held_count > 0 && sink->held_bytes >= piece->output.data_bytes);
    list_remove(&piece->node);
    sink->held_bytes -= piece->output.data_bytes;
    sink->held_count--;
    sink_accept(sink, &piece->output);
    free(piece);
}

/* Appends the owner's later output to its open line, until the line ends. */
static void sink_accept_owner(struct sink *sink)
{
    struct list_link *node, *next;

    list_for_each(&sink->held, node, next)
    {
        struct piece *piece = list_entry(node, struct piece, node);
        if (!sink->line_open)
            break;
        if (sink_is_owner(sink, &piece->output))
            sink_accept_piece(sink, piece);
    }
}

/* When a piece has waited long enough.  For a long line that keeps growing, time counts from when
 * its rank got the output, so that each gets a turn; a line that has stalled although all of it was
 * written is not waited for. */
static uint64_t sink_deadline_ns(const struct sink *sink, const struct piece *piece)
{
    uint64_t from_ns = piece->arrival_ns, still_ns;

    if (sink->line_bytes < LONG_LINE_BYTES)
        return from_ns + sink->line_wait_ns;
    if (from_ns < sink->line_since_ns)
        from_ns = sink->line_since_ns;
    still_ns = (sink_left(sink) > 0 ? loop_now_ns() : sink->line_last_ns) +
               LINE_WAIT_MS * (uint64_t)NS_PER_MS;
    from_ns += sink->line_wait_ns;
    return from_ns < still_ns ? from_ns : still_ns;
}

/* Accepts pieces that need no longer be held back; all: no line will continue. */
static void sink_release(struct sink *sink, int all)
{
    int overflow = sink->held_bytes > HELD_BYTES_MAX || sink->held_count > HELD_PIECES_MAX;
    uint64_t now_ns = loop_now_ns();
    struct list_link *node;

    if (all)
        sink_end_line(sink);
    while ((node = list_first(&sink->held)) != NULL) {
        struct piece *piece = list_entry(node, struct piece, node);
        uint64_t deadline_ns = sink_deadline_ns(sink, piece);
        if (sink->line_open && !overflow && deadline_ns > now_ns) {
            loop_timer_set(sink->timer, deadline_ns);
            return;
        }
        sink_accept_piece(sink, piece);
        sink_accept_owner(sink);
        if (all)
            sink_end_line(sink);
    }
    loop_timer_cancel(sink->timer);
}

static void sink_wait_over(void *context)
{
    struct sink *sink = context;

    sink_release(sink, 0);
    sink_flush_soon(sink);
}

static void sink_hold(struct sink *sink, const struct output_piece *output)
{
    struct piece *piece = memory_allocate(sizeof(*piece) + output->data_bytes);

    *piece = (struct piece){.arrival_ns = loop_now_ns(), .output = *output};
    if (output->data_bytes > 0)
        memcpy(piece->data, output->data, output->data_bytes);
    piece->output.data = piece->data;
    list_append(&sink->held, &piece->node);
    sink->held_bytes += output->data_bytes;
    sink->held_count++;
    sink_release(sink, 0);
}

static void sink_put(struct sink *sink, const struct output_piece *output)
{
    if (sink->line_open && !sink_is_owner(sink, output)) {
        sink_hold(sink, output);
        return;
    }
    sink_accept(sink, output);
    if (!list_is_empty(&sink->held))
        sink_release(sink, 0);
}

/* ---- writing ---- */

static void sink_drop(struct sink *sink)
{
    struct list_link *node;

    while ((node = list_first(&sink->held)) != NULL) {
        struct piece *piece = list_entry(node, struct piece, node);

        list_remove(node);
        /* Reported as written by the next flush. */
        sink_owe(sink, &piece->output);
        free(piece);
    }
    sink->held_bytes = 0;
    sink->held_count = 0;
    sink->line_open = 0;
    sink->state = LINE_START;
    sink->ready_written_bytes = 0;
    buffer_fini(&sink->ready);
    loop_timer_cancel(sink->timer);
}

static void sink_fail(struct sink *sink, int code)
{
    struct error error;

    error_set(&error, code, "cannot write to %s: %s%s", sink->name, strerror(-code),
              code == -EPIPE ? " (the reader has exited)" : "");
    sink_drop(sink);
    sink->failed = 1;
    sink->writer->events->failed(sink->writer->context, &error);
}

/* Writes as much as the descriptor takes; returns the bytes removed from ready. */
static size_t sink_write(struct sink *sink)
{
    size_t written = 0;

    if (sink->file != NULL && sink_left(sink) > 0) {
        sink->to.fd = output_files_open(sink->writer->files, sink->file);
        if (sink->to.fd < 0)
            sink_fail(sink, sink->to.fd);
    }
    while (sink_left(sink) > 0 && written < TURN_BYTES_MAX) {
        long rc = output_sink_fd_write(&sink->to, sink->ready.data + sink->ready_written_bytes,
                                       sink_left(sink));
        if (rc == -EAGAIN)
            break;
        if (rc < 0) {
            sink_fail(sink, (int)rc);
            break;
        }
        sink->ready_written_bytes += (size_t)rc;
        written += (size_t)rc;
    }
    return written;
}

/* Reports the put bytes among those written: in proportion, all of them at the end. */
static int sink_report_written(struct sink *sink, size_t written_bytes)
{
    struct output_writer *writer = sink->writer;
    uint64_t bytes = sink->ready_put_bytes;
    size_t left = sink_left(sink), cursor = 0;
    struct unwritten_part part;
    int has_any;

    if (left > 0)
        bytes = (uint64_t)((double)bytes * (double)written_bytes / (double)(written_bytes + left));
    assert(bytes <= sink->ready_put_bytes);
    has_any = bytes > 0;
    while (bytes > 0 && unwritten_take_next(&sink->ready_put, &cursor, bytes, &part)) {
        bytes -= part.bytes;
        sink->ready_put_bytes -= part.bytes;
        writer->events->written(writer->context, &part);
    }
    assert(bytes == 0);
    return has_any;
}

static void sink_trim(struct sink *sink)
{
    if (sink_left(sink) == 0) {
        buffer_clear(&sink->ready);
        sink->ready_written_bytes = 0;
        if (sink->ready.capacity_bytes > KEEP_BYTES_MAX || sink->file != NULL)
            buffer_fini(&sink->ready);
    } else if (sink->ready_written_bytes > sink->ready.length_bytes / 2) {
        buffer_consume(&sink->ready, sink->ready_written_bytes);
        sink->ready_written_bytes = 0;
    }
}

static void sink_ready(void *context, int fd, unsigned int ready)
{
    struct sink *sink = context;

    sink_flush_soon(sink);
}

/* Waits until the rest can be written. */
static void sink_wait(struct sink *sink)
{
    if (sink_left(sink) == 0) {
        loop_watch_destroy(sink->watch);
        sink->watch = NULL;
    } else if (sink->to.kind == SINK_FILE) {
        sink_flush_soon(sink);
    } else if (sink->watch == NULL) {
        sink->watch =
            loop_watch_create(sink->writer->loop, sink->to.fd, LOOP_WRITE, sink_ready, sink);
    }
}

static void writer_flush(void *context)
{
    struct output_writer *writer = context;
    int has_moved = 0;
    struct list_link *link, *last = list_last(&writer->busy);

    writer->flush_deferred = 0;
    while (last != NULL && (link = list_first(&writer->busy)) != NULL) {
        struct sink *sink = list_entry(link, struct sink, busy);
        size_t written;

        last = link == last ? NULL : last; /* those that come now have the next turn */
        list_remove(link);
        written = sink_write(sink);
        has_moved |= sink_report_written(sink, written) | (written > 0);
        sink_trim(sink);
        sink_wait(sink);
    }
    if (has_moved)
        writer->events->moved(writer->context);
}

/* ---- the interface ---- */

static void sink_init(struct sink *sink, struct output_writer *writer, const char *name,
                      struct sink_fd to)
{
    *sink = (struct sink){.writer = writer, .name = name, .to = to};
    sink->line_wait_ns =
        (to.fd >= 0 && isatty(to.fd) ? LINE_WAIT_MS : WHOLE_LINE_WAIT_MS) * (uint64_t)NS_PER_MS;
    list_init(&sink->held);
    list_link_init(&sink->busy);
    sink->timer = loop_timer_create(writer->loop, sink_wait_over, sink);
}

static void sink_fini(struct sink *sink)
{
    sink_drop(sink);
    unwritten_fini(&sink->ready_put);
    list_remove(&sink->busy);
    loop_watch_destroy(sink->watch);
    loop_timer_destroy(sink->timer);
    if (sink->file == NULL)
        output_sink_fd_close(&sink->to);
}

/* All sinks, the user's descriptors first; begin with *cursor = 0; NULL at the end. */
static struct sink *next_sink(const struct output_writer *writer, size_t *cursor)
{
    const size_t own = sizeof(writer->sinks) / sizeof(writer->sinks[0]);
    size_t at = *cursor < own ? 0 : *cursor - own;
    struct output_file *file;

    if (*cursor < own)
        return (struct sink *)&writer->sinks[(*cursor)++];
    if (writer->files == NULL || (file = output_files_next(writer->files, &at)) == NULL)
        return NULL;
    *cursor = own + at;
    return *output_files_user(file);
}

static struct sink *sink_of_path(struct output_writer *writer, const char *path)
{
    struct output_file *file = output_files_find(writer->files, path);
    void **user = output_files_user(file);
    struct sink *sink = *user;

    if (sink != NULL)
        return sink;
    sink = memory_allocate_zeroed(sizeof(*sink));
    sink_init(sink, writer, output_files_path(file), (struct sink_fd){.kind = SINK_FILE, .fd = -1});
    sink->file = file;
    *user = sink;
    return sink;
}

static struct sink *sink_of_output(struct output_writer *writer, const struct output_piece *output)
{
    const struct output_route *route = writer->route;
    uint8_t stream = route != NULL && route->output->is_merged ? 1 : output->stream;
    struct request_output_names names = {
        .job = output->number, .rank = output->rank, .stream = stream};
    char node[HOST_NAME_BYTES_MAX + 1] = "unknown";
    struct buffer path = {0};
    struct sink *sink;

    if (route == NULL || route->output->patterns[stream - 1] == NULL)
        return writer->of_stream[stream];
    if (output->place > 0 && output->place <= allocation_nodes(route->nodes))
        hostlist_name(route->nodes->names, output->place - 1, node);
    names.node = node;
    request_output_path(route->output->patterns[stream - 1], &names, &path);
    sink = sink_of_path(writer, buffer_string(&path));
    buffer_fini(&path);
    return sink;
}

struct output_writer *output_writer_create(struct loop *loop, int stdout_fd, int stderr_fd,
                                           const struct output_label_style *style,
                                           const struct output_writer_events *events, void *context)
{
    struct output_writer *writer = memory_allocate_zeroed(sizeof(*writer));

    writer->loop = loop;
    writer->events = events;
    writer->context = context;
    writer->style = *style;
    list_init(&writer->busy);
    sink_init(&writer->sinks[0], writer, "stdout", output_sink_fd_open(stdout_fd));
    sink_init(&writer->sinks[1], writer, "stderr", output_sink_fd_open(stderr_fd));
    writer->of_stream[1] = &writer->sinks[0];
    writer->of_stream[2] = &writer->sinks[output_sink_fd_same(stdout_fd, stderr_fd) ? 0 : 1];
    writer->messages = writer->of_stream[2];
    return writer;
}

/* A line of ranks, for the user's descriptors. */
static void writer_fold_line(void *context, const struct output_fold_source *source,
                             const struct ranges *ranks, uint64_t time_ns, const char *line,
                             size_t line_bytes)
{
    struct output_writer *writer = context;
    const struct output_label_style style = {.times = writer->style.times};
    struct sink *sink = writer->of_stream[writer->route->output->is_merged ? 1 : source->stream];

    if (sink->failed || writer->discarding)
        return;
    sink_clear_status(sink);
    output_label_append(&style, source->job, source->rank, time_ns, &sink->ready);
    buffer_append_string(&sink->ready, "[");
    if (source->job > 0)
        buffer_printf(&sink->ready, "%u.", source->job);
    ranges_print(ranks, &sink->ready);
    buffer_append_string(&sink->ready, "] ");
    buffer_append(&sink->ready, line, line_bytes);
    buffer_append_string(&sink->ready, "\n");
    sink_flush_soon(sink);
}

/* The bytes count as written as soon as what was queued before is: what waits to be folded is
 * bounded. */
static void writer_fold(struct output_writer *writer, struct sink *sink,
                        const struct output_piece *output)
{
    const struct output_fold_source source = {
        .job = output->job, .rank = output->rank, .stream = output->stream};

    sink_owe(sink, output);
    output_fold_put(writer->fold, &source, output->time_ns, output->data, output->data_bytes);
}

void output_writer_route(struct output_writer *writer, const struct output_route *route)
{
    assert(writer->route == NULL && route->output != NULL && route->nodes != NULL);
    writer->route = route;
    writer->files = output_files_create();
    if (route->output->is_folded)
        writer->fold = output_fold_create(writer->loop, writer_fold_line, writer);
}

int output_writer_close_files(struct output_writer *writer, struct error *error)
{
    return writer->files != NULL ? output_files_close(writer->files, error) : 0;
}

void output_writer_destroy(struct output_writer *writer)
{
    struct sink *sink;
    size_t cursor = 0;

    if (writer == NULL)
        return;
    loop_defer_cancel(writer->loop, writer);
    output_fold_destroy(writer->fold);
    while ((sink = next_sink(writer, &cursor)) != NULL) {
        sink_fini(sink);
        if (sink->file != NULL)
            free(sink);
    }
    output_files_destroy(writer->files);
    free(writer);
}

/* Of spawned jobs all output is shown. */
static int is_left_out(const struct output_writer *writer, const struct output_piece *output)
{
    return writer->route != NULL && output->job == 0 &&
           !ranges_is_empty(&writer->route->output->from) &&
           !ranges_contains(&writer->route->output->from, output->rank);
}

void output_writer_put(struct output_writer *writer, const struct output_piece *output)
{
    struct sink *sink;

    assert(output->stream == 1 || output->stream == 2);
    sink = sink_of_output(writer, output);
    sink_check(sink);
    if (sink->failed || writer->discarding || is_left_out(writer, output))
        sink_owe(sink, output);
    else if (writer->fold != NULL)
        writer_fold(writer, sink, output);
    else
        sink_put(sink, output);
    sink_flush_soon(sink);
}

void output_writer_message(struct output_writer *writer, const char *text)
{
    struct sink *sink = writer->messages;

    sink_check(sink);
    if (sink->failed)
        return;
    sink_clear_status(sink);
    if (sink->state != LINE_START)
        buffer_append_string(&sink->ready, "\n");
    sink->line_open = 0;
    sink->state = LINE_START;
    buffer_printf(&sink->ready, "banyan: %s\n", text);
    sink_release(sink, 0);
    sink_flush_soon(sink);
}

void output_writer_status(struct output_writer *writer, const char *text)
{
    struct sink *sink = writer->messages;

    sink_check(sink);
    if (sink->failed || (text == NULL && !sink->has_status))
        return;
    if (text != NULL && (sink->state != LINE_START || sink_left(sink) > 0 || sink->held_count > 0))
        return;
    sink_clear_status(sink);
    if (text != NULL)
        buffer_append_string(&sink->ready, text);
    sink->has_status = text != NULL;
    sink_flush_soon(sink);
}

void output_writer_release(struct output_writer *writer)
{
    struct sink *sink;
    size_t cursor = 0;

    output_writer_status(writer, NULL);
    if (writer->fold != NULL)
        output_fold_release(writer->fold);
    while ((sink = next_sink(writer, &cursor)) != NULL) {
        sink_release(sink, 1);
        if (writer_has_labels(writer) && sink->state != LINE_START) {
            buffer_append_string(&sink->ready, "\n");
            sink->line_open = 0;
            sink->state = LINE_START;
        }
        sink_flush_soon(sink);
    }
}

void output_writer_discard(struct output_writer *writer)
{
    struct sink *sink;
    size_t cursor = 0;

    writer->discarding = 1;
    if (writer->fold != NULL)
        output_fold_drop(writer->fold);
    while ((sink = next_sink(writer, &cursor)) != NULL) {
        sink_check(sink);
        sink_drop(sink);
        sink_flush_soon(sink);
    }
}

size_t output_writer_queued(const struct output_writer *writer)
{
    const struct sink *sink;
    size_t queued = writer->fold != NULL ? output_fold_bytes(writer->fold) : 0;
    size_t cursor = 0;

    while ((sink = next_sink(writer, &cursor)) != NULL)
        queued += sink_left(sink) + sink->held_bytes;
    return queued;
}
