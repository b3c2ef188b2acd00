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

/* *ret_fd: the process's end of its standard input, or -1. */
static int take_input(struct daemon_job *job, uint32_t index, uint32_t rank, int *ret_fd)
{
    *ret_fd = -1;
    if (job->fan != NULL)
        return input_fan_open(job->fan, index, ret_fd);
    *ret_fd = rank == job->local->spec.stdin_rank ? job->input_fd : daemon_job_feed_fd(job, index);
    return 0;
}

/* The process has it, or does not start. */
static void leave_input(struct daemon_job *job, uint32_t index, uint32_t rank, int fd)
{
    if (job->fan != NULL && fd >= 0)
        close(fd);
    if (rank == job->local->spec.stdin_rank)
        daemon_close_input_fd(job);
    daemon_job_feed_given(job, index);
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
        .place = daemon->record.place,
        .rank = instance_part_rank(daemon_core_instance(daemon->core), job->local, index),
        .index = index,
        .stdin_fd = -1,
    };
    enum start_step step = START_STEP_SERVICES;
    int rc = -EIO;

    assert(index < job->local->count && job->pids[index] == 0);
    daemon_stage_directory(daemon, stage);
    if (job->rank_pmi && !rank_pmi_have_failed(job->rank_pmi)) {
        step = START_STEP_DESCRIPTORS;
        rc = take_input(job, index, start.rank, &start.stdin_fd);
        if (rc == 0)
            rc = rank_start(&start, &error);
    }
    leave_input(job, index, start.rank, start.stdin_fd);
    if (rc < 0)
        start_failed(job, index, rc, step);
}

static int has_starts(const struct daemon_job *job)
{
    return job->start_next < job->start_end;
}

void daemon_forget_starts(struct daemon_job *job)
{
    loop_timer_cancel(job->start_timer);
    job->start_next = job->start_end = 0;
    job->start_short_ns = 0;
}

/* There are no further starts, so the group may end. */
static void starts_are_over(struct daemon_job *job)
{
    helper_seal_group(job->daemon->helper, job->number);
    daemon_forget_starts(job);
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
    uint32_t count = 0;

    daemon_job_check(job);
    if (job->rank_pmi && rank_pmi_must_wait(job->rank_pmi))
        return;
    while (has_starts(job) && count++ < STARTS_PER_TURN && !helper_is_busy(helper)) {
        if (must_wait(job))
            return;
        start_rank(job, job->start_next++);
        if (job->start_end > 0 && !has_starts(job))
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
    assert(!has_starts(job));
    assert(first <= job->local->count && count <= job->local->count - first);
    job->start_next = first;
    job->start_end = first + count;
    daemon_start_more(job);
}

void daemon_cancel_starts(struct daemon_job *job)
{
    uint32_t next = job->start_next, end = job->start_end;

    daemon_job_check(job);
    if (next >= end)
        return;
    starts_are_over(job);
    for (uint32_t index = next; index < end; index++)
        start_failed(job, index, -ECANCELED, START_STEP_FORK);
}
