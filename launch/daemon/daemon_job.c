/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/daemon_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "launch/exec/process_stat.h"

void daemon_job_check(const struct daemon_job *job)
{
    assert(job->daemon != NULL && list_is_linked(&job->node));
    assert(job->local != NULL && job->local->number == job->number);
    assert(job->output != NULL && job->pids != NULL && job->start_timer != NULL);
    assert(ranges_is_empty(&job->starts) || ranges_max(&job->starts) < job->local->count);
    assert(job->input_fd < 0 || job->input != NULL);
}

/* ---- what the parts report ---- */

static void output_data(void *context, uint32_t index, uint8_t stream, uint64_t time_ns,
                        const void *data, size_t bytes)
{
    const struct daemon_job *job = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_OUTPUT,
                                 .job = job->number,
                                 .id = index,
                                 .type = stream,
                                 .number = (int64_t)time_ns,
                                 .data = data,
                                 .data_bytes = bytes};

    daemon_job_check(job);
    assert(index < job->local->count && (stream == 1 || stream == 2));
    daemon_core_step(job->daemon->core, &event);
}

static void output_line_ended(void *context, uint32_t index, uint8_t stream)
{
    output_data(context, index, stream, 0, NULL, 0);
}

static void output_drained(void *context, uint64_t total_bytes)
{
    struct daemon_job *job = context;
    struct job_event event = {
        .kind = JOB_EVENT_DRAINED, .job = job->number, .number = (int64_t)total_bytes};

    daemon_job_check(job);
    daemon_job_event(job->daemon, &event);
}

static const struct output_events output_events = {
    .data = output_data,
    .line_ended = output_line_ended,
    .drained = output_drained,
};

static void stdin_taken(void *context, uint32_t bytes)
{
    const struct daemon_job *job = context;
    struct daemon_event event = {
        .kind = DAEMON_EVENT_INPUT_TAKEN, .job = job->number, .number = bytes};

    daemon_job_check(job);
    assert(bytes > 0);
    daemon_core_step(job->daemon->core, &event);
}

static void rank_pmi_contribute(void *context, const struct operation_name *key,
                                const struct ranges *places, struct message *payload)
{
    struct daemon_job *job = context;

    daemon_core_trace_collective(job->daemon->core, key);
    daemon_core_contribute(job->daemon->core, key, places, payload);
}

static void rank_pmi_cancel(void *context, const struct operation_name *key)
{
    endpoint_cancel(((struct daemon_job *)context)->daemon->endpoint, key);
}

static uint32_t rank_pmi_send_request(void *context, uint32_t place, struct message *payload)
{
    const struct daemon_job *job = context;

    return daemon_core_request(job->daemon->core, job->number, place, payload);
}

static void rank_pmi_send_reply(void *context, uint32_t source, uint32_t id,
                                struct message *payload)
{
    daemon_core_reply(((struct daemon_job *)context)->daemon->core, source, id, payload);
}

static void rank_pmi_aborted(void *context, uint32_t index, int status, const char *message)
{
    struct daemon_job *job = context;
    struct job_event event = {.kind = JOB_EVENT_ABORT,
                              .job = job->number,
                              .index = index,
                              .number = status,
                              .text = message};

    daemon_job_event(job->daemon, &event);
}

static void rank_pmi_joined(void *context, uint32_t index)
{
    struct daemon_job *job = context;
    struct job_event event = {.kind = JOB_EVENT_JOINED, .job = job->number, .index = index};

    daemon_job_event(job->daemon, &event);
}

static void rank_pmi_kill(void *context, uint32_t index)
{
    const struct daemon_job *job = context;

    assert(index < job->local->count);
    helper_signal(job->daemon->helper, HELPER_RANK_ID(job->number, index), SIGKILL);
}

static void rank_pmi_signal(void *context, uint32_t index, int number)
{
    const struct daemon_job *job = context;

    assert(index < job->local->count);
    helper_signal(job->daemon->helper, HELPER_RANK_ID(job->number, index), number);
}

static uint8_t rank_pmi_process_state(void *context, uint32_t index)
{
    const struct daemon_job *job = context;

    assert(index < job->local->count);
    return process_stat_state(job->pids[index]);
}

/* Help texts of MPI libraries, shown like the rank's stderr. */
static void rank_pmi_text(void *context, const char *text, size_t text_bytes)
{
    struct daemon_job *job = context;
    char *line = memory_printf("%.*s", (int)text_bytes, text);

    daemon_core_text(job->daemon->core, job->number, LOG_LEVEL_ERROR, line);
    free(line);
}

static void rank_pmi_failed(void *context, const struct error *why)
{
    struct daemon_job *job = context;
    struct job_event event = {.kind = JOB_EVENT_ABORT,
                              .job = job->number,
                              .number = why->code,
                              .text = why->text,
                              .flag = 1};

    daemon_job_event(job->daemon, &event);
}

/* Ranks that waited for the PMIx server may start. */
static void rank_pmi_ready(void *context)
{
    daemon_start_more(context);
}

static void rank_pmi_missed(void *context, const struct operation_name *key)
{
    const struct daemon_job *job = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_MISSED, .job = job->number, .key = key};

    daemon_core_step(job->daemon->core, &event);
}

static void rank_pmi_stalled(void *context, const struct operation_name *key,
                             const struct ranges *places, const struct ranges *ranks, uint8_t kind)
{
    const struct daemon_job *job = context;
    struct daemon_event event = {.kind = DAEMON_EVENT_STALLED,
                                 .job = job->number,
                                 .key = key,
                                 .places = places,
                                 .ranks = ranks,
                                 .type = kind};

    daemon_core_step(job->daemon->core, &event);
}

static int rank_pmi_ask_here(void *context, const void *data, size_t bytes, struct buffer *answer)
{
    return daemon_query(((struct daemon_job *)context)->daemon, data, bytes, answer);
}

/* ---- life ---- */

static void open_rank_pmi(struct daemon_job *job)
{
    const struct daemon *daemon = job->daemon;
    struct rank_pmi_events events = {
        .context = job,
        .contribute = rank_pmi_contribute,
        .cancel = rank_pmi_cancel,
        .request = rank_pmi_send_request,
        .reply = rank_pmi_send_reply,
        .aborted = rank_pmi_aborted,
        .joined = rank_pmi_joined,
        .kill = rank_pmi_kill,
        .signal = rank_pmi_signal,
        .process_state = rank_pmi_process_state,
        .missed = rank_pmi_missed,
        .stalled = rank_pmi_stalled,
        .text = rank_pmi_text,
        .failed = rank_pmi_failed,
        .query = rank_pmi_ask_here,
        .ready = rank_pmi_ready,
    };
    struct rank_pmi_config config = {
        .loop = daemon->loop,
        .job = job->local,
        .allocation = instance_roster(daemon_core_instance(daemon->core)),
        .session = &daemon->session,
        .pmi_node = daemon->pmi_node,
        .jobs = daemon->rank_jobs,
        .jobs_name = daemon->jobs_name,
        .node_name = daemon->record.name,
        .net = daemon->record.instance.net,
        .place = boot_record_listed_place(&daemon->record),
        .kill_grace_ms = daemon->record.instance.kill_grace_ms,
        .shared_machine = daemon->record.instance.starter == STARTER_VIRTUAL,
        .events = &events,
    };
    struct error error = ERROR_NONE;

    assert(daemon->pmi_node != NULL && job->rank_pmi == NULL);
    job->rank_pmi = rank_pmi_create(&config, &error);
    if (!job->rank_pmi)
        daemon_core_text(daemon->core, job->number, LOG_LEVEL_ERROR, error.text);
}

/* Without one the start of the rank fails. */
static void open_terminal(struct daemon_job *job)
{
    int fd, input_fd;
    int rc = pseudo_terminal_open(&job->local->spec.window, &fd, &input_fd);
    int write_fd = rc < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    job->terminal_fd = rc < 0 ? rc : fd;
    if (write_fd < 0 && rc == 0) {
        job->terminal_fd = -errno;
        close(fd);
        close(input_fd);
    }
    if (write_fd < 0)
        return;
    job->input_fd = input_fd;
    job->input = input_create(job->daemon->loop, write_fd, stdin_taken, job);
}

/* Opens stdin's pipe, if the rank that reads it runs here; if all read it, each gets a pipe when it starts. */
static void open_input(struct daemon_job *job)
{
    const struct instance *instance = daemon_core_instance(job->daemon->core);
    int ends[2];

    if (job->local->spec.stdin_rank == JOB_STDIN_ALL)
        job->fan = input_fan_create(job->daemon->loop, job->local->count, stdin_taken, job);
    for (uint32_t i = 0; i < job->local->count; i++) {
        if (instance_part_rank(instance, job->local, i) != job->local->spec.stdin_rank)
            continue;
        if (job->local->spec.has_terminal)
            open_terminal(job);
        if (job->local->spec.has_terminal || pipe2(ends, O_CLOEXEC) < 0)
            continue;
        job->input_fd = ends[0];
        job->input = input_create(job->daemon->loop, ends[1], stdin_taken, job);
    }
}

/* ---- input of each process (launch/proto/feed.h) ---- */

/* There is no credit: who feeds does not count what is taken. */
static void feed_taken(void *context, uint32_t bytes)
{
    (void)context;
    assert(bytes > 0);
}

/* A process without a pipe reads the end of its input. */
static void feed_open(struct daemon_job *job)
{
    assert(job->feed == NULL);
    if (job->local->spec.stdin_rank != JOB_STDIN_EACH)
        return;
    job->feed = memory_allocate_zeroed((job->local->count + 1) * sizeof(*job->feed));
    for (uint32_t i = 0; i < job->local->count; i++) {
        int ends[2];

        job->feed[i].fd = -1;
        if (pipe2(ends, O_CLOEXEC) < 0)
            continue;
        job->feed[i].fd = ends[0];
        job->feed[i].input = input_create(job->daemon->loop, ends[1], feed_taken, job);
    }
}

int daemon_job_feed_fd(const struct daemon_job *job, uint32_t index)
{
    assert(index < job->local->count);
    return job->feed != NULL ? job->feed[index].fd : -1;
}

void daemon_job_feed_given(struct daemon_job *job, uint32_t index)
{
    assert(index < job->local->count);
    if (job->feed == NULL || job->feed[index].fd < 0)
        return;
    close(job->feed[index].fd);
    job->feed[index].fd = -1;
}

static void feed_close(struct daemon_job *job)
{
    if (job->feed == NULL)
        return;
    for (uint32_t i = 0; i < job->local->count; i++) {
        input_destroy(job->feed[i].input);
        daemon_job_feed_given(job, i);
    }
    free(job->feed);
    job->feed = NULL;
}

struct daemon_job *daemon_job_find(const struct daemon *daemon, uint32_t number)
{
    struct list_link *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
    {
        struct daemon_job *job = list_entry(node, struct daemon_job, node);

        if (job->number == number)
            return job;
    }
    return NULL;
}

static void ops_open(void *context, uint32_t number)
{
    struct daemon *daemon = context;
    struct daemon_job *job = memory_allocate_zeroed(sizeof *job);

    daemon_check(daemon);
    assert(daemon_job_find(daemon, number) == NULL);
    job->daemon = daemon;
    job->number = number;
    job->local = instance_part(daemon_core_instance(daemon->core), number);
    assert(job->local != NULL);
    job->input_fd = -1;
    job->terminal_fd = -ENXIO;
    job->start_timer = loop_timer_create(daemon->loop, daemon_start_more, job);
    job->output =
        output_create(daemon->loop, job->local->count,
                      output_window_bytes(daemon->record.instance.places - 1), &output_events, job);
    job->pids = memory_allocate_zeroed((job->local->count + 1) * sizeof *job->pids);
    job->ends = memory_allocate_zeroed((job->local->count + 1) * sizeof *job->ends);
    list_append(&daemon->jobs, &job->node);
    open_rank_pmi(job);
    open_input(job);
    feed_open(job);
    daemon_job_check(job);
}

static void job_close(struct daemon_job *job)
{
    daemon_job_check(job);
    daemon_forget_starts(job);
    ranges_fini(&job->starts);
    list_remove(&job->node);
    loop_timer_destroy(job->start_timer);
    rank_pmi_destroy(job->rank_pmi);
    output_destroy(job->output);
    input_destroy(job->input);
    input_fan_destroy(job->fan);
    daemon_close_input_fd(job);
    if (job->terminal_fd >= 0)
        close(job->terminal_fd);
    feed_close(job);
    free(job->pids);
    free(job->ends);
    free(job);
}

void daemon_job_event(struct daemon *daemon, struct job_event *event)
{
    struct daemon_event happened = {.kind = DAEMON_EVENT_JOB, .job_event = event};
    const struct daemon_job *job;

    assert(event->kind < JOB_EVENT_KIND_COUNT);
    if (event->kind == JOB_EVENT_EXITED || event->kind == JOB_EVENT_START_FAILED) {
        job = daemon_job_find(daemon, event->job);
        if (job != NULL && job->fan != NULL)
            input_fan_close(job->fan, event->index);
    }
    daemon_core_step(daemon->core, &happened);
}

void daemon_jobs_close(struct daemon *daemon)
{
    struct list_link *node;

    while ((node = list_first(&daemon->jobs)) != NULL)
        job_close(list_entry(node, struct daemon_job, node));
}

/* ---- operations ---- */

static void ops_close(void *context, uint32_t number)
{
    struct daemon_job *job = daemon_job_find(context, number);

    if (job != NULL)
        job_close(job);
}

static void ops_start(void *context, uint32_t number, uint32_t first, uint32_t count)
{
    struct daemon_job *job = daemon_job_find(context, number);

    if (job != NULL)
        daemon_start_ranks(job, first, count);
}

static void ops_seal(void *context, uint32_t number)
{
    helper_seal_group(((struct daemon *)context)->helper, number);
}

static void ops_cancel_starts(void *context, uint32_t number)
{
    struct daemon_job *job = daemon_job_find(context, number);

    if (job != NULL)
        daemon_cancel_starts(job);
}

static void signal_ranks(const struct daemon_job *job, int signal, const struct ranges *ranks)
{
    const struct instance *instance = daemon_core_instance(job->daemon->core);

    for (uint32_t i = 0; i < job->local->count; i++) {
        if (ranges_contains(ranks, instance_part_rank(instance, job->local, i)) &&
            !instance_part_has_ended(instance, job->number, i))
            helper_signal(job->daemon->helper, HELPER_RANK_ID(job->number, i), signal);
    }
}

static void ops_signal(void *context, uint32_t number, int signal, const struct ranges *ranks)
{
    const struct daemon_job *job = daemon_job_find(context, number);

    if (ranges_is_empty(ranks))
        helper_signal_group(((struct daemon *)context)->helper, number, signal);
    else if (job != NULL)
        signal_ranks(job, signal, ranks);
}

static void ops_end(void *context, uint32_t number, uint32_t grace_ms)
{
    helper_end_group(((struct daemon *)context)->helper, number, grace_ms);
}

static void ops_end_all(void *context)
{
    struct daemon *daemon = context;
    struct list_link *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
    {
        struct daemon_job *job = list_entry(node, struct daemon_job, node);

        daemon_forget_starts(job);
        helper_end_group(daemon->helper, job->number, 0);
    }
}

static void ops_cut_output(void *context, uint32_t number, uint32_t within_ms, bool discard)
{
    const struct daemon_job *job = daemon_job_find(context, number);

    if (job != NULL)
        output_cut(job->output, within_ms, discard);
}

static void ops_credit(void *context, uint32_t number, uint32_t bytes)
{
    const struct daemon_job *job = daemon_job_find(context, number);

    if (job != NULL)
        output_credit(job->output, bytes);
}

static void ops_renew_credit(void *context)
{
    const struct daemon *daemon = context;
    struct list_link *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
        output_credit_renew(list_entry(node, struct daemon_job, node)->output);
}

static void ops_input(void *context, uint32_t number, const void *data, size_t bytes)
{
    const struct daemon_job *job = daemon_job_find(context, number);

    if (job != NULL && job->input != NULL)
        input_write(job->input, data, bytes);
    if (job != NULL && job->fan != NULL)
        input_fan_write(job->fan, data, bytes);
}

static void ops_feed(void *context, uint32_t number, uint32_t index, const void *data, size_t bytes)
{
    const struct daemon_job *job = daemon_job_find(context, number);

    if (job == NULL || job->feed == NULL)
        return;
    assert(index < job->local->count);
    if (job->feed[index].input != NULL)
        input_write(job->feed[index].input, data, bytes);
}

static void ops_window(void *context, uint32_t number, const struct window *window)
{
    const struct daemon_job *job = daemon_job_find(context, number);

    if (job != NULL && job->terminal_fd >= 0)
        pseudo_terminal_resize(job->terminal_fd, window);
}

static uint8_t ops_state(void *context, uint32_t number, uint32_t index)
{
    const struct daemon_job *job = daemon_job_find(context, number);

    assert(job == NULL || index < job->local->count);
    return job != NULL ? process_stat_state(job->pids[index]) : 0;
}

const struct daemon_rank_ops daemon_rank_ops = {
    .open = ops_open,
    .close = ops_close,
    .start = ops_start,
    .seal = ops_seal,
    .cancel_starts = ops_cancel_starts,
    .signal = ops_signal,
    .end = ops_end,
    .end_all = ops_end_all,
    .cut_output = ops_cut_output,
    .credit = ops_credit,
    .renew_credit = ops_renew_credit,
    .input = ops_input,
    .feed = ops_feed,
    .window = ops_window,
    .state = ops_state,
    .survey = daemon_survey_start,
    .activity = daemon_query_activity,
    .stacks = daemon_stacks_start,
    .load = daemon_query_process_load,
};

/* The PMI servers of a job's part; NULL if there are none. */
static struct rank_pmi *rank_pmi_of(const struct daemon *daemon, uint32_t number)
{
    const struct daemon_job *job = daemon_job_find(daemon, number);

    return job != NULL ? job->rank_pmi : NULL;
}

/* An operation of processes of several jobs has one of them as its owner, and may be another's here. */
static void pmi_result(void *context, const struct operation_name *key, int status,
                       struct message *message)
{
    const struct daemon *daemon = context;
    struct rank_pmi *owner = rank_pmi_of(daemon, key->owner);
    struct list_link *node, *spare;

    if (owner != NULL && rank_pmi_result(owner, key, status, message))
        return;
    list_for_each(&daemon->jobs, node, spare)
    {
        struct rank_pmi *other = list_entry(node, struct daemon_job, node)->rank_pmi;

        if (other != NULL && other != owner && rank_pmi_result(other, key, status, message))
            return;
    }
}

static int pmi_request(void *context, uint8_t kind, uint32_t number, uint32_t source, uint32_t id,
                       struct wire_reader *reader)
{
    struct rank_pmi *rank_pmi = rank_pmi_of(context, number);

    if (rank_pmi == NULL)
        return -ENOENT;
    rank_pmi_request(rank_pmi, kind, source, id, reader);
    return 0;
}

static void pmi_reply(void *context, uint32_t number, uint32_t id, int status,
                      struct message *message)
{
    struct rank_pmi *rank_pmi = rank_pmi_of(context, number);

    if (rank_pmi != NULL)
        rank_pmi_reply(rank_pmi, id, status, message);
}

static void pmi_notice(void *context, const struct job_notice *notice)
{
    const struct daemon *daemon = context;
    struct list_link *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
    {
        struct rank_pmi *rank_pmi = list_entry(node, struct daemon_job, node)->rank_pmi;

        if (rank_pmi != NULL)
            rank_pmi_notice(rank_pmi, notice);
    }
}

static void pmi_lost(void *context, const struct ranges *places)
{
    const struct daemon *daemon = context;
    struct list_link *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
    {
        struct rank_pmi *rank_pmi = list_entry(node, struct daemon_job, node)->rank_pmi;

        if (rank_pmi != NULL)
            rank_pmi_lost(rank_pmi, places);
    }
}

static bool pmi_is_served(void *context, uint32_t number)
{
    return rank_pmi_of(context, number) != NULL;
}

static enum job_stall_state pmi_rank_state(void *context, uint32_t number,
                                           const struct operation_name *key, uint32_t index)
{
    const struct rank_pmi *rank_pmi = rank_pmi_of(context, number);

    assert(rank_pmi != NULL); /* pmi_is_served */
    return rank_pmi_stall_state(rank_pmi, key, index);
}

static void pmi_stand_in(void *context, uint32_t number, const struct operation_name *key,
                         const struct ranges *places)
{
    struct rank_pmi *rank_pmi = rank_pmi_of(context, number);

    assert(rank_pmi != NULL); /* pmi_is_served */
    rank_pmi_stand_in(rank_pmi, key, places);
}

static int pmi_query(void *context, const void *data, size_t bytes, struct buffer *answer)
{
    return daemon_query(context, data, bytes, answer);
}

static bool pmi_output(void *context, const struct job_pulled *output)
{
    static const enum pmi_notice_kind kinds[] = {PMI_NOTICE_OUTPUT_END, PMI_NOTICE_STDOUT,
                                                 PMI_NOTICE_STDERR};
    const struct pmi_process process = {.job = output->number, .rank = output->rank};
    struct pmi_node *node = ((struct daemon *)context)->pmi_node;

    assert(output->stream < sizeof(kinds) / sizeof(kinds[0]));
    if (node == NULL || (output->stream != 0 && !pmi_node_is_used(node)))
        return false;
    pmi_node_events.notice(node, kinds[output->stream], &process, output->data, output->data_bytes);
    return true;
}

const struct daemon_pmi_ops daemon_pmi_ops = {
    .result = pmi_result,
    .request = pmi_request,
    .reply = pmi_reply,
    .notice = pmi_notice,
    .lost = pmi_lost,
    .is_served = pmi_is_served,
    .rank_state = pmi_rank_state,
    .stand_in = pmi_stand_in,
    .query = pmi_query,
    .output = pmi_output,
};
