/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a place says to a query of processes (pmix/pmi_query.h): the root of its instance and jobs, a node of the
 * processes that it runs.
 */
#ifndef LAUNCH_RANK_RANK_QUERY_H
#define LAUNCH_RANK_RANK_QUERY_H

#include "fabric/topology/fabric_model.h"
#include "launch/job/instance.h"
#include "pmix/pmi_query.h"

struct rank_query_place {
    const struct instance *instance;
    const char *jobs_name; /* as rank_pmi_config has it */
    const char *node_name;
    void *context;
    uint64_t (*daemon_kib)(void *context);
    /* Fills in what is known of a local rank beside its job and rank. */
    void (*process)(void *context, uint32_t job, uint32_t index, int with_memory,
                    struct pmi_process_facts *process);
    /* The root's model of the fabric, or NULL. */
    const struct fabric_model *(*fabric)(void *context);
};

/* Appends the answer.  -EBADMSG; -ENOTSUP: asked at a place that does not know it. */
int rank_query_answer(const struct rank_query_place *place, const void *data, size_t bytes,
                      struct buffer *answer);
/* The beginning of all namespaces of an instance, "banyan-<name>"; the caller's to free. */
char *rank_query_name(const char *jobs_name);

#endif
