/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/front_end_internal.h"
#include "launch/cli/client/raw_terminal.h"
#include "launch/exec/session.h"
#include "launch/proto/exit_status.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LEAVE_WAIT_MS 10000 /* from the job's end to the end of the last daemon */
#define LAST_WORDS_MS 1000  /* from the root's end to the end of its channel */
#define RUN_REQUEST   1     /* there is one */

static void on_unreadable(struct front_end *front)
{
    front_end_fail(front, EXIT_STATUS_FAILED, RUN_FAILURE_BANYAN,
                   "cannot decode a message from the root; this is a bug in banyan");
}

static void on_spawned(struct front_end *front, struct wire_reader *reader)
{
    uint32_t child = control_get_number(reader);

    if (wire_finish(reader) < 0 || child == 0)
        on_unreadable(front);
    else
        ranges_add(&front->children, child, child);
}

/* Of a spawned job there is nothing to say. */
static void on_started(struct front_end *front, uint32_t job, struct wire_reader *reader)
{
    struct control_started started;

    if (control_started_decode(&started, reader) < 0) {
        on_unreadable(front);
        return;
    }
    if (job != front->job)
        return;
    front->record.nodes_used = started.nodes;
    front->record.processes = started.processes;
    front_end_phase(front, RUN_PHASE_STARTED);
    front_end_progress_started(front);
    if (front->tasks != NULL)
        task_run_started(front->tasks, started.processes);
    front_end_open_input(front);
}

static void on_output(struct front_end *front, uint32_t job, struct wire_reader *reader)
{
    struct control_output output;

    if (control_output_decode(&output, reader) < 0) {
        on_unreadable(front);
        return;
    }
    front_end_phase(front, RUN_PHASE_FIRST_OUTPUT);
    if (front->request->job.has_terminal && !front->said_end)
        raw_terminal_enter(); /* it may come before the news of the start */
    if (front->tasks != NULL) {
        front_end_tasks_output(front, &output);
        return;
    }
    output_writer_put(front->writer,
                      &(struct output_piece){.job = job == front->job ? 0 : job,
                                             .number = job,
                                             .rank = output.rank,
                                             .place = output.place,
                                             .stream = output.stream,
                                             .time_ns = output.time_ns,
                                             .data = output.bytes.data,
                                             .data_bytes = output.bytes.length_bytes});
}

/* The root says for what; it is a line like others. */
static void on_waits(struct front_end *front, struct wire_reader *reader)
{
    char *why;

    if (control_waits_decode(&why, reader) < 0)
        on_unreadable(front);
    else
        front_end_message(front, why);
    free(why);
}

static void say_line(void *context, const char *line)
{
    front_end_message(context, line);
}

static void on_text(struct front_end *front, struct wire_reader *reader)
{
    if (root_process_each_line(reader, say_line, front) < 0)
        on_unreadable(front);
}

static enum run_failure failure_of(const struct front_end *front, const struct control_job_end *end)
{
    if (end->status == 0)
        return RUN_FAILURE_NONE;
    if (front->end_wishes > 0)
        return RUN_FAILURE_USER;
    return end->banyan_failed ? RUN_FAILURE_BANYAN : RUN_FAILURE_PROGRAM;
}

static void on_job_end(struct front_end *front, struct wire_reader *reader)
{
    struct control_job_end end;
    struct run_summary *record = &front->record;

    if (front->has_job_end)
        return;
    if (control_job_end_decode(&end, reader) < 0) {
        on_unreadable(front);
        return;
    }
    front->has_job_end = 1;
    if (front->tasks != NULL)
        front_end_tasks_end(front, &end);
    record->processes_ended = end.processes_ended;
    if (end.processes > 0) {
        record->processes = end.processes;
        record->nodes_used = end.nodes;
    }
    if (!front->has_failure) {
        record->status = end.status;
        record->failure = failure_of(front, &end);
        snprintf(record->text, sizeof(record->text), "%s", end.text);
    } else if (record->text[0] != '\0' &&
               strncmp(end.text, record->text, strlen(record->text)) == 0) {
        snprintf(record->text, sizeof(record->text), "%s", end.text); /* the root knows more */
    }
    front_end_say_end(front);
    if (front->is_guest)
        front_end_close_root(front); /* the instance goes on */
    else
        front_end_wait_for_root(front, LEAVE_WAIT_MS + front_end_stage_leave_ms(front));
}

static void on_welcome(struct front_end *front, struct wire_reader *reader)
{
    struct control_welcome welcome;

    if (control_welcome_decode(&welcome, reader) < 0)
        on_unreadable(front);
    else
        allocation_fini(&welcome.roster);
}

static void on_refused(struct front_end *front, struct wire_reader *reader)
{
    struct control_refused refused;

    if (control_refused_decode(&refused, reader) < 0) {
        on_unreadable(front);
        return;
    }
    front_end_fail(front, EXIT_STATUS_FAILED, RUN_FAILURE_BANYAN, refused.why);
    front->has_job_end = 1;
    front_end_say_end(front);
    front_end_close_root(front);
}

static void on_accepted(struct front_end *front, struct wire_reader *reader)
{
    uint32_t request; /* we have one */

    if (control_accepted_decode(&request, &front->job, reader) < 0 || front->job == 0)
        on_unreadable(front);
    else if (front->early.length_bytes > 0)
        front_end_send(front, CONTROL_END, front->early.data, front->early.length_bytes);
    else
        front_end_stage_begin(front);
    buffer_fini(&front->early);
}

static void on_input_taken(struct front_end *front, struct wire_reader *reader)
{
    uint32_t bytes = control_get_number(reader);

    if (wire_finish(reader) < 0)
        on_unreadable(front);
    else if (front->input != NULL)
        input_reader_credit(front->input, bytes);
}

static int on_answer(struct front_end *front, struct wire_reader *reader)
{
    struct control_answer answer;

    if (control_answer_decode(&answer, reader) < 0)
        return -EBADMSG;
    if (answer.request == FRONT_ACTIVITY_REQUEST)
        return front_end_activity_answer(front, &answer);
    if (answer.request == FRONT_STACKS_REQUEST)
        return front_end_stacks_answer(front, &answer);
    if (answer.request == FRONT_PROGRESS_REQUEST)
        return front_end_progress_answer(front, &answer);
    return front_end_stage_answer(front, &answer);
}

static void on_message(void *context, uint8_t type, const void *payload, size_t payload_bytes)
{
    struct front_end *front = context;
    struct wire_reader reader;
    uint32_t job = 0;

    front_end_check(front);
    wire_reader_init(&reader, payload, payload_bytes);
    if ((type >= CONTROL_STARTED && type <= CONTROL_JOB_END) || type == CONTROL_WAITS ||
        type == CONTROL_PROFILE || type == CONTROL_TRACE)
        job = control_get_job(&reader);
    if (job != front->job && job != 0 && !ranges_contains(&front->children, job))
        return; /* not ours */
    switch (type) {
    case CONTROL_WELCOME:
        on_welcome(front, &reader);
        break;
    case CONTROL_REFUSED:
        on_refused(front, &reader);
        break;
    case CONTROL_ACCEPTED:
        on_accepted(front, &reader);
        break;
    case CONTROL_READY:
    case CONTROL_FAILED: /* the job's end repeats it */
        break;
    case CONTROL_WAITS:
        on_waits(front, &reader);
        break;
    case CONTROL_STARTED:
        on_started(front, job, &reader);
        break;
    case CONTROL_SPAWNED:
        on_spawned(front, &reader);
        break;
    case CONTROL_OUTPUT:
        on_output(front, job, &reader);
        break;
    case CONTROL_STDIN_ACK:
        on_input_taken(front, &reader);
        break;
    case CONTROL_TEXT:
        on_text(front, &reader);
        break;
    case CONTROL_ANSWER:
        if (on_answer(front, &reader) < 0)
            on_unreadable(front);
        break;
    case CONTROL_JOB_END:
        on_job_end(front, &reader);
        break;
    case CONTROL_PROFILE:
        if (front_end_profile_take(front, &reader) < 0)
            on_unreadable(front);
        break;
    case CONTROL_TRACE:
        if (front_end_trace_take(front, &reader) < 0)
            on_unreadable(front);
        break;
    case CONTROL_FEED_END:
    case CONTROL_FEED_LOST:
        if (front_end_tasks_message(front, type, &reader) < 0)
            on_unreadable(front);
        break;
    default:
        on_unreadable(front);
    }
}

void front_end_send(struct front_end *front, uint8_t type, const void *payload, size_t bytes)
{
    struct buffer message = {0};

    if (front->channel == NULL || front->job == 0)
        return;
    control_put_job(front->job, &message);
    buffer_append(&message, payload, bytes);
    channel_send_buffer(front->channel, type, &message);
    buffer_fini(&message);
}

/* The root exited without reporting the job.  If it could not start, it has printed why to stderr
 * and exited with a failure. */
static void say_root_died(struct front_end *front)
{
    char text[192] = "";
    int wait_status = front->root.wait_status;

    assert(!front->has_job_end);
    if (front->is_guest)
        snprintf(text, sizeof(text), "the root of the instance went away; the job ends with it");
    else if (WIFSIGNALED(wait_status))
        snprintf(
            text, sizeof(text),
            "the root of this run was killed by signal %d (%s); everything it started is being killed",
            WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    else if (WEXITSTATUS(wait_status) == EXIT_SUCCESS)
        snprintf(
            text, sizeof(text),
            "the root of this run exited before the job had ended; everything it started is being killed");
    front_end_fail(front, EXIT_STATUS_FAILED, RUN_FAILURE_BANYAN, text);
    front_end_say_end(front);
}

/* Both the process and its channel have ended. */
static void root_is_gone(struct front_end *front)
{
    const struct instance_spec *instance = &front->request->instance;

    if (!front->root_ended || front->channel != NULL)
        return;
    if (!front->is_guest &&
        WIFSIGNALED(front->root.wait_status)) /* its helper may have been killed with it */
        (void)session_clean(instance->session, instance->own_tmpdir, NULL);
    if (!front->has_job_end)
        say_root_died(front);
    front_end_check_gone(front);
}

void front_end_close_root(struct front_end *front)
{
    channel_destroy(front->channel, 0);
    front->channel = NULL;
    root_is_gone(front);
}

static void on_closed(void *context, const char *why)
{
    struct front_end *front = context;

    assert(front->channel != NULL);
    front_end_close_root(front);
    if (!front->root_ended)
        front_end_wait_for_root(front, LEAVE_WAIT_MS + front_end_stage_leave_ms(front));
}

/* Its last messages may still be on their way through the channel. */
static void on_root_ended(void *context)
{
    struct front_end *front = context;

    assert(!front->is_guest && front->root.has_ended);
    front->root_ended = 1;
    front_end_wait_for_root(front, LAST_WORDS_MS);
    root_is_gone(front);
}

static void send_job(struct front_end *front)
{
    const struct control_hello hello = {.version = CONTROL_VERSION, .wants = CONTROL_WANTS_TEXTS};
    struct buffer payload = {0};
    uint8_t flags = 0;

    if (!front->is_guest) { /* a guest has already said it to get the roster */
        control_hello_encode(&hello, &payload);
        channel_send_buffer(front->channel, CONTROL_HELLO, &payload);
    }
    if (front->is_guest && !front->request->no_wait)
        flags |= CONTROL_RUN_MAY_WAIT;
    control_run_encode(RUN_REQUEST, flags, &front->request->job, &payload);
    channel_send_buffer(front->channel, CONTROL_RUN, &payload);
    buffer_fini(&payload);
}

void front_end_attach_root(struct front_end *front, int channel_fd)
{
    static const struct channel_events events = {.message = on_message, .closed = on_closed};

    assert(front->channel == NULL && channel_fd >= 0);
    front->channel = channel_create(front->loop, channel_fd, &events, front);
    send_job(front);
    if (!front->is_guest)
        root_process_watch(&front->root, front->loop, on_root_ended, front);
}
