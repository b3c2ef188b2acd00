/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the local ranks of a job as fast as the helper takes them: a few per turn of the loop, and
 * none while requests wait for room in the helper's socket.  So heartbeats continue however many ranks
 * there are, and only a few descriptors are open for ranks that do not run yet.
 */
#include "config.h"

#include "base/time.h"
#include "launch/daemon/daemon_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "launch/exec/descriptor.h"
#include "launch/rank/rank_start.h"

/* Each start takes some 50 us. */
#define STARTS_PER_TURN 16
/* Both ends of three pipes (stdin, stdout, stderr) and of a PMI socket, until the process has its ends. */
#define RANK_DESCRIPTORS 8
/* Ranks that exit make their descriptors available to those yet to be started: how long to wait for the
 * next exit when descriptors are short, and how often to look. */
#define SHORT_PATIENCE_MS 3000
#define SHORT_LOOK_MS     5

static void start_failed(struct daemon_job *job, uint32_t index, int code, enum start_step step)
{
    struct job_event event = {.kind = JOB_EVENT_START_FAILED,
                              .job = job->number,
                              .index = index,
                              .number = code,
                              .step = step};

    daemon_job_event(job->daemon, &event);
}

void daemon_close_input_fd(struct daemon_job *job)
{
    if (job->input_fd >= 0)
        close(job->input_fd);
    job->input_fd = -1;
}

static int may_restart(const struct daemon_job *job)
{
    return job->local->spec.on_failure == JOB_ON_FAILURE_RESTART;
}

/* A process that is started again reads on where the one before it has stopped, which may have made the
 * pipe non-blocking for both. */
static int input_fd_of(const struct daemon_job *job, uint32_t restart)
{
    if (restart > 0 && job->input_fd >= 0)
        (void)fcntl(job->input_fd, F_SETFL, 0);
    return job->input_fd;
}

/* The rank's output is what its terminal shows. */
static int watch_terminal(const struct daemon_job *job, uint32_t index)
{
    int fd = job->terminal_fd;

    if (fd >= 0)
        fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    else
        errno = -fd;
    if (fd < 0)
        return -errno;
    output_terminal(job->output, index, fd);
    return 0;
}

/* start->stdin_fd: the process's end of its standard input, or -1. */
static int take_input(struct daemon_job *job, struct rank_start *start)
{
    int reads = start->rank == job->local->spec.stdin_rank;

    if (job->fan != NULL)
        return input_fan_open(job->fan, start->index, &start->stdin_fd);
    start->stdin_fd =
        reads ? input_fd_of(job, start->restart) : daemon_job_feed_fd(job, start->index);
    start->has_terminal = reads && job->local->spec.has_terminal;
    return start->has_terminal ? watch_terminal(job, start->index) : 0;
}

/* The process has it, or does not start. */
static void leave_input(struct daemon_job *job, const struct rank_start *start)
{
    if (job->fan != NULL && start->stdin_fd >= 0)
        close(start->stdin_fd);
    if (start->rank == job->local->spec.stdin_rank && !may_restart(job))
        daemon_close_input_fd(job);
    daemon_job_feed_given(job, start->index);
}

static void start_rank(struct daemon_job *job, uint32_t index)
{
    struct daemon *daemon = job->daemon;
    struct error error = ERROR_NONE;
    char stage[PATH_MAX];
    struct rank_start start = {
        .helper = daemon->helper,
        .output = job->output,
        .rank_pmi = job->rank_pmi,
        .job = job->local,
        .session_id = daemon->record.instance.session,
        .node_name = daemon->record.name,
        .stage = stage,
        .place = boot_record_listed_place(&daemon->record),
        .rank = instance_part_rank(daemon_core_instance(daemon->core), job->local, index),
        .index = index,
        .restart =
            instance_part_restart_count(daemon_core_instance(daemon->core), job->number, index),
        .stdin_fd = -1,
    };
    enum start_step step = START_STEP_SERVICES;
    int rc = -EIO;

    assert(index < job->local->count && job->pids[index] == 0);
    daemon_stage_directory(daemon, stage);
    if (job->rank_pmi && !rank_pmi_have_failed(job->rank_pmi)) {
        step = START_STEP_DESCRIPTORS;
        rc = take_input(job, &start);
        if (rc == 0)
            rc = rank_start(&start, &error);
    }
    leave_input(job, &start);
    if (rc < 0)
        start_failed(job, index, rc, step);
}

static int has_starts(const struct daemon_job *job)
{
    return !ranges_is_empty(&job->starts);
}

void daemon_forget_starts(struct daemon_job *job)
{
    loop_timer_cancel(job->start_timer);
    ranges_clear(&job->starts);
    job->start_short_ns = 0;
}

/* There are no further starts, so the group may end; but not if the job logic decides that. */
static void starts_are_over(struct daemon_job *job)
{
    if (!may_restart(job))
        helper_seal_group(job->daemon->helper, job->number);
    daemon_forget_starts(job);
}

static uint32_t take_start(struct daemon_job *job)
{
    uint32_t index = ranges_min(&job->starts);

    ranges_remove(&job->starts, index, index);
    return index;
}

/* 1 if the next start must wait for descriptors. */
static int must_wait(struct daemon_job *job)
{
    uint64_t now_ns = loop_now_ns();

    if (descriptor_check_room(RANK_DESCRIPTORS) == 0) {
        job->start_short_ns = 0;
        return 0;
    }
    if (job->start_short_ns == 0)
        job->start_short_ns = now_ns;
    if (now_ns - job->start_short_ns >= SHORT_PATIENCE_MS * NS_PER_MS)
        return 0; /* the start fails */
    loop_timer_set(job->start_timer, now_ns + SHORT_LOOK_MS * NS_PER_MS);
    return 1;
}

/* A start that fails immediately may cancel the others, or end the job. */
void daemon_start_more(void *context)
{
    struct daemon_job *job = context;
    struct helper *helper = job->daemon->helper;
    uint32_t count = 0, index;
    int is_last;

    daemon_job_check(job);
    if (job->rank_pmi && rank_pmi_must_wait(job->rank_pmi))
        return;
    while (has_starts(job) && count++ < STARTS_PER_TURN && !helper_is_busy(helper)) {
        if (must_wait(job))
            return;
        index = take_start(job);
        is_last = !has_starts(job);
        start_rank(job, index);
        if (is_last && !has_starts(job))
            starts_are_over(job);
    }
    if (has_starts(job) &&
        !helper_is_busy(helper)) /* else daemon_start_all is called when there is room */
        loop_timer_set(job->start_timer, loop_now_ns());
}

void daemon_start_all(void *context)
{
    struct daemon *daemon = context;
    struct list_link *node, *spare;

    list_for_each(&daemon->jobs, node, spare)
        daemon_start_more(list_entry(node, struct daemon_job, node));
}

void daemon_start_ranks(struct daemon_job *job, uint32_t first, uint32_t count)
{
    daemon_job_check(job);
    assert(first <= job->local->count && count <= job->local->count - first);
    if (count > 0)
        ranges_add(&job->starts, first, first + count - 1);
    daemon_start_more(job);
}

void daemon_cancel_starts(struct daemon_job *job)
{
    struct ranges cancelled = {0};
    uint32_t index = 0;

    daemon_job_check(job);
    if (!has_starts(job))
        return;
    ranges_move(&cancelled, &job->starts);
    starts_are_over(job);
    for (; ranges_next(&cancelled, index, &index); index++)
        start_failed(job, index, -ECANCELED, START_STEP_FORK);
    ranges_fini(&cancelled);
}
