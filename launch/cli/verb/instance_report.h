/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The output of `banyan status` and `banyan ps`: an instance, its jobs, and processes of theirs, as a table or as
 * JSON.  Pure.
 */
#ifndef LAUNCH_CLI_VERB_INSTANCE_REPORT_H
#define LAUNCH_CLI_VERB_INSTANCE_REPORT_H

#include <stdint.h>
#include <time.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "launch/proto/node_list.h"
#include "pmix/pmi_query.h"

struct instance_report {
    const char *directory;
    uint32_t root;              /* process */
    time_t since;               /* 0: not known */
    const char *scheduler_job;  /* in which it was started: "slurm 4711"; "": none */
    const char *scheduler_name; /* of that job; "": none */
    const struct allocation *roster;
    const struct pmi_instance_facts *facts;
    const struct node_list *list;       /* of the nodes, for the status */
    const struct pmi_node_facts *nodes; /* what they say of their processes */
    uint32_t nodes_count;
};

void instance_report_status(const struct instance_report *report, int as_json, struct buffer *out);
void instance_report_jobs(const struct instance_report *report, int as_json, struct buffer *out);
/* In the order of jobs and ranks.  O(processes log processes). */
void instance_report_processes(const struct instance_report *report, int as_json,
                               struct buffer *out);

/* Words of them for other reports: names of nodes, "-" for none; what a job runs, on one line; its state. */
void instance_report_places(const struct instance_report *report, const struct ranges *places,
                            struct buffer *out);
void instance_report_command(const struct pmi_job_facts *job, struct buffer *out);
const char *instance_report_phase(const struct pmi_job_facts *job);

#endif
