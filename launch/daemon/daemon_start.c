/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts the local ranks of a job as the helper takes them: a few in a turn of the loop, and none
 * while requests wait for room in the helper's socket.  So the tree's heartbeats go on however many
 * there are, and what has been opened for ranks that do not run yet is a few descriptors.
 */
#include "config.h"

#include "base/time.h"
#include "launch/daemon/daemon_internal.h"

#include <errno.h>
#include <unistd.h>

#include "launch/exec/descriptor.h"
#include "launch/rank/rank_start.h"

/* In one turn of the loop; each takes some 50 us. */
#define STARTS_PER_TURN 16
/* Pipes for stdout and stderr and a socket for PMI, both ends until the process has its own. */
#define RANK_DESCRIPTORS 6
/* Where ranks end as fast as they are started, those that come have the descriptors of those that went;
 * for so long it is waited for the next end, looking every few milliseconds. */
#define SHORT_PATIENCE_MS 3000
#define SHORT_LOOK_MS     5

static void start_failed(struct daemon *daemon, uint32_t number, uint32_t index, int code,
                         enum start_step step)
{
    struct job_event event = {.kind = JOB_EVENT_START_FAILED,
                              .job = number,
                              .index = index,
                              .number = code,
                              .step = step};

    daemon_job_event(daemon, &event);
}

void daemon_close_input_fd(struct daemon *daemon)
{
    if (daemon->input_fd >= 0)
        close(daemon->input_fd);
    daemon->input_fd = -1;
}

static void start_rank(struct daemon *daemon, uint32_t number, uint32_t index)
{
    const struct job_local *job = job_engine_local(daemon->engine, number);
    struct error error = ERROR_NONE;
    struct rank_start start = {
        .helper = daemon->helper,
        .output = daemon->output,
        .services = daemon->services,
        .job = job,
        .session_id = daemon->record.instance.session,
        .node_name = daemon->record.name,
        .place = daemon->record.place,
        .rank = job_engine_rank(daemon->engine, number, index),
        .index = index,
        .stdin_fd = -1,
    };
    int takes_stdin = start.rank == job->spec.stdin_rank;
    enum start_step step = START_STEP_SERVICES;
    int rc = -EIO;

    if (takes_stdin)
        start.stdin_fd = daemon->input_fd;
    if (daemon->services) {
        step = START_STEP_DESCRIPTORS;
        rc = rank_start(&start, &error);
    }
    if (takes_stdin)
        daemon_close_input_fd(daemon);
    if (rc < 0)
        start_failed(daemon, number, index, rc, step);
}

void daemon_forget_starts(struct daemon *daemon)
{
    loop_timer_cancel(daemon->start_timer);
    daemon->starts = (struct daemon_starts){0};
}

/* No more will follow: the group may end. */
static void starts_are_over(struct daemon *daemon)
{
    helper_seal_group(daemon->helper, daemon->starts.job);
    daemon_forget_starts(daemon);
}

/* 1: the next start must wait for descriptors. */
static int must_wait(struct daemon *daemon)
{
    struct daemon_starts *starts = &daemon->starts;
    uint64_t now_ns = loop_now_ns();

    if (descriptor_check_room(RANK_DESCRIPTORS) == 0) {
        starts->short_ns = 0;
        return 0;
    }
    if (starts->short_ns == 0)
        starts->short_ns = now_ns;
    if (now_ns - starts->short_ns >= SHORT_PATIENCE_MS * NS_PER_MS)
        return 0; /* then it fails */
    loop_timer_set(daemon->start_timer, now_ns + SHORT_LOOK_MS * NS_PER_MS);
    return 1;
}

/* A start that fails at once may cancel the rest, or end the job. */
void daemon_start_more(void *context)
{
    struct daemon *daemon = context;
    struct daemon_starts *starts = &daemon->starts;
    uint32_t count = 0;

    if (starts->job == 0)
        return;
    while (starts->job != 0 && starts->next < starts->end && count++ < STARTS_PER_TURN &&
           !helper_is_busy(daemon->helper)) {
        if (must_wait(daemon))
            return;
        start_rank(daemon, starts->job, starts->next++);
    }
    if (starts->job == 0)
        return;
    if (starts->next == starts->end)
        starts_are_over(daemon);
    else if (!helper_is_busy(daemon->helper)) /* else it tells when there is room */
        loop_timer_set(daemon->start_timer, loop_now_ns());
}

void daemon_start_ranks(struct daemon *daemon, uint32_t number, uint32_t index, uint32_t count)
{
    daemon->starts = (struct daemon_starts){.job = number, .next = index, .end = index + count};
    daemon_start_more(daemon);
}

void daemon_cancel_starts(struct daemon *daemon)
{
    struct daemon_starts left = daemon->starts;

    if (left.job == 0)
        return;
    starts_are_over(daemon);
    for (uint32_t index = left.next; index < left.end; index++)
        start_failed(daemon, left.job, index, -ECANCELED, START_STEP_FORK);
}
