/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the root does instead of ending a job whose policy is to continue: it tells the user, and
 * after a loss asks who is left to count without the dead when all have ended.  The operations of
 * the ranks themselves end with an error at the survivors, or do without who has ended; that is the
 * overlay's and the services' work.
 */
#include "config.h"

#include "launch/job/job_engine.h"

#include <stdio.h>

#include "base/log.h"

/* So many nodes' failures are told one by one; all are in the exit status. */
#define TOLD_MAX 16

int job_policy_goes_on(const struct job_root *root)
{
    return root->spec.on_failure == JOB_ON_FAILURE_CONTINUE &&
           (root->state == JOB_ROOT_LAUNCHING || root->state == JOB_ROOT_RUNNING);
}

static void tell(const struct job_root *root, const char *text, struct job_actions *actions)
{
    struct job_action *action = job_actions_add(actions, JOB_ACTION_TEXT, root->number);

    action->number = LOG_LEVEL_WARNING;
    snprintf(action->text, sizeof action->text, "%s", text);
}

/* A node repeats its failure when a relay has died. */
void job_policy_failure(struct job_engine *engine, const struct job_failure *failure,
                        struct job_actions *actions)
{
    struct job_root *root = engine->root;
    uint64_t told = ranges_count(&root->told);
    struct buffer text = {0};
    char words[sizeof((struct job_action *)0)->text];

    root->went_on = 1;
    if (told > TOLD_MAX || ranges_contains(&root->told, failure->place))
        return;
    ranges_add(&root->told, failure->place, failure->place);
    job_report_failure(engine, failure, words, sizeof words);
    if (told < TOLD_MAX)
        buffer_printf(&text, "%s; the job goes on", words);
    else
        buffer_append_string(&text, "further rank failures are not reported");
    tell(root, buffer_string(&text), actions);
    buffer_fini(&text);
}

void job_policy_loss(struct job_engine *engine, const struct ranges *places,
                     struct job_actions *actions)
{
    struct job_end_message message = {.goes_on = 1};
    struct buffer text = {0};

    engine->root->went_on = 1;
    buffer_append_string(&text, "lost ");
    buffer_append_string(&text, ranges_count(places) == 1 ? "node " : "nodes ");
    job_report_places(engine, places, &text);
    buffer_append_string(&text, ": ");
    job_report_loss(engine->root, ranges_min(places), &text);
    buffer_append_string(&text, "; the job goes on without ");
    job_report_ranks(engine, places, &text);
    tell(engine->root, buffer_string(&text), actions);
    buffer_fini(&text);
    job_root_ask(engine, &message, actions);
}
