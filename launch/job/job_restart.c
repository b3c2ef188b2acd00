/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a node that are started again when they fail (JOB_ON_FAILURE_RESTART): each for a limited
 * number of times, after a pause that doubles.  A rank that has connected to PMI is not: the others count
 * on what it has exchanged with them.  The user reads one line for all ranks of the node that fail
 * within a moment.  Memory: O(local ranks), only of jobs with this policy.
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "launch/job/instance_state.h"

/* Before the first restart of a rank, and at most. */
#define PAUSE_MS     1000u
#define PAUSE_MAX_MS 30000u
/* Failures within this time are reported together. */
#define GATHER_MS 100u

/* A local rank. */
struct job_restart {
    uint64_t due_ns;      /* when it is started again, if it waits for that */
    uint32_t count;       /* of its restarts, and the one that it waits for */
    uint32_t elsewhere;   /* how many of these it had when it came to this node */
    uint8_t has_joined;   /* it has connected to PMI */
    uint8_t failure_kind; /* why it waits: enum job_failure_kind, and code */
    int32_t failure_code;
};

struct job_restarts {
    struct job_restarted told; /* ranks of which the user will hear ... */
    uint64_t report_ns;        /* ... then; UINT64_MAX: there are none */
    struct job_restart ranks[];
};

static struct job_restarts *restarts_create(uint32_t ranks)
{
    struct job_restarts *restarts =
        memory_allocate_zeroed(sizeof(*restarts) + ranks * sizeof(restarts->ranks[0]));

    restarts->report_ns = UINT64_MAX;
    return restarts;
}

void job_restart_open(struct job_part *part)
{
    assert(part->restarts == NULL);
    if (part->local.spec.on_failure == JOB_ON_FAILURE_RESTART)
        part->restarts = restarts_create(part->local.count);
}

void job_restart_close(struct job_part *part)
{
    if (part->restarts != NULL)
        ranges_fini(&part->restarts->told.ranks);
    free(part->restarts);
}

int job_restart_is_due(const struct job_part *part, uint32_t index, int wait_status, int by_us)
{
    assert(index < part->local.count);
    return part->restarts != NULL && wait_status != 0 && !by_us && !part->is_ending &&
           !part->failure_sent && !part->starts_cancelled &&
           !part->restarts->ranks[index].has_joined &&
           part->restarts->ranks[index].count < part->local.spec.restarts_max;
}

uint32_t job_restart_count(const struct job_part *part, uint32_t index)
{
    assert(index < part->local.count);
    return part->restarts != NULL ? part->restarts->ranks[index].count : 0;
}

int job_restart_was_here(const struct job_part *part, uint32_t index)
{
    assert(index < part->local.count);
    return part->restarts != NULL &&
           part->restarts->ranks[index].count > part->restarts->ranks[index].elsewhere;
}

uint32_t job_restart_pause_ms(uint32_t count)
{
    uint32_t milliseconds = PAUSE_MS;

    assert(count > 0);
    while (--count > 0 && milliseconds < PAUSE_MAX_MS)
        milliseconds *= 2;
    return milliseconds < PAUSE_MAX_MS ? milliseconds : PAUSE_MAX_MS;
}

/* When there is something to do next. */
static void set_timer(const struct job_part *part, struct job_actions *actions)
{
    uint64_t next_ns = part->restarts->report_ns;

    for (uint32_t i = 0; i < part->local.count; i++)
        if (part->rank_states[i] == RANK_WAITING && part->restarts->ranks[i].due_ns < next_ns)
            next_ns = part->restarts->ranks[i].due_ns;
    job_actions_timer(actions, part->local.number, next_ns);
}

void job_restart_take(struct job_part *part, const uint32_t *counts, uint64_t now_ns,
                      struct job_actions *actions)
{
    assert(part->restarts != NULL && part->phase == JOB_PART_STARTING);
    for (uint32_t i = 0; i < part->local.count; i++) {
        struct job_restart *restart = &part->restarts->ranks[i];

        restart->count = restart->elsewhere = counts[i] > 0 ? counts[i] : 1;
        restart->due_ns = now_ns + job_restart_pause_ms(restart->count) * NS_PER_MS;
        part->rank_states[i] = RANK_WAITING;
    }
    set_timer(part, actions);
}

void job_restart_wait(struct job_part *part, uint32_t index, const struct job_failure *failure,
                      uint64_t now_ns, struct job_actions *actions)
{
    struct job_restart *restart = &part->restarts->ranks[index];
    uint32_t delay_ms;

    assert(part->rank_states[index] == RANK_RUNNING && !restart->has_joined);
    part->rank_states[index] = RANK_WAITING;
    restart->count++;
    restart->failure_kind = failure->kind;
    restart->failure_code = failure->code;
    delay_ms = job_restart_pause_ms(restart->count);
    restart->due_ns = now_ns + delay_ms * NS_PER_MS;
    if (part->restarts->report_ns == UINT64_MAX) {
        part->restarts->report_ns = now_ns + GATHER_MS * NS_PER_MS;
        part->restarts->told.failure = *failure;
        part->restarts->told.failure.number = part->local.number;
        part->restarts->told.failure.place = part->instance->place;
        part->restarts->told.count = restart->count;
        part->restarts->told.delay_ms = delay_ms;
    }
    ranges_add(&part->restarts->told.ranks, failure->rank, failure->rank);
    set_timer(part, actions);
}

int job_restart_joined(struct job_part *part, uint32_t index, struct job_failure *ret_failure)
{
    struct job_restart *restart;

    if (part->restarts == NULL)
        return 0;
    restart = &part->restarts->ranks[index];
    restart->has_joined = 1;
    if (part->rank_states[index] != RANK_WAITING)
        return 0;
    restart->count--;
    *ret_failure = (struct job_failure){.kind = restart->failure_kind,
                                        .rank = job_part_rank(part, index),
                                        .code = restart->failure_code};
    return 1;
}

void job_restart_explain(const struct job_part *part, uint32_t index, struct job_failure *failure)
{
    uint32_t count = job_restart_count(part, index);
    size_t length;

    if (part->restarts == NULL ||
        (failure->kind != JOB_FAILURE_EXIT && failure->kind != JOB_FAILURE_SIGNAL))
        return;
    if (!part->restarts->ranks[index].has_joined && count == 0)
        return;
    if (failure->kind == JOB_FAILURE_SIGNAL && failure->detail[0] == '\0')
        snprintf(failure->detail, sizeof(failure->detail), "signal %d (%s)", failure->code,
                 strsignal(failure->code));
    length = strlen(failure->detail);
    if (part->restarts->ranks[index].has_joined)
        snprintf(failure->detail + length, sizeof(failure->detail) - length,
                 "; it had connected to PMI, so it is not restarted");
    else
        snprintf(failure->detail + length, sizeof(failure->detail) - length, " after %u restart%s",
                 count, count == 1 ? "" : "s");
}

static void report(struct job_part *part, struct job_actions *actions)
{
    struct buffer payload = {0};

    job_restarted_encode(&part->restarts->told, &payload);
    job_actions_add(actions, JOB_ACTION_SEND, part->local.number)->message =
        message_from_buffer(&payload);
    buffer_fini(&payload);
    ranges_clear(&part->restarts->told.ranks);
    part->restarts->report_ns = UINT64_MAX;
}

static void start_again(struct job_part *part, uint32_t index, struct job_actions *actions)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_START, part->local.number);

    action->start.first = index;
    action->start.count = 1;
    part->rank_states[index] = RANK_STARTING;
}

void job_restart_time(struct job_part *part, uint64_t now_ns, struct job_actions *actions)
{
    if (part->restarts == NULL)
        return;
    if (part->restarts->report_ns <= now_ns)
        report(part, actions);
    for (uint32_t i = 0; i < part->local.count; i++)
        if (part->rank_states[i] == RANK_WAITING && part->restarts->ranks[i].due_ns <= now_ns)
            start_again(part, i, actions);
    set_timer(part, actions);
}

void job_restart_cancel(struct job_part *part, struct job_actions *actions)
{
    if (part->restarts == NULL)
        return;
    for (uint32_t i = 0; i < part->local.count; i++) {
        if (part->rank_states[i] != RANK_WAITING)
            continue;
        part->rank_states[i] = RANK_ENDED;
        part->ended++;
        part->reported += !job_restart_was_here(part, i); /* that has just been decided */
    }
    ranges_clear(&part->restarts->told.ranks);
    part->restarts->report_ns = UINT64_MAX;
    set_timer(part, actions);
}
