/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the root does instead of ending a job whose policy is to continue: it reports to the user,
 * and after a loss asks the remaining nodes to contribute again without the dead when all have
 * ended.  The operations of the ranks themselves end with an error at the survivors, or continue
 * without ranks that have ended; that is done by the overlay and the services.  And what it reports of
 * ranks that their nodes start again.
 */
#include "config.h"

#include "launch/job/instance_state.h"
#include "launch/job/job_report.h"

#include <stdio.h>

#include "base/log.h"

/* Limit of node failures, or restarts, reported one by one; all failures are in the exit status. */
#define TOLD_MAX 16

int job_policy_goes_on(const struct job *job)
{
    return job->spec.on_failure == JOB_ON_FAILURE_CONTINUE && !job_spawn_waits(job) &&
           (job->phase == JOB_LAUNCHING || job->phase == JOB_RUNNING);
}

static void log_job_warning(const struct job *job, const char *text, struct job_actions *actions)
{
    job_actions_text(actions, job->number, LOG_LEVEL_WARNING, text);
}

/* A node sends its failure again when a relay has died. */
void job_policy_failure(struct job *job, const struct job_failure *failure,
                        struct job_actions *actions)
{
    uint64_t told = ranges_count(&job->told);
    struct buffer text = {0};
    char words[512];

    if (told > TOLD_MAX || ranges_contains(&job->told, failure->place))
        return;
    ranges_add(&job->told, failure->place, failure->place);
    job_report_failure(job, failure, words, sizeof words);
    if (told < TOLD_MAX)
        buffer_printf(&text, "%s; the job goes on", words);
    else
        buffer_append_string(&text, "further rank failures are not reported");
    log_job_warning(job, buffer_string(&text), actions);
    buffer_fini(&text);
}

/* One line for each message, but after some only when the number has doubled. */
void job_policy_restarted(struct job *job, const struct job_restarted *message,
                          struct job_actions *actions)
{
    struct ranges others = {0};
    struct buffer text = {0};
    char words[512];

    job->restarts += ranges_count(&message->ranks);
    if (job->restarts_told >= TOLD_MAX && job->restarts < job->restarts_next)
        return;
    job->restarts_told++;
    job->restarts_next = 2 * job->restarts;
    job_report_failure(job, &message->failure, words, sizeof words);
    buffer_printf(&text, "%s", words);
    ranges_copy(&others, &message->ranks);
    ranges_remove(&others, message->failure.rank, message->failure.rank);
    if (!ranges_is_empty(&others)) {
        buffer_append_string(&text, ", and ");
        job_report_rank_set(&others, &text);
        buffer_append_string(&text, " there failed as well");
    }
    buffer_printf(&text, "; restart %u of %u in %u s", message->count, job->spec.restarts_max,
                  message->delay_ms / 1000);
    if (job->restarts_told > TOLD_MAX)
        buffer_printf(&text, " (%llu restarts so far; most are not reported)",
                      (unsigned long long)job->restarts);
    log_job_warning(job, buffer_string(&text), actions);
    buffer_fini(&text);
    ranges_fini(&others);
}

int job_policy_loss(struct job *job, const struct ranges *places, struct job_actions *actions)
{
    struct job_end_message message = {.goes_on = 1};
    struct buffer text = {0};

    job->loss = JOB_LOSS_WENT_ON;
    buffer_append_string(&text, "lost ");
    buffer_append_string(&text, ranges_count(places) == 1 ? "node " : "nodes ");
    job_report_places(job->instance, places, &text);
    buffer_append_string(&text, ": ");
    job_report_loss(job->instance->root, ranges_min(places), &text);
    buffer_append_string(&text, "; the job goes on without ");
    job_report_ranks(job, places, &text);
    log_job_warning(job, buffer_string(&text), actions);
    buffer_fini(&text);
    return job_end_ask(job, &message, actions);
}
