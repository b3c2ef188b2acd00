/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/rank/rank_jobs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/wire.h"
#include "launch/rank/rank_pmi_internal.h"

struct rank_jobs {
    struct pmi_node *node;
    const struct rank_jobs_ops *ops; /* the same of all */
    struct hash_map *here;           /* number -> struct rank_pmi */
    struct hash_map *foreign;        /* number -> struct foreign */
};

struct foreign {
    struct rank_jobs *jobs;
    struct job_local local; /* without ranks here */
    struct ranges users;    /* numbers of the jobs here that have needed it */
    int is_open;            /* libpmix has it */
};

/* ---- Local jobs ---- */

struct rank_jobs *rank_jobs_create(struct pmi_node *node)
{
    struct rank_jobs *jobs = memory_allocate_zeroed(sizeof(*jobs));

    jobs->node = node;
    jobs->here = hash_map_create();
    jobs->foreign = hash_map_create();
    return jobs;
}

void rank_jobs_destroy(struct rank_jobs *jobs)
{
    if (jobs == NULL)
        return;
    assert(hash_map_count(jobs->here) == 0 && hash_map_count(jobs->foreign) == 0);
    hash_map_destroy(jobs->here);
    hash_map_destroy(jobs->foreign);
    free(jobs);
}

void rank_jobs_add(struct rank_jobs *jobs, struct rank_pmi *rank_pmi,
                   const struct rank_jobs_ops *ops)
{
    if (jobs == NULL)
        return;
    jobs->ops = ops;
    (void)hash_map_put_u64(jobs->here, rank_pmi->config.job->number, rank_pmi);
}

struct rank_pmi *rank_jobs_find(const struct rank_jobs *jobs, uint32_t number)
{
    return hash_map_get_u64(jobs->here, number);
}

const struct job_local *rank_jobs_map(const struct rank_jobs *jobs, uint32_t number)
{
    const struct rank_pmi *here = jobs != NULL ? rank_jobs_find(jobs, number) : NULL;
    const struct foreign *foreign = jobs != NULL ? hash_map_get_u64(jobs->foreign, number) : NULL;

    if (here != NULL)
        return here->config.job;
    return foreign != NULL ? &foreign->local : NULL;
}

/* ---- Foreign jobs ---- */

static void foreign_destroy(struct foreign *foreign)
{
    if (foreign->is_open)
        pmi_node_close(foreign->jobs->node, foreign->local.number);
    job_local_fini(&foreign->local);
    ranges_fini(&foreign->users);
    free(foreign);
}

static struct foreign *without_user(const struct rank_jobs *jobs)
{
    struct foreign *foreign;
    size_t cursor = 0;

    while ((foreign = hash_map_next(jobs->foreign, &cursor)) != NULL &&
           !ranges_is_empty(&foreign->users))
        ;
    return foreign;
}

void rank_jobs_remove(struct rank_jobs *jobs, struct rank_pmi *rank_pmi)
{
    uint32_t number = rank_pmi->config.job->number;
    struct foreign *foreign;
    size_t cursor = 0;

    if (jobs == NULL || hash_map_remove_u64(jobs->here, number) == NULL)
        return;
    while ((foreign = hash_map_next(jobs->foreign, &cursor)) != NULL)
        ranges_remove(&foreign->users, number, number);
    while ((foreign = without_user(jobs)) != NULL) {
        (void)hash_map_remove_u64(jobs->foreign, foreign->local.number);
        foreign_destroy(foreign);
    }
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    (void)context;
    (void)pid;
    if (status < 0)
        log_warning("libpmix does not take job %u: %s", job, why);
}

/* The next server gets it when it is needed again. */
static void on_lost(void *context, uint32_t job, const char *why)
{
    struct foreign *foreign = context;

    (void)why;
    assert(foreign->local.number == job);
    foreign->is_open = 0;
}

/* What is sent to the server afterwards is read there when it has the job. */
static int foreign_open(struct rank_pmi *rank_pmi, struct foreign *foreign)
{
    struct pmi_ops ops = {.context = foreign, .opened = on_opened, .lost = on_lost};
    struct error error = ERROR_NONE;
    int rc = 0;

    if (!foreign->is_open)
        rc = foreign->jobs->ops->open_foreign(rank_pmi, &foreign->local, &ops, &error);
    if (rc == 0)
        foreign->is_open = 1;
    return rc;
}

static int make_known(struct rank_pmi *rank_pmi, uint32_t number, int in_libpmix)
{
    struct rank_jobs *jobs = rank_pmi->config.jobs;
    struct rank_pmi *here = rank_jobs_find(jobs, number);
    struct foreign *foreign = hash_map_get_u64(jobs->foreign, number);

    if (here != NULL)
        return in_libpmix ? jobs->ops->open(here) : 0;
    if (foreign == NULL)
        return -ENOENT;
    ranges_add(&foreign->users, rank_pmi->config.job->number, rank_pmi->config.job->number);
    return in_libpmix ? foreign_open(rank_pmi, foreign) : 0;
}

/* ---- Asking the root ---- */

struct need {
    uint32_t number;
    int in_libpmix;
    rank_jobs_known *known;
    void *context;
};

static int learn(struct rank_pmi *rank_pmi, uint32_t number, const void *data, size_t data_bytes)
{
    struct rank_jobs *jobs = rank_pmi->config.jobs;
    struct foreign *foreign;
    struct wire_reader reader;

    if (rank_jobs_map(jobs, number) != NULL)
        return 0; /* another has asked, too */
    wire_reader_init(&reader, data, data_bytes);
    foreign = memory_allocate_zeroed(sizeof(*foreign));
    foreign->jobs = jobs;
    if (job_map_learn(&foreign->local, rank_pmi->config.allocation, number, &reader) < 0) {
        free(foreign);
        return -EBADMSG;
    }
    (void)hash_map_put_u64(jobs->foreign, number, foreign);
    return 0;
}

static void root_answered(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                          size_t data_bytes)
{
    struct need *need = context;

    if (status == 0)
        status = learn(rank_pmi, need->number, data, data_bytes);
    if (status == 0)
        status = make_known(rank_pmi, need->number, need->in_libpmix);
    need->known(rank_pmi, need->context, status);
    free(need);
}

void rank_jobs_need(struct rank_pmi *rank_pmi, uint32_t number, int in_libpmix,
                    rank_jobs_known *known, void *context)
{
    struct need *need;

    if (rank_pmi->config.jobs == NULL || number == PMI_JOB_NONE) {
        known(rank_pmi, context, -ENOENT);
        return;
    }
    if (rank_jobs_map(rank_pmi->config.jobs, number) != NULL) {
        known(rank_pmi, context, make_known(rank_pmi, number, in_libpmix));
        return;
    }
    need = memory_allocate(sizeof(*need));
    *need = (struct need){number, in_libpmix, known, context};
    rank_pmi_ask(rank_pmi, 0, job_map_message(number), root_answered, need);
}
