/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node knows of the jobs of its instance, for processes of one job that connect to, or get data of,
 * those of another: the jobs that have ranks here, and the maps of others, which it asks the root for
 * when one is first needed.  libpmix learns of such a foreign job before an operation with its processes
 * completes.
 *
 * A foreign job is kept as long as a job of this node lives that has needed it.
 * Memory: for each the map and, once libpmix has it, what host_job.h says.
 */
#ifndef LAUNCH_RANK_RANK_JOBS_H
#define LAUNCH_RANK_RANK_JOBS_H

#include <stdint.h>

#include "launch/job/job.h"
#include "pmix/pmi.h"

struct pmi_node;
struct rank_jobs;
struct rank_pmi;

struct rank_jobs *rank_jobs_create(struct pmi_node *node);
void rank_jobs_destroy(struct rank_jobs *jobs); /* when no rank_pmi is left; NULL is fine */

/* How jobs get into the node's PMIx server: 0, or a negative errno. */
struct rank_jobs_ops {
    int (*open)(struct rank_pmi *rank_pmi); /* one with ranks here, unless it is open */
    int (*open_foreign)(struct rank_pmi *rank_pmi, const struct job_local *job,
                        const struct pmi_ops *ops, struct error *error);
};

/* A job with ranks here, from its start to its end.  jobs may be NULL, where no other job is known.  ops
 * stay the caller's. */
void rank_jobs_add(struct rank_jobs *jobs, struct rank_pmi *rank_pmi,
                   const struct rank_jobs_ops *ops);
void rank_jobs_remove(struct rank_jobs *jobs, struct rank_pmi *rank_pmi);
/* NULL if the job has no ranks here. */
struct rank_pmi *rank_jobs_find(const struct rank_jobs *jobs, uint32_t number);
/* The job's map; NULL if it is not known here. */
const struct job_local *rank_jobs_map(const struct rank_jobs *jobs, uint32_t number);

/* status: 0, or a negative errno if there is no such job; -ECANCELED: the asking job has been closed, and
 * nobody can be answered. */
typedef void rank_jobs_known(struct rank_pmi *rank_pmi, void *context, int status);
/* Calls `known`, now or later, once the map of the job is known here, and in_libpmix: once libpmix has been
 * sent it. */
void rank_jobs_need(struct rank_pmi *rank_pmi, uint32_t number, int in_libpmix,
                    rank_jobs_known *known, void *context);

#endif
