/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that processes of other jobs have spawned.  All processes of such a job are started, or it
 * is ended and the answer says why; so it does not go on without one before they all have been started,
 * whatever its policy.  It is ended when the job of that process fails, and lives on when that
 * ends well; then it is ended with the job by which that one was spawned, if there is one.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/time.h"
#include "launch/job/instance.h"
#include "launch/job/instance_state.h"
#include "overlay/tree.h"

/* ---- answers ---- */

static void add_answer(struct job_actions *actions, uint32_t place, uint32_t id,
                       const struct job_spawned *answer)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_SPAWNED, answer->number);

    assert(answer->failure < JOB_SPAWN_FAILURE_COUNT);
    action->reply.answer = memory_copy(answer, sizeof(*answer));
    action->reply.place = place;
    action->reply.id = id;
}

void job_spawn_refuse(const struct job_event *event, enum job_spawn_failure failure,
                      const char *why, struct job_actions *actions)
{
    struct job_spawned answer = {.failure = (uint8_t)failure};

    snprintf(answer.reason, sizeof(answer.reason), "%s", why);
    add_answer(actions, event->place, (uint32_t)event->number, &answer);
}

int job_spawn_waits(const struct job *job)
{
    return job->asker.waits;
}

void job_spawn_started(struct job *job, struct job_actions *actions)
{
    struct job_spawned answer = {.number = job->number, .processes = job->map.processes};

    if (!job->asker.waits)
        return;
    job->asker.waits = 0;
    add_answer(actions, job->asker.place, job->asker.id, &answer);
}

uint64_t job_spawn_limit_ns(const struct job *job)
{
    return job->asker.waits && job->start_until_ns < job->run_until_ns ? job->start_until_ns
                                                                       : job->run_until_ns;
}

static enum job_spawn_failure failure_of(const struct job *job)
{
    const struct job_failure *failure = &job->failure;

    if (job->cause == JOB_CAUSE_TIME)
        return JOB_SPAWN_TIME;
    if (job->cause != JOB_CAUSE_NONE || job->lost_place != TREE_NO_PLACE)
        return JOB_SPAWN_ENDED;
    if (job->map.apps_count == 0)
        return JOB_SPAWN_MAP;
    if (failure->kind == JOB_FAILURE_SERVICES)
        return JOB_SPAWN_START;
    if (failure->kind != JOB_FAILURE_START)
        return JOB_SPAWN_ENDED;
    if (failure->step == START_STEP_CHDIR)
        return JOB_SPAWN_DIRECTORY;
    return failure->step == START_STEP_EXEC || failure->step == START_STEP_INTERPRETER
               ? JOB_SPAWN_EXECUTABLE
               : JOB_SPAWN_START;
}

/* The user reads it, too: what the program makes of it is not known. */
static void say_failure(const struct job *job, const char *why, struct job_actions *actions)
{
    struct buffer text = {0};

    if (job->spec.tool != NULL)
        buffer_printf(&text, "job %u, which a tool has spawned, does not run: %s", job->number,
                      why);
    else
        buffer_printf(&text, "job %u, which rank %u of job %u has spawned, does not run: %s",
                      job->number, job->spec.parent_rank, job->spec.parent, why);
    job_actions_text(actions, job->number, LOG_LEVEL_WARNING, buffer_string(&text));
    buffer_fini(&text);
}

/* Where the process or tool is that has spawned it, if it lives. */
static void parent_places(const struct job *job, struct ranges *ret_places)
{
    instance_job_places(job->instance, job->spec.parent,
                        job->spec.tool != NULL ? JOB_RANK_ALL : job->spec.parent_rank, ret_places);
    if (job->spec.tool == NULL)
        return;
    if (!ranges_contains(ret_places, job->asker.place)) {
        ranges_clear(ret_places);
        return;
    }
    ranges_clear(ret_places);
    ranges_add(ret_places, job->asker.place, job->asker.place);
}

void job_spawn_notice(const struct job *job, uint32_t status, enum pmi_stop stop,
                      struct ranges *ret_places, struct buffer *ret_notice)
{
    const char *tool = job->spec.tool;
    struct job_target parent = {tool != NULL ? 0 : job->spec.parent, job->spec.parent_rank};
    struct job_notice notice = {.number = job->spec.parent,
                                .child = job->number,
                                .status = status,
                                .stop = stop,
                                .targets = &parent,
                                .targets_count = 1,
                                .data = tool,
                                .data_bytes = tool != NULL ? strlen(tool) : 0};

    parent_places(job, ret_places);
    if (!ranges_is_empty(ret_places))
        job_notice_encode(&notice, ret_notice);
}

static void tell_parent(const struct job *job, uint32_t status, enum pmi_stop stop,
                        struct job_actions *actions)
{
    struct ranges places = {0};
    struct buffer notice = {0};

    job_spawn_notice(job, status, stop, &places, &notice);
    if (!ranges_is_empty(&places))
        job_actions_broadcast(actions, job->number, &places, &notice);
    ranges_fini(&places);
}

void job_spawn_stopped(const struct job *job, struct job_actions *actions)
{
    struct buffer text = {0};

    assert(job->spec.stop == PMI_STOP_EXEC);
    buffer_printf(
        &text,
        "all %u processes of job %u wait for a debugger before their first instruction, until SIGCONT",
        job->map.processes, job->number);
    job_actions_text(actions, job->number, LOG_LEVEL_WARNING, buffer_string(&text));
    buffer_fini(&text);
    if (job->spec.parent > 0)
        tell_parent(job, 0, PMI_STOP_EXEC, actions);
}

void job_spawn_ended(struct job *job, struct control_job_end *end, struct job_actions *actions)
{
    struct job_spawned answer = {.failure = (uint8_t)failure_of(job)};

    if (job->spec.parent == 0)
        return;
    if (!job->asker.waits || (job->cause == JOB_CAUSE_NONE && end->status == 0)) {
        if (job->asker.waits)
            job_spawn_started(job, actions); /* it was quick */
        tell_parent(job, end->status, PMI_STOP_NONE, actions);
        return;
    }
    job->asker.waits = 0;
    snprintf(answer.reason, sizeof(answer.reason), "%s", end->text);
    add_answer(actions, job->asker.place, job->asker.id, &answer);
    if (job->cause == JOB_CAUSE_NONE && answer.failure == JOB_SPAWN_ENDED &&
        job->lost_place == TREE_NO_PLACE)
        return; /* a process of it has failed, although it was quick */
    if (job->cause == JOB_CAUSE_NONE || job->cause == JOB_CAUSE_TIME)
        say_failure(job, end->text, actions);
    end->status = 0;
    end->banyan_failed = 0;
    end->text[0] = '\0';
}

/* ---- requests ---- */

static uint64_t limit_ns(uint64_t now_ns, uint32_t seconds)
{
    return seconds > 0 ? now_ns + seconds * NS_PER_S : UINT64_MAX;
}

void job_spawn_begin(struct job *job, const struct job_event *event, struct job_actions *actions)
{
    assert(event->kind == JOB_EVENT_SPAWN && event->job != job->number);
    job->spec.parent = job->ends_with = event->job;
    job->asker = (struct job_asker){event->place, (uint32_t)event->number, 1};
    job->start_until_ns = limit_ns(event->now_ns, job->spec.start_timeout_s);
    job->run_until_ns = limit_ns(event->now_ns, job->spec.run_timeout_s);
    job_actions_add(actions, JOB_ACTION_CHILD, job->number)->parent = event->job;
    job_set_deadline(job, job_spawn_limit_ns(job), actions);
}

int job_spawn_is_known(const struct instance *instance, const struct job_event *event,
                       struct job_actions *actions)
{
    struct list_link *node, *spare;

    list_for_each(&instance->root->jobs, node, spare)
    {
        struct job *job = list_entry(node, struct job, node);

        if (job->spec.parent != event->job || job->asker.place != event->place ||
            job->asker.id != (uint32_t)event->number)
            continue;
        if (!job->asker.waits) {
            job->asker.waits = 1;
            job_spawn_started(job, actions);
        }
        return 1;
    }
    return 0;
}

/* ---- families ---- */

static int has_failed(const struct job *job)
{
    int failed = job->failure.kind != JOB_FAILURE_NONE || job->loss != JOB_LOSS_NONE;

    return job->phase == JOB_ENDING ||
           (job_is_reported(job) && (job->cause != JOB_CAUSE_NONE ||
                                     (failed && job->spec.on_failure != JOB_ON_FAILURE_CONTINUE)));
}

void job_spawn_leave(struct job *job)
{
    int fails = has_failed(job) && !job->left_orphans;
    struct list_link *node, *spare;

    if (!fails && job->phase != JOB_OVER)
        return;
    list_for_each(&job->instance->root->jobs, node, spare)
    {
        struct job *other = list_entry(node, struct job, node);

        if (other->ends_with != job->number)
            continue;
        other->is_orphan |= fails;
        other->ends_with = fails ? 0 : job->ends_with;
    }
    job->left_orphans |= fails;
}

struct job *job_spawn_next_orphan(const struct instance *instance)
{
    struct list_link *node, *spare;

    list_for_each(&instance->root->jobs, node, spare)
    {
        struct job *job = list_entry(node, struct job, node);

        if (job->is_orphan && !job_is_reported(job))
            return job;
    }
    return NULL;
}
