/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/caller_signal.h"
#include "launch/cli/client/front_end_internal.h"
#include "launch/cli/client/raw_terminal.h"
#include "launch/proto/exit_status.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- signals ---- */

static void send_signal(struct front_end *front, int number)
{
    struct buffer payload = {0};

    assert(number > 0 && number < NSIG);
    control_put_number((uint32_t)number, &payload);
    front_end_send(front, CONTROL_SIGNAL, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

static const char *end_reason(int number)
{
    switch (number) {
    case SIGINT:
        return "interrupted";
    case SIGTERM:
        return "terminated";
    case SIGHUP:
        return "hung up";
    default:
        return "quit";
    }
}

/* The first asks for the end; another one, or SIGQUIT, for an immediate end; SIGHUP is sent by both
 * the kernel and the shell, so it never counts twice.  Output that is not read is dropped after a
 * second. */
static void on_end_signal(void *context)
{
    struct front_signal *signal = context;
    struct front_end *front = signal->front;
    uint32_t status = EXIT_STATUS_SIGNAL + (uint32_t)signal->number;
    int at_once = signal->number == SIGQUIT || (front->end_wishes > 0 && signal->number != SIGHUP);

    assert(signal->number > 0 && signal->number < NSIG);
    front->end_wishes++;
    if (!front->has_failure && !front->has_job_end)
        front->record.status = status;
    front_end_ask_end(front, status, at_once, end_reason(signal->number));
    if (front->end_wishes == 1)
        front_end_watch_reader(front);
    else if (at_once)
        output_writer_discard(front->writer);
}

static void on_forwarded_signal(void *context)
{
    struct front_signal *signal = context;

    send_signal(signal->front, signal->number);
}

static void stop_ourselves(void *context)
{
    raw_terminal_leave(); /* output may have entered it again */
    kill(getpid(), SIGSTOP);
}

/* Ctrl-Z: stops the ranks, then ourselves, once the message has left.  With --pty the key goes to the rank. */
static void on_stop(void *context)
{
    struct front_signal *signal = context;

    raw_terminal_leave();
    send_signal(signal->front, SIGSTOP);
    output_writer_status(signal->front->writer, NULL);
    loop_defer(signal->front->loop, stop_ourselves, signal);
}

static void on_continue(void *context)
{
    struct front_signal *signal = context;

    send_signal(signal->front, SIGCONT);
    if (signal->front->request->job.has_terminal && signal->front->input != NULL)
        raw_terminal_enter();
    if (signal->front->input != NULL)
        input_reader_resume(signal->front->input);
}

/* The terminal has another size. */
static void on_window(void *context)
{
    const struct front_signal *signal = context;
    struct front_end *front = signal->front;
    struct buffer payload = {0};
    struct window window;

    if (!front->request->job.has_terminal || front->channel == NULL ||
        raw_terminal_size(&window) < 0)
        return;
    window_encode(&window, &payload);
    front_end_send(front, CONTROL_WINDOW, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

struct signal_rule {
    int number;
    loop_function *function;
};

static const struct signal_rule signal_rules[] = {
    {SIGINT, on_end_signal},  {SIGTERM, on_end_signal},       {SIGHUP, on_end_signal},
    {SIGQUIT, on_end_signal}, {SIGUSR1, on_forwarded_signal}, {SIGUSR2, on_forwarded_signal},
    {SIGTSTP, on_stop},       {SIGCONT, on_continue},         {SIGWINCH, on_window},
};

void front_end_open_user(struct front_end *front)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN); /* a read from the background then fails with EIO */
    for (size_t i = 0; i < sizeof(signal_rules) / sizeof(signal_rules[0]); i++) {
        struct front_signal *entry = &front->signals[front->signals_count];
        assert(front->signals_count < FRONT_SIGNALS_MAX);
        if (caller_signal_is_ignored(signal_rules[i].number))
            continue;
        *entry = (struct front_signal){.front = front, .number = signal_rules[i].number};
        entry->watch = loop_signal_create(front->loop, signal_rules[i].number,
                                          signal_rules[i].function, entry);
        front->signals_count++;
    }
}

/* ---- input ---- */

static void on_input(void *context, const void *data, size_t bytes)
{
    struct front_end *front = context;

    if (front->request->job.has_terminal && bytes > 0)
        raw_terminal_enter(); /* it has been moved to the foreground */
    front_end_send(front, CONTROL_STDIN, data, bytes);
}

static void on_input_failed(void *context, const struct error *error)
{
    front_end_message(context, error->text);
}

void front_end_open_input(struct front_end *front)
{
    static const struct input_reader_events events = {.data = on_input, .failed = on_input_failed};

    if (front->tasks != NULL) {
        front_end_tasks_open_input(front);
        return;
    }
    if (front->request->job.stdin_rank == UINT32_MAX || front->input != NULL)
        return;
    if (front->request->job.has_terminal && !front->said_end)
        raw_terminal_enter();
    front->input =
        input_reader_create(front->loop, STDIN_FILENO, CONTROL_STDIN_WINDOW, &events, front);
}

void front_end_close_user(struct front_end *front)
{
    raw_terminal_leave();
    input_reader_destroy(front->input);
    for (uint32_t i = 0; i < front->signals_count; i++) {
        if (front->signals[i].watch != NULL)
            loop_signal_destroy(front->signals[i].watch);
    }
}
