/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes what the helper reports to its owner, and reports a helper that does not respond. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "launch/daemon/daemon_internal.h"
#include "launch/exec/process_stat.h"

#define HELPER_NOTICE_S 10

static int is_rank(uint64_t id)
{
    return id > UINT32_MAX;
}

static int is_survey(uint64_t id)
{
    return id >= DAEMON_SURVEY_ID && !is_rank(id);
}

/* An event of a rank; its id holds job and index. */
static struct job_event rank_event(enum job_event_kind kind, uint64_t id, int64_t number)
{
    return (struct job_event){
        .kind = kind, .job = (uint32_t)(id >> 32), .index = (uint32_t)id, .number = number};
}

/* The job of a rank; NULL if its part has been closed in the meantime. */
static struct daemon_job *job_of(const struct daemon *daemon, uint64_t id)
{
    struct daemon_job *job = daemon_job_find(daemon, (uint32_t)(id >> 32));

    assert(is_rank(id));
    if (job != NULL) {
        daemon_job_check(job);
        assert((uint32_t)id < job->local->count);
    }
    return job;
}

static void process_started(void *context, uint64_t id, pid_t pid)
{
    struct daemon *daemon = context;
    struct daemon_job *job;
    struct job_event event = rank_event(JOB_EVENT_STARTED, id, pid);

    daemon_check(daemon);
    assert(pid > 0);
    if (!is_rank(id)) {
        if (starter_owns(daemon->starter, (uint32_t)id))
            starter_process_started(daemon->starter, (uint32_t)id, pid);
        return;
    }
    job = job_of(daemon, id);
    if (job)
        job->pids[event.index] = pid;
    daemon_job_event(daemon, &event);
}

static void process_failed(void *context, uint64_t id, int code, enum start_step step,
                           const char *text)
{
    struct daemon *daemon = context;
    struct job_event event = rank_event(JOB_EVENT_START_FAILED, id, code);

    daemon_check(daemon);
    assert(step < START_STEP_COUNT && text != NULL);
    if (is_survey(id)) /* the pipe has been closed, which ends the survey */
        return;
    if (!is_rank(id)) {
        starter_process_failed(daemon->starter, (uint32_t)id, code, step);
        daemon_check_idle(daemon);
        return;
    }
    event.step = step;
    event.text = text;
    daemon_job_event(daemon, &event);
}

/* 1 if the rank will be started again, and so has not ended for anybody. */
static int rank_pauses(struct daemon_job *job, uint32_t index, int wait_status, int by_us)
{
    if (!instance_part_restarts(daemon_core_instance(job->daemon->core), job->number, index,
                                wait_status, by_us))
        return 0;
    job->pids[index] = 0;
    return 1;
}

/* 1 if it has left PMI without finalize. */
static int rank_ends(struct daemon_job *job, uint32_t index, int wait_status, int by_us)
{
    const struct instance *instance = daemon_core_instance(job->daemon->core);

    job->ends[index] = wait_status;
    if (instance_part_rank(instance, job->local, index) == job->local->spec.stdin_rank)
        daemon_close_input_fd(job);
    return job->rank_pmi && rank_pmi_exited(job->rank_pmi, index, wait_status, by_us);
}

/* Goes on "was killed by"; NULL: by the signal, and no more is known. */
static const char *killer(enum helper_end end)
{
    switch (end) {
    case HELPER_END_MEMORY:
        return "the out-of-memory killer: give each rank more memory, or start fewer per node";
    case HELPER_END_MEMORY_NEAR:
        return "signal 9 (Killed); the out-of-memory killer was active on this node during the job";
    default:
        return NULL;
    }
}

static struct message *usage_message(const struct usage_rank *usage)
{
    struct buffer bytes = {0};
    struct message *message;

    usage_rank_encode(usage, &bytes);
    message = message_from_buffer(&bytes);
    buffer_fini(&bytes);
    return message;
}

static void process_exited(void *context, uint64_t id, int wait_status, enum helper_end end,
                           const struct usage_rank *usage)
{
    int by_us = end == HELPER_END_US;
    struct daemon *daemon = context;
    struct job_event event = rank_event(JOB_EVENT_EXITED, id, wait_status);
    struct job_event abnormal = rank_event(JOB_EVENT_ABNORMAL, id, 0);
    struct daemon_job *job;

    daemon_check(daemon);
    assert(end < HELPER_END_COUNT);
    if (is_survey(id))
        return;
    if (!is_rank(id)) {
        starter_process_exited(daemon->starter, (uint32_t)id, wait_status);
        daemon_check_idle(daemon);
        return;
    }
    job = job_of(daemon, id);
    if (job)
        job->start_short_ns = 0;
    if (job && !rank_pauses(job, event.index, wait_status, by_us) &&
        rank_ends(job, event.index, wait_status, by_us))
        daemon_job_event(daemon, &abnormal);
    event.flag = by_us;
    event.text = killer(end);
    if (job && job->local->spec.stats)
        event.message = usage_message(usage);
    daemon_job_event(daemon, &event);
    message_release(event.message);
}

static void process_group_empty(void *context, uint32_t group)
{
    struct job_event event = {.kind = JOB_EVENT_GROUP_EMPTY, .job = group};

    daemon_check(context);
    daemon_job_event(context, &event);
}

static void helper_gone(void *context)
{
    const struct daemon *daemon = context;

    daemon_check(daemon);
    assert(helper_is_gone(daemon->helper));
    daemon_core_step(daemon->core, &(struct daemon_event){.kind = DAEMON_EVENT_HELPER_LOST});
}

const struct helper_events daemon_helper_events = {
    .started = process_started,
    .failed = process_failed,
    .exited = process_exited,
    .group_empty = process_group_empty,
    .room = daemon_start_all,
    .gone = helper_gone,
};

/* Reported after as many seconds as a silent daemon.  Counting calls instead of time excludes the
 * seconds for which this daemon was itself stopped. */
void daemon_watch_helper(struct daemon *daemon)
{
    pid_t pid = helper_pid(daemon->helper);
    char *text;

    if (!helper_is_behind(daemon->helper)) {
        daemon->helper_behind = 0;
        return;
    }
    if (++daemon->helper_behind != HELPER_NOTICE_S || process_stat_state(pid) != 'T')
        return;
    text = memory_printf(
        "%s: banyan's helper, process %d, has been stopped for %d s; no process can start or end there until it continues",
        daemon->record.place ? daemon->record.name : "root", (int)pid, HELPER_NOTICE_S);
    daemon_core_text(daemon->core, 0, LOG_LEVEL_WARNING, text);
    free(text);
}
