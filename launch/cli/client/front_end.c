/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/front_end.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "launch/exec/descriptor.h"
#include "launch/exec/helper_cgroup.h"
#include "launch/cli/client/front_end_internal.h"
#include "launch/cli/client/trace_file.h"
#include "launch/cli/client/output_files.h"
#include "launch/cli/client/raw_terminal.h"
#include "launch/cli/client/stage_files.h"
#include "launch/exec/session.h"
#include "launch/proto/exit_status.h"

#define KILL_WAIT_MS 2000
/* For helpers whose root was killed: they kill the remaining processes. */
#define ORPHANS_WAIT_MS 5000

/* ---- words ---- */

void front_end_check(const struct front_end *front)
{
    assert(front->loop != NULL && front->writer != NULL);
    assert(front->is_guest == (front->root.pid == 0));
    assert(!front->is_guest || front->root_ended);
    assert(front->is_guest || front->root_ended == front->root.has_ended);
    assert(!front->has_job_end || front->said_end);
    assert(front->signals_count <= FRONT_SIGNALS_MAX);
}

/* The line's end does not return the cursor of a raw terminal. */
void front_end_message(struct front_end *front, const char *text)
{
    char *line = memory_printf("%s%s", text, raw_terminal_is_entered() ? "\r" : "");

    output_writer_message(front->writer, line);
    free(line);
}

static void phase_started(const struct front_end *front, char *text, size_t text_bytes)
{
    snprintf(text, text_bytes, "%u processes running on %u of %u nodes", front->record.processes,
             front->record.nodes_used, allocation_nodes(&front->request->allocation));
}

void front_end_phase(struct front_end *front, enum run_phase phase)
{
    static const char *const names[RUN_PHASE_COUNT] = {
        [RUN_PHASE_FORKED] = "root forked",
        [RUN_PHASE_FIRST_OUTPUT] = "first output received",
        [RUN_PHASE_ENDED] = "job ended",
        [RUN_PHASE_GONE] = "all daemons exited",
    };
    char what[128];
    char text[256];

    assert(phase < RUN_PHASE_COUNT);
    if (!run_summary_reach(&front->record, phase, loop_now_ns()) || front->request->verbose == 0)
        return;
    if (phase == RUN_PHASE_STARTED)
        phase_started(front, what, sizeof(what));
    else
        snprintf(what, sizeof(what), "%s", names[phase]);
    snprintf(text, sizeof(text), "%8.1f ms: %s", run_summary_ms(&front->record, phase), what);
    front_end_message(front, text);
}

/* ---- the end ---- */

void front_end_ask_end(struct front_end *front, uint32_t status, int at_once, const char *reason)
{
    struct control_end end = {.status = status, .at_once = (uint8_t)at_once};
    struct buffer payload = {0};
    uint32_t patience_ms = at_once ? 3000 : front->request->instance.kill_grace_ms + 5000;

    if (front->channel == NULL || front->has_job_end)
        return;
    snprintf(end.reason, sizeof(end.reason), "%s", reason);
    control_end_encode(&end, &payload);
    if (front->tasks != NULL)
        task_run_stop(front->tasks);
    if (front->job == 0)
        buffer_swap(&front->early, &payload);
    else
        front_end_send(front, CONTROL_END, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    front->ending_at_once |= at_once;
    front_end_wait_for_root(front, patience_ms);
}

void front_end_fail(struct front_end *front, uint32_t status, enum run_failure failure,
                    const char *text)
{
    if (front->has_failure)
        return;
    front->has_failure = 1;
    front->record.status = status;
    front->record.failure = failure;
    snprintf(front->record.text, sizeof(front->record.text), "%s", text);
    if (front->said_end && text[0] != '\0')
        front_end_message(front, text);
    front_end_ask_end(front, status, 0, text);
}

/* What the rank has shown last is for a raw one; what is typed now is for us. */
static void leave_terminal(const struct front_end *front)
{
    if (front->said_end && output_writer_queued(front->writer) == 0)
        raw_terminal_leave();
}

void front_end_say_end(struct front_end *front)
{
    if (front->said_end)
        return;
    front->said_end = 1;
    front_end_progress_close(front);
    output_writer_release(front->writer);
    front_end_phase(front, RUN_PHASE_ENDED);
    if (front->record.text[0] != '\0')
        front_end_message(front, front->record.text);
    leave_terminal(front);
    if (front->request->job.profile)
        front_end_profile_print(front);
}

void front_end_check_gone(struct front_end *front)
{
    leave_terminal(front);
    if (!front->root_ended || front->channel != NULL || !front->said_end)
        return;
    loop_timer_cancel(front->patience);
    if (!front->is_guest)
        front_end_phase(front, RUN_PHASE_GONE);
    if (output_writer_queued(front->writer) == 0 &&
        (front->tasks == NULL || task_run_is_printed(front->tasks)))
        loop_stop(front->loop);
}

/* ---- waiting for the root ---- */

void front_end_wait_for_root(struct front_end *front, uint32_t milliseconds)
{
    loop_timer_set(front->patience, loop_now_ns() + (uint64_t)milliseconds * NS_PER_MS);
}

static void kill_root(struct front_end *front)
{
    char text[128];

    snprintf(text, sizeof(text), "the root process %d did not exit; killing it",
             (int)front->root.pid);
    front_end_message(front, text);
    root_process_signal(&front->root, SIGKILL);
    front->root_killed = 1;
    front_end_wait_for_root(front, KILL_WAIT_MS);
}

/* First asks for an immediate end, then kills the root; its daemons end with it. */
static void on_patience(void *context)
{
    struct front_end *front = context;

    front_end_check(front);
    if (front->root_ended && !(front->is_guest && !front->ending_at_once))
        front_end_close_root(front);
    else if (!front->has_job_end && !front->ending_at_once && front->channel != NULL)
        front_end_ask_end(front, front->record.status, 1, "the job did not end in time");
    else if (!front->root_killed)
        kill_root(front);
    else
        loop_stop(front->loop); /* it cannot be killed */
}

static void time_over(struct front_end *front)
{
    char text[96];

    if (front->has_job_end)
        return;
    snprintf(text, sizeof(text), "timed out after %u s", front->request->timeout_s);
    front->end_wishes++;
    front_end_fail(front, EXIT_STATUS_TIMED_OUT, RUN_FAILURE_TIMEOUT, text);
    front_end_watch_reader(front);
}

/* 1: the timer is set again, and waits for an answer. */
static int ask_ranks(struct front_end *front)
{
    if (front->asks_stacks == 0 && front_end_activity_ask(front))
        return 1;
    return front_end_stacks_ask(front);
}

static void on_timeout(void *context)
{
    struct front_end *front = context;

    front_end_check(front);
    if (front->has_job_end || !ask_ranks(front))
        time_over(front);
}

/* The user wants us to end: the reader of our output may take the rest, but must not stall.  Output
 * queued only during the last second (the reason of the end, for one) does not count as stalled. */
static void on_reader_check(void *context)
{
    struct front_end *front = context;
    int is_stuck =
        front->reader_owes && output_writer_queued(front->writer) > 0 && !front->reader_moved;

    assert(front->end_wishes > 0);
    if (is_stuck && front->root_ended && front->channel == NULL)
        loop_stop(front->loop);
    else if (is_stuck)
        output_writer_discard(front->writer);
    front_end_watch_reader(front);
}

void front_end_watch_reader(struct front_end *front)
{
    front->reader_moved = 0;
    front->reader_owes = output_writer_queued(front->writer) > 0;
    loop_timer_set(front->reader, loop_now_ns() + NS_PER_S);
}

/* ---- output ---- */

void front_end_acknowledge(struct front_end *front, const struct unwritten_part *part)
{
    struct buffer payload = {0};

    if (front->channel == NULL)
        return;
    control_put_written(part, &payload);
    front_end_send(front, CONTROL_OUTPUT_ACK, payload.data, payload.length_bytes);
    buffer_fini(&payload);
}

/* What tasks print has been acknowledged when it came (front_end_tasks_output). */
static void on_written(void *context, const struct unwritten_part *part)
{
    struct front_end *front = context;

    if (front->tasks == NULL)
        front_end_acknowledge(front, part);
}

static void on_moved(void *context)
{
    struct front_end *front = context;

    front->reader_moved = 1;
    if (front->tasks != NULL)
        task_run_print(front->tasks);
    front_end_check_gone(front);
}

/* A closed reader ends us as it would end any program: with SIGPIPE's status, silently. */
static void on_write_failed(void *context, const struct error *error)
{
    struct front_end *front = context;
    uint32_t status = error->code == -EPIPE ? EXIT_STATUS_SIGNAL + SIGPIPE : EXIT_STATUS_FAILED;

    assert(error->code < 0);
    front_end_fail(front, status, RUN_FAILURE_OUTPUT, error->code == -EPIPE ? "" : error->text);
}

/* ---- the life ---- */

static void front_end_open(struct front_end *front)
{
    static const struct output_writer_events events = {
        .written = on_written, .moved = on_moved, .failed = on_write_failed};
    const struct output_label_style style = {
        .ranks = front->request->label, .times = output_label_times_of(front->request->timestamp)};
    struct loop *loop = front->loop;

    assert(front->writer == NULL);
    front->writer =
        output_writer_create(loop, STDOUT_FILENO, STDERR_FILENO, &style, &events, front);
    front->route = (struct output_route){.output = &front->request->output,
                                         .nodes = &front->request->allocation};
    output_writer_route(front->writer, &front->route);
    if (front->tasks != NULL)
        task_run_open(front->tasks, front->writer);
    front->timeout = loop_timer_create(loop, on_timeout, front);
    front->patience = loop_timer_create(loop, on_patience, front);
    front->reader = loop_timer_create(loop, on_reader_check, front);
    if (front->request->timeout_s > 0)
        loop_timer_set(front->timeout,
                       front->record.start_ns + front->request->timeout_s * (uint64_t)NS_PER_S);
}

/* What a file system has accepted may be refused when the file is closed (NFS, quotas). */
static void close_files(struct front_end *front)
{
    struct error error = ERROR_NONE;

    if (output_writer_close_files(front->writer, &error) == 0)
        return;
    fprintf(stderr, "banyan: %s\n", error.text);
    if (front->record.status == 0) {
        front->record.status = EXIT_STATUS_FAILED;
        front->record.failure = RUN_FAILURE_OUTPUT;
    }
}

static void front_end_close(struct front_end *front)
{
    close_files(front);
    front_end_progress_close(front);
    front_end_close_user(front);
    front_end_stage_close(front);
    buffer_fini(&front->early);
    ranges_fini(&front->children);
    loop_timer_destroy(front->timeout);
    loop_timer_destroy(front->patience);
    loop_timer_destroy(front->reader);
    output_writer_destroy(front->writer);
    root_process_unwatch(&front->root);
    loop_destroy(front->loop);
}

/* After the root was killed: its helpers, now our children, kill what it had started and exit. */
static void wait_for_orphans(void)
{
    uint64_t deadline_ns = loop_now_ns() + (uint64_t)ORPHANS_WAIT_MS * NS_PER_MS;
    sigset_t child_signal;

    sigemptyset(&child_signal);
    sigaddset(&child_signal, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_signal, NULL);
    while (loop_now_ns() < deadline_ns) {
        uint64_t left_ns = deadline_ns - loop_now_ns();
        struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_S),
                                .tv_nsec = (long)(left_ns % NS_PER_S)};
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            return;
        if (pid == 0)
            sigtimedwait(&child_signal, NULL, &left);
    }
}

/* The last of them to be killed may have left a cgroup that no other process removes. */
static void end_orphans(void)
{
    wait_for_orphans();
    helper_cgroup_clean();
}

static void write_record(struct front_end *front, int record_fd)
{
    struct error error;

    if (record_fd < 0 || run_summary_write(&front->record, front->request, record_fd, &error) == 0)
        return;
    fprintf(stderr, "banyan: %s\n", error.text);
    if (front->record.status == 0)
        front->record.status = EXIT_STATUS_FAILED;
}

/* From the fork to the final message. */
static int front_end_live(struct front_end *front, struct run_request *request, struct error *error)
{
    int channel_fd = request->instance_fd;
    int rc = 0;

    front->is_guest = front->root_ended = channel_fd >= 0;
    if (!front->is_guest)
        rc = root_process_fork(&front->root, request, INSTANCE_LEAVES_WITH_JOB, &channel_fd, error);
    if (rc < 0)
        return rc;
    front->loop = loop_create(error);
    if (front->loop == NULL) {
        if (front->is_guest)
            close(channel_fd);
        else
            root_process_give_up(&front->root, channel_fd);
        return error->code;
    }
    front_end_open(front);
    if (!front->is_guest)
        front_end_phase(front, RUN_PHASE_FORKED);
    front_end_open_user(front);
    front_end_attach_root(front, channel_fd);
    front_end_progress_open(front);
    loop_run(front->loop);
    front_end_close(front);
    return 0;
}

int front_end_run(struct run_request *request, uint64_t start_ns)
{
    struct front_end front = {.request = request, .record = {.start_ns = start_ns}};
    struct error error = ERROR_NONE;
    int record_fd = -1;
    int has_work = 1;
    int rc = 0;

    assert(request->wish == RUN_WISH_JOB);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    rc = descriptor_require(&error);
    if (rc == 0 && request->json_path != NULL)
        rc = run_summary_open(request->json_path, &record_fd, &error);
    if (rc == 0 && request->trace_path != NULL)
        rc = trace_file_open(request->trace_path, start_ns, &front.trace, &error);
    for (size_t i = 0; rc == 0 && i < 2; i++)
        if (request->output.patterns[i] != NULL)
            rc = output_files_prepare(request->output.patterns[i], &error);
    if (rc == 0)
        rc = front_end_stage_scan(&front, request, &error);
    if (rc == 0 && request->tasks != NULL)
        rc = front_end_tasks_create(&front, &has_work, &error);
    if (rc == 0 && has_work)
        rc = front_end_live(&front, request, &error);
    task_run_destroy(front.tasks);
    stage_files_destroy(front.stage_files);
    if (rc < 0) {
        fprintf(stderr, "banyan: %s\n", error.text);
        front.record.status = EXIT_STATUS_FAILED;
        front.record.failure = RUN_FAILURE_BANYAN;
        snprintf(front.record.text, sizeof(front.record.text), "%s", error.text);
    }
    /* A root that has lost its helper exits with a failure. */
    if (front.root.pid > 0 && (!front.has_job_end || front.root.wait_status != 0))
        end_orphans();
    if (request->instance.virtual_base != NULL)
        session_remove_tree(request->instance.virtual_base);
    front_end_trace_close(&front);
    write_record(&front, record_fd);
    free(front.record.profile);
    return (int)front.record.status;
}
