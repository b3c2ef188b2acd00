/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs steps of the job logic and turns its actions into operations. */
#include "config.h"

#include <assert.h>

#include "base/log.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/core/names.h"
#include "launch/core/stage_root.h"
#include "launch/core/stall_report.h"
#include "launch/job/clients.h"
#include "launch/proto/control.h"

/* Time for an orderly end: of a complete tree, and of one whose start has failed. */
#define LEAVE_MS            5000
#define LEAVE_INCOMPLETE_MS 300

static struct message *take_message(struct job_action *action)
{
    struct message *message = action->message;

    action->message = NULL;
    return message;
}

static void broadcast_action(struct daemon_core *core, struct job_action *action)
{
    const struct ranges *places = ranges_is_empty(&action->places) ? NULL : &action->places;

    if (action->message->data[0] == JOB_MESSAGE_LAUNCH)
        daemon_core_trace_launch(core, action->job);

    if (core->tree->broadcast(core->tree_context, places, take_message(action)) < 0)
        daemon_core_text(core, action->job, LOG_LEVEL_ERROR,
                         "dropped a message to the nodes: too many are outstanding");
}

/* Actions on this node's part of a job.  It may be closed, or never opened if the launch was refused. */
static void run_on_part(struct daemon_core *core, const struct job_action *action)
{
    const struct daemon_ops *ops = core->ops;
    void *context = core->context;

    switch (action->kind) {
    case JOB_ACTION_OPEN:
        daemon_core_trace_open(core, action->job);
        ops->ranks->open(context, action->job);
        break;
    case JOB_ACTION_START:
        ops->ranks->start(context, action->job, action->start.first, action->start.count);
        break;
    case JOB_ACTION_SEAL:
        ops->ranks->seal(context, action->job);
        break;
    case JOB_ACTION_CANCEL_STARTS:
        ops->ranks->cancel_starts(context, action->job);
        break;
    case JOB_ACTION_SIGNAL:
        ops->ranks->signal(context, action->job, action->signal, &action->places);
        break;
    case JOB_ACTION_END_GROUP:
        ops->ranks->cancel_starts(context, action->job);
        ops->ranks->end(context, action->job, action->grace_ms);
        break;
    case JOB_ACTION_CUT_OUTPUT:
        ops->ranks->cut_output(context, action->job, action->cut.within_ms, action->cut.discard);
        break;
    case JOB_ACTION_SURVEY:
        ops->ranks->survey(context, action->job, action->want, (const char *)action->message->data);
        break;
    default:
        assert(action->kind == JOB_ACTION_CLOSE);
        daemon_core_trace_closed(core, action->job);
        names_part_closed(core->names, action->job);
        daemon_core_input_part_closed(core, action->job);
        ops->ranks->close(context, action->job);
    }
}

static void reply_spawned(struct daemon_core *core, const struct job_action *action)
{
    struct buffer answer = {0};

    job_spawned_encode(action->reply.answer, &answer);
    core->tree->reply(core->tree_context, action->reply.place, action->reply.id,
                      job_reply_message(0, answer.data, answer.length_bytes));
    buffer_fini(&answer);
}

static void leave_out(struct daemon_core *core, const struct ranges *places)
{
    uint32_t place = 0;

    for (; ranges_next(places, place, &place); place++)
        core->tree->place_failed(core->tree_context, place);
}

static void send_profile(struct daemon_core *core, const struct job_action *action)
{
    struct buffer payload = {0};

    control_put_job(action->job, &payload);
    buffer_append(&payload, action->message->data, action->message->length_bytes);
    clients_send(core->clients, action->job, CONTROL_PROFILE, &payload);
    buffer_fini(&payload);
}

/* Actions of the root: for clients and the end. */
static void run_at_root(struct daemon_core *core, const struct job_action *action)
{
    assert(daemon_core_is_root(core));
    switch (action->kind) {
    case JOB_ACTION_LEAVE:
        daemon_core_end_leave(core, core->was_complete ? LEAVE_MS : LEAVE_INCOMPLETE_MS);
        break;
    case JOB_ACTION_LEAVE_OUT:
        leave_out(core, &action->places);
        break;
    case JOB_ACTION_SPAWNED:
        reply_spawned(core, action);
        break;
    case JOB_ACTION_STARTED:
        daemon_core_trace_started(core, action->job);
        daemon_core_push_orphan(core, action->job);
        clients_action(core->clients, action);
        break;
    case JOB_ACTION_PROFILE:
        send_profile(core, action);
        break;
    case JOB_ACTION_ENDED:
        daemon_core_pull_ended(core, action->job);
        daemon_core_push_ended(core, action->job);
        daemon_core_push_orphans(core);
        stall_report_job_ended(core->stalls, action->job);
        names_job_ended(core->names, action->job);
        stage_root_job_ended(core->root->stage, action->job);
        daemon_core_progress_forget(core, action->job);
        daemon_core_trace_ended(core, action->job);
        clients_action(core->clients, action);
        break;
    default:
        clients_action(core->clients, action);
    }
}

static void run_action(struct daemon_core *core, struct job_action *action)
{
    switch (action->kind) {
    case JOB_ACTION_BROADCAST:
        broadcast_action(core, action);
        break;
    case JOB_ACTION_CONTRIBUTE:
        if (action->key.kind == JOB_OPERATION_ENDED)
            daemon_core_trace_send(core, action->job);
        core->tree->contribute(core->tree_context, &action->key, &action->places,
                               take_message(action));
        break;
    case JOB_ACTION_SEND:
        daemon_core_send(core, action->place, FRAME_CONTROL, take_message(action));
        break;
    case JOB_ACTION_FORGET:
        daemon_core_notice_forget(core, action->job);
        daemon_core_pull_ended(core, action->job); /* of those that came late */
        daemon_core_push_ended(core, action->job);
        core->tree->forget(core->tree_context, action->job, &action->places);
        break;
    case JOB_ACTION_TIMER:
        core->ops->timer(core->context, DAEMON_TIMER_JOB, action->job, action->deadline_ns);
        break;
    case JOB_ACTION_OPEN:
    case JOB_ACTION_START:
    case JOB_ACTION_SEAL:
    case JOB_ACTION_CANCEL_STARTS:
    case JOB_ACTION_SIGNAL:
    case JOB_ACTION_END_GROUP:
    case JOB_ACTION_CUT_OUTPUT:
    case JOB_ACTION_SURVEY:
    case JOB_ACTION_CLOSE:
        run_on_part(core, action);
        break;
    default:
        run_at_root(core, action);
    }
}

void daemon_core_job(struct daemon_core *core, struct job_event *event)
{
    struct job_actions actions;

    assert(core->is_stepping);
    job_actions_init(&actions);
    event->now_ns = core->ops->now_ns(core->context);
    instance_step(core->instance, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        run_action(core, &actions.items[i]);
    job_actions_fini(&actions);
}
