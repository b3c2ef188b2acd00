/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of PMIx_Query_info: what each needs, and its value made of that.
 */
#ifndef PMIX_HOST_QUERY_VALUE_H
#define PMIX_HOST_QUERY_VALUE_H

#include <pmix_common.h>

#include "pmix/pmi_query.h"

/* What the qualifiers of a query say. */
struct host_query_scope {
    uint32_t job; /* PMI_JOB_NONE: not given, and the caller's is not known */
    uint32_t rank;
    const char *namespace; /* NULL: not given */
    const char *node_name; /* NULL: not given */
    const char *set;       /* name of a process set, likewise */
    const char *plane;     /* of the fabric, likewise; NULL: its first */
    const char *device_name;
    uint32_t device; /* its number, or PMI_FABRIC_ALL */
    uint8_t is_local;
    uint8_t lists_qualifiers; /* of the keys, instead of their values */
};

struct host_query_facts {
    const struct pmi_instance_facts *instance;
    const struct pmi_node_facts *nodes; /* what they have answered */
    size_t nodes_count;
    const struct pmi_fabric_facts *fabric; /* NULL: not asked */
};

/* job: of the caller.  -ENOTSUP: a qualifier is required and not supported; -ENOENT: there is no such job; -EINVAL. */
int host_query_scope(const pmix_query_t *query, const struct pmi_instance_facts *instance,
                     uint32_t job, struct host_query_scope *ret_scope);
/* 1 if the key is about processes or the fabric, and ret_query what to ask. */
int host_query_needs(const char *key, const struct host_query_scope *scope,
                     const struct pmi_instance_facts *instance, struct pmi_query *ret_query);
/* -ENOENT: an unknown key, or nothing is known; -EINVAL: a qualifier is missing. */
int host_query_value(const char *key, const struct host_query_scope *scope,
                     const struct host_query_facts *facts, pmix_value_t *ret_value);

#endif
