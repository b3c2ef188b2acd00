/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/soak/jobs_judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "test/support/launch_checker.h"

/* News needs no longer to the root, or from it to a node. */
#define NEWS_NS (20ull * NS_PER_MS)

void judge_job_fini(struct judge_job *job)
{
    free(job->failures);
}

void judge_process(struct judge_job *job, const struct placement_map *map,
                   const struct sim_process_fact *fact)
{
    struct checker_failure failure = {.time_ns = fact->now_ns,
                                      .place = fact->place,
                                      .index = fact->index,
                                      .fate = fact->fate,
                                      .number = fact->number,
                                      .abnormal = fact->abnormal,
                                      .text = fact->text};
    int fails =
        fact->fate == SIM_FATE_CANNOT_START || fact->fate == SIM_FATE_ABORTED ||
        (fact->fate == SIM_FATE_ENDED && !fact->by_us && (fact->number != 0 || fact->abnormal));
    struct judge_failure *added;

    job->vanished += fact->fate == SIM_FATE_VANISHED;
    if (fact->fate == SIM_FATE_ENDED) {
        job->last_end_ns = fact->now_ns;
        job->ended_well += !fact->by_us && !fails;
    }
    if (!fails || job->reports > 0)
        return;
    job->failures =
        memory_resize(job->failures, (job->failures_count + 1) * sizeof(*job->failures));
    added = &job->failures[job->failures_count++];
    *added = (struct judge_failure){.time_ns = fact->now_ns,
                                    .status = checker_failure_status(&failure),
                                    .weight = checker_failure_weight(&failure)};
    checker_failure_text(map, &failure, added->text, sizeof(added->text));
}

/* ---- judging ---- */

/* 1 if the line, or what follows in it, begins with these words. */
static int begins(const char *line, const char *text)
{
    size_t length = strlen(text);

    return strncmp(line, text, length) == 0 && (line[length] == '\0' || line[length] == ';');
}

/* The first that failed, as far as the root can tell: any within the time that news needs. */
static int may_be_first(const struct judge_job *job, const struct judge_failure *failure)
{
    for (uint32_t i = 0; i < job->failures_count; i++)
        if (job->failures[i].time_ns + NEWS_NS < failure->time_ns)
            return 0;
    return 1;
}

static uint32_t highest_status(const struct judge_job *job, int weight)
{
    uint32_t highest = 0;

    for (uint32_t i = 0; i < job->failures_count; i++)
        if (job->failures[i].weight <= weight && job->failures[i].status > highest)
            highest = job->failures[i].status;
    return highest;
}

static int heaviest(const struct judge_job *job)
{
    int most = 0;

    for (uint32_t i = 0; i < job->failures_count; i++)
        most = job->failures[i].weight > most ? job->failures[i].weight : most;
    return most;
}

/* Ranks that ended badly: the highest status, whose rank is named, and then the first one's. */
static const char *judge_ranks(const struct judge_job *job)
{
    const char *before = strstr(job->end.text, "; before that, ");
    int named = 0, first = 0;

    if (job->end.status != highest_status(job, 0))
        return "does not have the highest status of its ranks";
    for (uint32_t i = 0; i < job->failures_count; i++) {
        const struct judge_failure *failure = &job->failures[i];

        if (begins(job->end.text, failure->text)) {
            named |= failure->status == job->end.status;
            first |= before == NULL && may_be_first(job, failure);
        }
        if (before != NULL && begins(before + strlen("; before that, "), failure->text))
            first |= may_be_first(job, failure);
    }
    return !named   ? "does not name a rank with its status"
           : !first ? "does not name the rank that failed first"
                    : NULL;
}

/* A process that could not be started, or called abort: its own status, whoever else failed. */
static const char *judge_cause(const struct judge_job *job, int weight)
{
    for (uint32_t i = 0; i < job->failures_count; i++) {
        const struct judge_failure *failure = &job->failures[i];

        if (failure->weight == weight && failure->status == job->end.status &&
            begins(job->end.text, failure->text))
            return NULL;
    }
    return weight == 2 ? "does not name the process that could not be started"
                       : "does not name the rank that called abort";
}

static const char *judge_well(const struct judge_job *job)
{
    if (job->end.text[0] != '\0')
        return "has ended well, and something is said";
    return job->ended_well == job->processes && job->end.processes == job->processes
               ? NULL
               : "has ended well, but not all of its processes have";
}

static const char *judge_refused(const struct judge_job *job, int deaths)
{
    if (strstr(job->end.text, "slot") == NULL && strstr(job->end.text, "cores") == NULL)
        return "was refused for another reason than what others have";
    if (!deaths && strstr(job->end.text, "cores") == NULL && job->free_slots >= job->processes)
        return "was refused, and there were slots for it";
    return job->ended_well + job->failures_count > 0 ? "was refused, and has run" : NULL;
}

/* The earliest time of a failure up to a weight: the root hears at once of those below 2, and of a start
 * that failed when all others have been started. */
static uint64_t first_failure_ns(const struct judge_job *job, int weight)
{
    uint64_t first_ns = UINT64_MAX;

    for (uint32_t i = 0; i < job->failures_count; i++)
        if (job->failures[i].weight <= weight && job->failures[i].time_ns < first_ns)
            first_ns = job->failures[i].time_ns;
    return first_ns;
}

static const char *judge_wish(const struct judge_job *job)
{
    if (job->end.status != 130)
        return "has the reason of a wish, but not its status";
    if (job->wish_ns > job->report_ns)
        return "was ended by a user who had not asked for it";
    if (job->wish_ns < NEWS_NS)
        return NULL;
    return first_failure_ns(job, 1) < job->wish_ns - NEWS_NS
               ? "had failed before its user asked for its end"
               : NULL;
}

/* 1 if the user's wish came while nothing else could be the reason of the end. */
static int wish_decides(const struct judge_job *job)
{
    return job->wish_ns != UINT64_MAX && job->wish_ns > job->run_ns &&
           job->wish_ns + NEWS_NS < job->report_ns &&
           first_failure_ns(job, 2) > job->wish_ns + NEWS_NS &&
           job->last_end_ns > job->wish_ns + NEWS_NS;
}

const char *judge_report(const struct judge_job *job, int deaths)
{
    int weight = heaviest(job);

    if (job->reports != 1)
        return "is not reported once";
    if (strcmp(job->end.text, "interrupted") == 0)
        return judge_wish(job);
    if (strcmp(job->end.text, "the instance was ended") == 0)
        return job->end.status == 143 ? NULL : "has ended with the instance, with another status";
    if (job->end.status == 125 && job->failures_count == 0 &&
        strstr(job->end.text, "lost node") == NULL)
        return judge_refused(job, deaths);
    if (!deaths && (job->vanished > 0 || strstr(job->end.text, "lost node") != NULL))
        return "has lost a node or a process, and no daemon died";
    if (deaths)
        return NULL; /* news may have been lost with a relay */
    if (wish_decides(job))
        return "was not ended by its user, who asked for it";
    if (job->failures_count == 0)
        return job->end.status == 0 ? judge_well(job) : "has failed, and none of its ranks has";
    if (job->harmless)
        return "has failed, though its program does nothing wrong";
    return weight > 0 ? judge_cause(job, weight) : judge_ranks(job);
}
