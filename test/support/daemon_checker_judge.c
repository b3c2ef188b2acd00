/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/node_pool.h"
#include "base/time.h"
#include "launch/core/daemon_core.h"
#include "overlay/endpoint.h"
#include "test/support/daemon_checker_internal.h"

/* A job is over so long after what ends it: the grace, what the root waits for beyond it, what it takes
 * to notice a death. */
#define OVER_MS 12000u
/* Who waits longer than the first hears why within the second (overlay: 5 s). */
#define STALL_MS      8000u
#define STALL_LINE_MS 4000u

/* A process of the place has yet to call the fence. */
static bool is_awaited(const struct checker_job *job, uint32_t place, uint32_t generation)
{
    for (uint32_t i = 0; i < job->calls_count; i++)
        if (job->calls[i].place == place && job->calls[i].generation < generation)
            return true;
    return false;
}

/* All processes of a node wait in a fence, for others who run and never come: their user has been
 * told. */
static bool must_have_heard(const struct checker *checker, const struct checker_job *job,
                            uint64_t now_ns)
{
    uint32_t highest = 0, place = 0;
    uint64_t last_ns = 0, awaited = 0, nodes = ranges_count(&job->places);

    for (uint32_t i = 0; i < job->calls_count; i++) {
        if (job->calls[i].generation > highest)
            highest = job->calls[i].generation;
        if (job->calls[i].time_ns > last_ns)
            last_ns = job->calls[i].time_ns;
    }
    for (; ranges_next(&job->places, place, &place); place++)
        awaited += is_awaited(job, place, highest);
    return awaited > 0 && awaited < nodes && job->living == job->processes &&
           checker_reason_ns(checker, job) == CHECKER_NEVER && !checker->is_hurt &&
           checker_is_heard(checker, job, now_ns) &&
           last_ns + (STALL_MS + STALL_LINE_MS) * NS_PER_MS < now_ns;
}

/* Some wait though all have called: the fence is lost. */
static bool has_lost_fence(const struct checker_job *job, uint64_t now_ns)
{
    uint32_t generation = job->calls_count > 0 ? job->calls[0].generation : 0;

    if (generation == 0 || job->living < job->processes || job->endless)
        return false;
    return checker_all_called(job, generation) && job->last_ns + OVER_MS * NS_PER_MS < now_ns;
}

static void judge_end(struct checker *checker, struct checker_job *job)
{
    uint64_t now_ns = sim_machine_now_ns(checker->machine),
             reason = checker_reason_ns(checker, job);
    bool is_over = job->reports > 0 || (job->living == 0 && job->tried > 0);

    if (must_have_heard(checker, job, now_ns) && job->stall_lines == 0)
        checker_wrong(checker, job, "ranks wait for long and its user has not been told");
    if (has_lost_fence(job, now_ns))
        checker_wrong(checker, job, "a fence that all have called is not over");
    if (checker_is_heard(checker, job, now_ns) && job->reports == 0 &&
        (reason + OVER_MS * NS_PER_MS < now_ns || !job->endless))
        checker_wrong(checker, job, "is not reported, %u processes live", job->living);
    if (!is_over && job->living > 0 && reason < CHECKER_NEVER &&
        reason + OVER_MS * NS_PER_MS < now_ns)
        checker_wrong(checker, job, "%u processes live long after what should have ended them",
                      job->living);
    if (!is_over && job->living > 0 && !job->endless)
        checker_wrong(checker, job, "%u processes of a job that ends by itself live", job->living);
}

void checker_judge_ends(struct checker *checker)
{
    uint64_t now_ns = sim_machine_now_ns(checker->machine);

    for (uint32_t i = 0; i < checker->jobs_count; i++) {
        struct checker_job *job = &checker->jobs[i];

        if (job->number > 0)
            judge_end(checker, job);
        else if (checker->policy == INSTANCE_STAYS &&
                 checker->gone_ns[job->client] > job->asked_ns + CHECKER_NEWS_MS * NS_PER_MS &&
                 !checker_is_over(checker, now_ns))
            checker_wrong(checker, job, "a request was not answered");
        if (job->number > 0 && job->harmless && !job->endless && job->signal_ns > now_ns &&
            job->tried > 0 && checker_reason_ns(checker, job) == CHECKER_NEVER &&
            job->well != job->processes)
            checker_wrong(checker, job, "nothing happened to it and %u of %u processes ended well",
                          job->well, job->processes);
    }
}

static void judge_place(struct checker *checker, uint32_t place)
{
    const struct instance *instance = sim_machine_instance(checker->machine, place);
    const struct endpoint *node = sim_machine_endpoint(checker->machine, place);

    if (instance == NULL)
        return;
    if (instance_parts(instance) > 0)
        checker_wrong(checker, NULL, "place %u keeps a part of a job", place);
    if (daemon_core_kept_requests(sim_machine_core(checker->machine, place)) > 0)
        checker_wrong(checker, NULL, "place %u keeps requests", place);
    if (endpoint_kept_operations(node) > 0)
        checker_wrong(checker, NULL, "place %u keeps %u operations", place,
                      endpoint_kept_operations(node));
    if (endpoint_kept_stream_bytes(node) > 0)
        checker_wrong(checker, NULL, "place %u keeps bytes of streams", place);
}

void checker_judge_rest(struct checker *checker)
{
    const struct instance *root = sim_machine_instance(checker->machine, 0);
    struct node_record record;

    for (uint32_t i = 0; i < checker->jobs_count; i++) {
        struct checker_job *job = &checker->jobs[i];

        if (job->living > 0)
            checker_wrong(checker, job, "%u processes live at rest", job->living);
        if (job->number > 0 && job->reports == 0 &&
            checker_is_heard(checker, job, CHECKER_NEVER - 1))
            checker_wrong(checker, job, "is never reported");
    }
    if (root == NULL)
        return;
    if (instance_kept_jobs(root) > 0)
        checker_wrong(checker, NULL, "the root keeps %u jobs", instance_kept_jobs(root));
    for (uint32_t node = 0; node < node_pool_count(instance_book(root)); node++) {
        node_pool_node(instance_book(root), node, &record);
        if (record.slots_used > 0)
            checker_wrong(checker, NULL, "%u slots of %s are not given back", record.slots_used,
                          record.name);
    }
    for (uint32_t place = 0; place < checker->places; place++)
        judge_place(checker, place);
}

void checker_judge_gone(struct checker *checker)
{
    if (sim_machine_daemons(checker->machine) > 0)
        checker_wrong(checker, NULL, "%u daemons have not ended",
                      sim_machine_daemons(checker->machine));
    for (uint32_t i = 0; i < checker->jobs_count; i++)
        if (checker->jobs[i].living > 0)
            checker_wrong(checker, &checker->jobs[i],
                          "%u processes live when all daemons have ended", checker->jobs[i].living);
}
