/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out what the job logic wants, and hands it what the helper tells. */
#include "config.h"

#include "launch/daemon/daemon_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"

static void broadcast(struct daemon *daemon, struct job_action *action)
{
    struct message *message = action->message;

    action->message = NULL;
    if (node_broadcast(daemon->node, ranges_is_empty(&action->places) ? NULL : &action->places,
                       message) < 0)
        daemon_text(daemon, action->job, LOG_LEVEL_ERROR,
                    "dropped a message to the nodes: too many are outstanding");
}

/* Of a part: it may have been closed, or never opened, as its launch was refused. */
static void part_action(struct daemon *daemon, struct job_action *action)
{
    struct daemon_job *job = daemon_job_find(daemon, action->job);

    if (job == NULL)
        return;
    switch (action->kind) {
    case JOB_ACTION_START:
        daemon_start_ranks(job, action->start.first, action->start.count);
        break;
    case JOB_ACTION_CANCEL_STARTS:
        daemon_cancel_starts(job);
        break;
    case JOB_ACTION_SIGNAL:
        helper_signal_group(daemon->helper, action->job, action->signal);
        break;
    case JOB_ACTION_END_GROUP:
        daemon_cancel_starts(job);
        helper_end_group(daemon->helper, action->job, action->grace_ms);
        break;
    case JOB_ACTION_CUT_OUTPUT:
        output_cut(job->output, action->cut.within_ms, action->cut.discard);
        break;
    default: /* JOB_ACTION_CLOSE */
        daemon_job_close(job);
    }
}

static void action_run(struct daemon *daemon, struct job_action *action)
{
    struct message *message = action->message;

    switch (action->kind) {
    case JOB_ACTION_BROADCAST:
        broadcast(daemon, action);
        break;
    case JOB_ACTION_CONTRIBUTE:
        action->message = NULL;
        node_contribute(daemon->node, &action->key, &action->places, message);
        break;
    case JOB_ACTION_SEND:
        action->message = NULL;
        node_send(daemon->node, action->place, FRAME_CONTROL, message);
        break;
    case JOB_ACTION_SURVEY:
        daemon_survey_start(daemon, action->job, action->want, (const char *)message->data);
        break;
    case JOB_ACTION_OPEN:
        daemon_job_open(daemon, action->job);
        break;
    case JOB_ACTION_START:
    case JOB_ACTION_CANCEL_STARTS:
    case JOB_ACTION_SIGNAL:
    case JOB_ACTION_END_GROUP:
    case JOB_ACTION_CUT_OUTPUT:
    case JOB_ACTION_CLOSE:
        part_action(daemon, action);
        break;
    case JOB_ACTION_FORGET:
        node_forget(daemon->node, action->job, &action->places);
        break;
    default:
        root_action(daemon, action);
    }
}

void daemon_job_event(struct daemon *daemon, struct job_event *event)
{
    struct job_actions actions;

    job_actions_init(&actions);
    event->now_ns = loop_now_ns();
    instance_step(daemon->instance, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        action_run(daemon, &actions.items[i]);
    job_actions_fini(&actions);
}

/* ---- the helper ---- */

static int is_rank(uint64_t id)
{
    return id > UINT32_MAX;
}

static int is_survey(uint64_t id)
{
    return id >= DAEMON_SURVEY_ID && !is_rank(id);
}

/* What came of a rank: index and job are in the id. */
static struct job_event rank_event(enum job_event_kind kind, uint64_t id, int64_t number)
{
    return (struct job_event){
        .kind = kind, .job = (uint32_t)(id >> 32), .index = (uint32_t)id, .number = number};
}

static void process_started(void *context, uint64_t id, pid_t pid)
{
    struct daemon *daemon = context;
    struct daemon_job *job;
    struct job_event event = rank_event(JOB_EVENT_STARTED, id, pid);

    if (!is_rank(id)) {
        if (starter_owns(daemon->starter, (uint32_t)id))
            starter_process_started(daemon->starter, (uint32_t)id, pid);
        return;
    }
    job = daemon_job_find(daemon, event.job);
    if (job)
        job->pids[event.index] = pid;
    daemon_job_event(daemon, &event);
}

static void process_failed(void *context, uint64_t id, int code, enum start_step step,
                           const char *text)
{
    struct daemon *daemon = context;
    struct job_event event = rank_event(JOB_EVENT_START_FAILED, id, code);

    if (is_survey(id)) /* its end of the pipe is closed: that tells */
        return;
    if (pmi_node_has_id(daemon->pmi_node, id)) {
        pmi_node_failed(daemon->pmi_node, id, code, step);
        return;
    }
    if (!is_rank(id)) {
        starter_process_failed(daemon->starter, (uint32_t)id, code, step);
        daemon_check_end(daemon);
        return;
    }
    event.step = step;
    event.text = text;
    daemon_job_event(daemon, &event);
}

static void process_exited(void *context, uint64_t id, int wait_status, int by_us)
{
    struct daemon *daemon = context;
    struct job_event event = rank_event(JOB_EVENT_EXITED, id, wait_status);
    struct job_event abnormal = rank_event(JOB_EVENT_ABNORMAL, id, 0);
    struct daemon_job *job;

    if (is_survey(id))
        return;
    if (pmi_node_has_id(daemon->pmi_node, id)) {
        pmi_node_exited(daemon->pmi_node, id, wait_status);
        return;
    }
    if (!is_rank(id)) {
        starter_process_exited(daemon->starter, (uint32_t)id, wait_status);
        daemon_check_end(daemon);
        return;
    }
    job = daemon_job_find(daemon, event.job);
    if (job)
        job->start_short_ns = 0;
    if (job && job->services && services_exited(job->services, event.index))
        daemon_job_event(daemon, &abnormal);
    event.flag = by_us;
    daemon_job_event(daemon, &event);
}

static void process_group_empty(void *context, uint32_t group)
{
    struct job_event event = {.kind = JOB_EVENT_GROUP_EMPTY, .job = group};

    daemon_job_event(context, &event);
}

/* If it was ending already nobody else tells of its children any more. */
static void helper_gone(void *context)
{
    struct daemon *daemon = context;
    struct error why;

    error_set(&why, -ECHILD, "the helper process was killed");
    daemon_end(daemon, NODE_END_EVICTED, &why);
    if (daemon->root)
        daemon->exit_status = EXIT_FAILURE;
    daemon_check_end(daemon);
}

const struct helper_events daemon_helper_events = {
    .started = process_started,
    .failed = process_failed,
    .exited = process_exited,
    .group_empty = process_group_empty,
    .room = daemon_start_all,
    .gone = helper_gone,
};
