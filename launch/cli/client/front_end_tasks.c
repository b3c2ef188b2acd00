/* SPDX-License-Identifier: BSD-3-Clause */
/* The front end of `banyan run --tasks`: connects task_run.h to the root and to standard input. */
#include "config.h"

#include "launch/cli/client/front_end_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/proto/exit_status.h"
#include "launch/proto/feed.h"

static void feed_worker(void *context, uint32_t worker, const void *data, size_t bytes)
{
    struct buffer payload = {0};

    control_put_number(worker, &payload);
    buffer_append(&payload, data, bytes);
    front_end_send(context, CONTROL_FEED, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

static void run_failed(void *context, const char *text)
{
    front_end_fail(context, EXIT_STATUS_FAILED, RUN_FAILURE_BANYAN, text);
}

int front_end_tasks_create(struct front_end *front, int *ret_left, struct error *error)
{
    static const struct task_run_ops ops = {.feed = feed_worker, .failed = run_failed};

    front->tasks = task_run_create(front->request->tasks, &ops, front, error);
    if (front->tasks == NULL)
        return error->code;
    *ret_left = !task_run_is_over(front->tasks);
    return 0;
}

/* ---- a list on standard input ---- */

static void on_list(void *context, const void *data, size_t bytes)
{
    struct front_end *front = context;

    task_run_list(front->tasks, data, bytes);
    if (bytes > 0)
        input_reader_credit(front->input, (uint32_t)bytes);
}

static void on_list_failed(void *context, const struct error *error)
{
    run_failed(context, error->text);
}

void front_end_tasks_open_input(struct front_end *front)
{
    static const struct input_reader_events events = {.data = on_list, .failed = on_list_failed};

    if (!front->request->tasks->streams || front->input != NULL)
        return;
    front->input =
        input_reader_create(front->loop, STDIN_FILENO, CONTROL_STDIN_WINDOW, &events, front);
}

/* ---- messages of the root ---- */

/* On their stderr workers have only to say why they cannot work. */
void front_end_tasks_output(struct front_end *front, const struct control_output *output)
{
    size_t bytes = output->bytes.length_bytes;

    if (output->stream == 1)
        task_run_output(front->tasks, output->rank, output->bytes.data, bytes);
    else
        output_writer_put(front->writer, &(struct output_piece){.number = front->job,
                                                                .rank = output->rank,
                                                                .place = output->place,
                                                                .stream = output->stream,
                                                                .time_ns = output->time_ns,
                                                                .data = output->bytes.data,
                                                                .data_bytes = bytes});
    if (bytes > 0)
        front_end_acknowledge(front, &(struct unwritten_part){.job = front->job,
                                                              .place = output->place,
                                                              .bytes = (uint32_t)bytes});
}

int front_end_tasks_message(struct front_end *front, uint8_t type, struct wire_reader *reader)
{
    struct ranges places;
    struct feed_end end;
    uint32_t job;

    if (front->tasks == NULL)
        return -EBADMSG;
    if (type == CONTROL_FEED_END) {
        if (feed_end_decode(&end, reader) < 0)
            return -EBADMSG;
        if (end.job == front->job)
            task_run_ended(front->tasks, end.rank);
        return 0;
    }
    assert(type == CONTROL_FEED_LOST);
    if (feed_lost_decode(&job, &places, reader) < 0)
        return -EBADMSG;
    if (job == front->job)
        task_run_lost(front->tasks, &places);
    ranges_fini(&places);
    return 0;
}

void front_end_tasks_end(const struct front_end *front, struct control_job_end *end)
{
    char text[sizeof(end->text)];
    uint32_t status = task_run_status(front->tasks, text, sizeof(text));

    /* The user has ended it, or it has never begun, or nobody was left to go on. */
    if (front->end_wishes > 0 || front->has_failure || (end->banyan_failed && status > 0))
        return;
    end->status = status;
    end->banyan_failed = 0;
    snprintf(end->text, sizeof(end->text), "%s", text);
}
