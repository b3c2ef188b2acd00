/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libpmix must know of a job: the whole map, and the local processes in full.
 *
 * Cost: O(processes of the job) in libpmix, about 1.9 kB each (it derives every rank's place from
 * the map), which is why details of other nodes' ranks are given in smaller jobs only.
 */
#ifndef PMIX_HOST_JOB_H
#define PMIX_HOST_JOB_H

#include <stdint.h>

#include "pmix/host.h"

/* host_table.job_register and job_deregister. */
int host_job_register(struct host *host, const struct host_job *job, struct error *error);
void host_job_deregister(struct host *host, const char *namespace);
void host_job_deregister_all(struct host *host);

/* libpmix has refused a client that says to be this process. */
void host_job_spoiled(struct host *host, const struct host_process *process);
void host_job_process_gone(struct host *host, const struct host_process *process);
/* 1 if it was a local process and has ended. */
int host_job_is_gone(const struct host *host, const struct host_process *process);

#endif
