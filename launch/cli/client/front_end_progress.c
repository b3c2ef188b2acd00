/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line on the user's terminal that says what a run is waiting for, once that has taken more than a second: nodes, then
 * processes, then their initialisation by PMI.  It goes before anything else is printed (output_writer_status), and is
 * neither in pipes nor in files.  The root is asked while the line is shown, less and less often once all
 * processes run, as a program need not use PMI.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/time.h"
#include "launch/cli/client/front_end_internal.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/progress.h"

#define LINE_BYTES    200
#define WIDTH_MIN     20
#define WIDTH_DEFAULT 80
/* After that long with all processes running and none connected: the program does not use PMI. */
#define QUIET_S 30u

struct front_progress {
    struct loop_timer *timer;
    struct progress last;
    uint64_t started_ns; /* when all processes ran; 0: not yet */
    uint64_t pause_ns;   /* between two questions */
    int is_known;        /* last is an answer */
    int is_asked;
    int has_failed; /* the root refuses to answer: only the time is shown */
    int has_colour;
};

/* In the background it would disturb the shell. */
static int is_in_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

static size_t terminal_width(void)
{
    struct winsize size = {0};

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return WIDTH_DEFAULT;
    return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
}

/* ---- the line ---- */

/* What is waited for; "": nothing. */
static void describe(const struct front_progress *progress, char text[LINE_BYTES])
{
    const struct progress *last = &progress->last;
    unsigned long long connected = last->count.connected, processes = last->processes;

    text[0] = '\0';
    if (!progress->is_known && progress->started_ns == 0)
        snprintf(text, LINE_BYTES, "starting");
    else if (!progress->is_known)
        return;
    else if (last->phase == PROGRESS_NODES)
        snprintf(text, LINE_BYTES, "starting: %u of %u nodes up", last->nodes_up, last->nodes);
    else if (last->phase == PROGRESS_WAITS)
        snprintf(text, LINE_BYTES, "the job waits: %u of %u nodes up", last->nodes_up, last->nodes);
    else if (progress->started_ns == 0)
        snprintf(text, LINE_BYTES, "starting: %llu of %llu processes started",
                 (unsigned long long)last->count.started, processes);
    else if (connected > 0 && connected < processes)
        snprintf(text, LINE_BYTES, "initializing: %llu of %llu processes connected by PMI",
                 connected, processes);
}

static void draw(struct front_end *front)
{
    const struct front_progress *progress = front->progress;
    uint64_t seconds = (loop_now_ns() - front->record.start_ns) / NS_PER_S;
    char text[LINE_BYTES], line[2 * LINE_BYTES], coloured[3 * LINE_BYTES];
    int width = (int)terminal_width() - 1;

    describe(progress, text);
    if (text[0] == '\0' || seconds == 0 || !is_in_foreground()) {
        output_writer_status(front->writer, NULL);
        return;
    }
    snprintf(line, sizeof(line), "banyan: %s (%llu s)", text, (unsigned long long)seconds);
    snprintf(coloured, sizeof(coloured), "%s%.*s%s", progress->has_colour ? "\033[2m" : "", width,
             line, progress->has_colour ? "\033[0m" : "");
    output_writer_status(front->writer, coloured);
}

/* ---- the root ---- */

static void ask(struct front_end *front)
{
    struct front_progress *progress = front->progress;
    struct control_request request = {.request = FRONT_PROGRESS_REQUEST,
                                      .kind = JOB_MESSAGE_PROGRESS};
    struct buffer payload = {0}, data = {0};

    if (progress->is_asked || progress->has_failed || front->channel == NULL || front->job == 0)
        return;
    progress_encode_request(front->job, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    control_request_encode(&request, &payload);
    channel_send_buffer(front->channel, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    buffer_fini(&data);
    progress->is_asked = 1;
}

static int is_over(const struct front_end *front)
{
    const struct front_progress *progress = front->progress;
    const struct progress_count *count = &progress->last.count;

    if (progress->started_ns == 0)
        return 0;
    return front->tasks != NULL || progress->has_failed ||
           (count->connected > 0 && count->connected == progress->last.processes) ||
           (count->connected == 0 &&
            loop_now_ns() - progress->started_ns > QUIET_S * (uint64_t)NS_PER_S);
}

static void on_tick(void *context)
{
    struct front_end *front = context;
    struct front_progress *progress = front->progress;

    assert(progress != NULL);
    if (is_over(front)) {
        front_end_progress_close(front);
        return;
    }
    draw(front);
    ask(front);
    if (progress->started_ns > 0 && progress->last.count.connected == 0)
        progress->pause_ns *= 2;
    loop_timer_set(progress->timer, loop_now_ns() + progress->pause_ns);
}

int front_end_progress_answer(struct front_end *front, const struct control_answer *answer)
{
    struct front_progress *progress = front->progress;
    struct wire_reader inner;
    struct progress last;

    assert(answer->request == FRONT_PROGRESS_REQUEST);
    if (progress == NULL)
        return 0; /* it comes too late */
    progress->is_asked = 0;
    if (answer->status < 0) {
        progress->has_failed = answer->status != -EAGAIN;
        progress->is_known = 0;
        return 0;
    }
    wire_reader_init(&inner, answer->data.data, answer->data.length_bytes);
    if (progress_decode(&last, &inner) < 0)
        return -EBADMSG;
    progress->last = last;
    progress->is_known = 1;
    draw(front);
    return 0;
}

void front_end_progress_started(struct front_end *front)
{
    struct front_progress *progress = front->progress;

    if (progress == NULL)
        return;
    progress->started_ns = loop_now_ns();
    progress->is_known = 0;
    output_writer_status(front->writer, NULL);
}

/* ---- life ---- */

void front_end_progress_open(struct front_end *front)
{
    const char *terminal = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    struct front_progress *progress;

    assert(front->progress == NULL);
    if (!isatty(STDERR_FILENO) || terminal == NULL || strcmp(terminal, "dumb") == 0)
        return;
    progress = memory_allocate_zeroed(sizeof(*progress));
    progress->pause_ns = NS_PER_S;
    progress->has_colour = no_colour == NULL || no_colour[0] == '\0';
    progress->timer = loop_timer_create(front->loop, on_tick, front);
    loop_timer_set(progress->timer, front->record.start_ns + NS_PER_S);
    front->progress = progress;
}

void front_end_progress_close(struct front_end *front)
{
    struct front_progress *progress = front->progress;

    if (progress == NULL)
        return;
    output_writer_status(front->writer, NULL);
    loop_timer_destroy(progress->timer);
    free(progress);
    front->progress = NULL;
}
