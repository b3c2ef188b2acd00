/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_Query_info (PMIx 4.1, 7.1): which instance, jobs and processes there are.  The keys of a request are answered
 * one at a time; what they need is asked of the daemon (pmi_query.h), the jobs once, the processes for each
 * key that is about processes.
 *
 * Cost: a message to the root; for processes one to each node that has some.
 */
#ifndef PMIX_HOST_QUERY_H
#define PMIX_HOST_QUERY_H

#include <pmix_server.h>

/* The upcall `query`. */
pmix_status_t host_query(pmix_proc_t *proc, pmix_query_t *queries, size_t queries_count,
                         pmix_info_cbfunc_t callback, void *context);

#endif
