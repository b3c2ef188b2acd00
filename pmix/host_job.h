/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libpmix must know of a job: the whole map, and the local processes in full.
 *
 * Cost: O(processes of the job) in libpmix, about 1.9 kB each (it derives every rank's location
 * from the map), which is why details of other nodes' ranks are given only in smaller jobs.
 */
#ifndef PMIX_HOST_JOB_H
#define PMIX_HOST_JOB_H

#include <stdint.h>

#include "pmix/host_internal.h"

/* host_table.job_open. */
void host_job_open(struct host *host, const struct pmi_job *job);
/* A process of any open job; 0: there is none. */
int host_job_any(const struct host *host, struct pmi_process *ret_process);
/* The rest of host_table.job_close, when no request of the job is open. */
void host_job_close(struct host *host, uint32_t number);

/* Between libpmix's names and ours; PMI_JOB_NONE for a namespace that is not of the instance, -ENOENT for a
 * job that is not open here. */
struct pmi_process host_job_pmi(const struct host *host, const struct host_process *process);
struct pmi_process *host_job_pmi_all(const struct host *host, const struct host_process *processes,
                                     size_t count);
/* Also of a job of the instance that is not open here; PMI_JOB_NONE is the server of place `rank`. */
void host_job_name(const struct host *host, const struct pmi_process *process,
                   struct host_process *ret_process);
int host_job_process(const struct host *host, const struct pmi_process *process,
                     struct host_process *ret_process);

/* A namespace that is open here, for what is asked by nobody in particular; -ENOENT if there is none. */
int host_job_first(const struct host *host, char namespace[PMI_NAMESPACE_BYTES]);
/* The wanted one, if it has processes here. */
int host_job_near(const struct host *host, const char *wanted, char namespace[PMI_NAMESPACE_BYTES]);

/* From any thread. */
int host_job_is_open(struct host *host, const char *namespace);
int host_job_keeps_data(struct host *host, const char *namespace); /* pmi_job.keeps_data */
/* Who makes a request, from any thread.  A tool is of no job: any that is open here passes on what it asks for, as of no
 * rank (PMI_RANK_ALL). */
void host_job_caller(struct host *host, const pmix_proc_t *proc, struct host_process *ret_caller);

int host_job_is_local(const struct host *host, const struct host_process *process);
/* A local process, or all of a job, wait for a debugger: 1 if no more are to do so here. */
int host_job_stopped(struct host *host, const struct host_process *process);

/* libpmix has refused a client that claims to be this process. */
void host_job_spoiled(struct host *host, const struct host_process *process);
void host_job_process_gone(struct host *host, const struct host_process *process);
/* 1 if it was a local process and has ended. */
int host_job_is_gone(const struct host *host, const struct host_process *process);

#endif
