/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Job control by a process (pmix/pmi_control.h): the root is asked once for each job that is meant, and passes it on
 * to that job's nodes.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "launch/rank/rank_pmi_internal.h"
#include "launch/rank/rank_query.h"
#include "pmix/pmi_control.h"
#include "pmix/pmi_query.h"

/* The jobs that the root has been asked about. */
struct orders {
    const struct speaker *speaker;
    uint64_t id;
    uint32_t asked; /* and has not answered */
    int status;     /* the first that is not 0 */
};

static void orders_end(struct orders *orders)
{
    if (orders->status != -ECANCELED)
        rank_pmi_answer(orders->speaker, orders->id, orders->status, NULL, 0);
    free(orders);
}

static void order_answered(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                           size_t data_bytes)
{
    struct orders *orders = context;

    (void)rank_pmi;
    (void)data;
    (void)data_bytes;
    assert(orders->asked > 0);
    if (orders->status == 0 || status == -ECANCELED)
        orders->status = status;
    if (--orders->asked == 0)
        orders_end(orders);
}

/* All of the targets in one job: no ranks if it is the whole. */
static void collect_ranks(const struct pmi_control *control, const char *name, uint32_t number,
                          struct ranges *ret_ranks)
{
    int is_whole = 0;

    for (uint32_t i = 0; i < control->targets_count; i++) {
        const struct pmi_control_target *target = &control->targets[i];

        if (pmi_query_job(name, target->namespace) != number)
            continue;
        is_whole |= target->rank == PMI_RANK_ALL;
        if (target->rank != PMI_RANK_ALL)
            ranges_add(ret_ranks, target->rank, target->rank);
    }
    if (is_whole)
        ranges_clear(ret_ranks);
}

static void order_one(struct orders *orders, const struct pmi_request *request,
                      const struct pmi_control *control, const char *name, uint32_t number)
{
    struct rank_pmi *rank_pmi = orders->speaker->rank_pmi;
    struct job_control message = {
        .number = number, .kind = (uint8_t)control->kind, .signal = control->signal};
    struct buffer text = {0};

    collect_ranks(control, name, number, &message.ranks);
    if (request->caller.rank == PMI_RANK_ALL)
        snprintf(message.by, sizeof(message.by), "a tool");
    else
        snprintf(message.by, sizeof(message.by), "rank %u of job %u", request->caller.rank,
                 request->caller.job);
    job_control_encode(&message, &text);
    ranges_fini(&message.ranks);
    orders->asked++;
    rank_pmi_ask(rank_pmi, 0,
                 job_request_message(JOB_MESSAGE_CONTROL, text.data, text.length_bytes),
                 order_answered, orders);
    buffer_fini(&text);
}

/* The jobs of the targets; -ENOENT if one is of no job of this instance. */
static int collect_jobs(const struct pmi_control *control, const char *name,
                        struct ranges *ret_jobs)
{
    for (uint32_t i = 0; i < control->targets_count; i++) {
        uint32_t number = pmi_query_job(name, control->targets[i].namespace);

        if (number == 0)
            return -ENOENT;
        ranges_add(ret_jobs, number, number);
    }
    return ranges_is_empty(ret_jobs) ? -ENOENT : 0;
}

static void give_orders(struct speaker *speaker, const struct pmi_request *request,
                        const struct pmi_control *control, const char *name,
                        const struct ranges *jobs)
{
    struct orders *orders = memory_allocate_zeroed(sizeof(*orders));
    uint32_t number = 0;

    orders->speaker = speaker;
    orders->id = request->id;
    for (; ranges_next(jobs, number, &number); number++)
        order_one(orders, request, control, name, number);
}

void rank_pmi_control(struct speaker *speaker, const struct pmi_request *request)
{
    char *name = rank_query_name(speaker->rank_pmi->config.jobs_name);
    struct pmi_control control = {0};
    struct ranges jobs = {0};
    int rc = pmi_control_decode(&control, request->data, request->data_bytes);

    if (rc == 0)
        rc = collect_jobs(&control, name, &jobs);
    if (rc == 0)
        give_orders(speaker, request, &control, name, &jobs);
    else
        rank_pmi_answer(speaker, request->id, rc, NULL, 0);
    pmi_control_fini(&control);
    ranges_fini(&jobs);
    free(name);
}
