/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/job.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "launch/proto/doctor_report.h"
#include "launch/job/job_state.h"
#include "launch/proto/bench.h"
#include "launch/proto/progress.h"
#include "launch/proto/stage.h"
#include "launch/proto/survey.h"
#include "overlay/tree.h"

static void concatenate_payloads(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

endpoint_merge_function *const job_merges[JOB_MERGE_COUNT] = {
    [JOB_MERGE_CONCATENATE] = concatenate_payloads,
    [JOB_MERGE_LAUNCHED] = job_launched_merge,
    [JOB_MERGE_ENDED] = job_ended_merge,
    [JOB_MERGE_SURVEY] = survey_merge,
    [JOB_MERGE_DOCTOR] = doctor_report_fold,
    [JOB_MERGE_STAGE] = stage_report_merge,
    [JOB_MERGE_PROGRESS] = progress_merge,
    [JOB_MERGE_BENCH] = bench_merge,
};

void job_actions_init(struct job_actions *actions)
{
    *actions = (struct job_actions){0};
}

static void action_fini(struct job_action *action)
{
    ranges_fini(&action->places);
    message_release(action->message);
    if (action->kind == JOB_ACTION_CLOSE)
        job_part_destroy(action->part);
    else if (action->kind == JOB_ACTION_ENDED)
        free(action->end);
    else if (action->kind == JOB_ACTION_SPAWNED)
        free(action->reply.answer);
    else if (action->kind == JOB_ACTION_TEXT || action->kind == JOB_ACTION_WAITS ||
             action->kind == JOB_ACTION_FAILED)
        free(action->text.words);
}

void job_actions_clear(struct job_actions *actions)
{
    for (uint32_t i = 0; i < actions->count; i++)
        action_fini(&actions->items[i]);
    actions->count = 0;
}

void job_actions_fini(struct job_actions *actions)
{
    job_actions_clear(actions);
    free(actions->items);
    job_actions_init(actions);
}

struct job_action *job_actions_add(struct job_actions *actions, enum job_action_kind kind,
                                   uint32_t job)
{
    if (actions->count == actions->capacity) {
        actions->capacity = actions->capacity ? 2 * actions->capacity : 8;
        actions->items = memory_resize(actions->items, actions->capacity * sizeof *actions->items);
    }
    struct job_action *action = &actions->items[actions->count++];
    memset(action, 0, sizeof *action);
    action->kind = kind;
    action->job = job;
    return action;
}

void job_actions_broadcast(struct job_actions *actions, uint32_t job, const struct ranges *places,
                           struct buffer *payload)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_BROADCAST, job);

    if (places)
        ranges_copy(&action->places, places);
    action->message = message_from_buffer(payload);
    buffer_fini(payload);
}

void job_actions_text(struct job_actions *actions, uint32_t job, uint8_t level, const char *text)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_TEXT, job);

    action->text.level = level;
    action->text.words = memory_copy_string(text);
}

void job_actions_timer(struct job_actions *actions, uint32_t job, uint64_t deadline_ns)
{
    job_actions_add(actions, JOB_ACTION_TIMER, job)->deadline_ns = deadline_ns;
}

uint64_t job_set_id(uint32_t number, enum job_operation operation)
{
    return hash_mix(((uint64_t)operation << 32) | number);
}

int job_is_group_barrier(const struct operation_name *key)
{
    return key->kind == JOB_OPERATION_PMI1 &&
           key->set_id != job_set_id(key->owner, JOB_OPERATION_PMI1);
}

int job_is_of_processes(const struct operation_name *key)
{
    return key->kind == JOB_OPERATION_PMI1 || key->kind == JOB_OPERATION_PMIX ||
           key->kind == JOB_OPERATION_STOPPED;
}

struct operation_name job_key(uint32_t number, enum job_operation operation, uint32_t generation)
{
    static const uint8_t merges[] = {
        [JOB_OPERATION_LAUNCHED] = JOB_MERGE_LAUNCHED, [JOB_OPERATION_ENDED] = JOB_MERGE_ENDED,
        [JOB_OPERATION_PMI1] = JOB_MERGE_CONCATENATE,  [JOB_OPERATION_PMIX] = JOB_MERGE_CONCATENATE,
        [JOB_OPERATION_SURVEY] = JOB_MERGE_SURVEY,
    };
    int gather = operation != JOB_OPERATION_PMI1 && operation != JOB_OPERATION_PMIX;
    uint64_t set_id = job_set_id(number, operation);

    /* After a loss it is another set, and other nodes are asked the second time. */
    if (operation == JOB_OPERATION_ENDED || operation == JOB_OPERATION_SURVEY)
        set_id = hash_mix(set_id + generation);
    return (struct operation_name){
        .set_id = set_id,
        .owner = number,
        .generation = generation,
        .kind = (uint8_t)operation,
        .merge = merges[operation],
        .target = gather ? ENDPOINT_TARGET_ROOT : ENDPOINT_TARGET_ALL,
    };
}
