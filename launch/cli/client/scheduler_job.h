/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler's job in which an instance or a run was started, as records in JSON have it.
 */
#ifndef LAUNCH_CLI_CLIENT_SCHEDULER_JOB_H
#define LAUNCH_CLI_CLIENT_SCHEDULER_JOB_H

#include <jansson.h>

/* job: "slurm 4711", or "": null; name: "" for none. */
json_t *scheduler_job_json(const char *job, const char *name);
/* Of this process. */
json_t *scheduler_job_json_own(void);

#endif
