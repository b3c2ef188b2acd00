/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Upcalls of libpmix for PMIx_Publish, PMIx_Lookup and PMIx_Unpublish (PMIx 4.1, 7).  A value is packed here, and
 * opaque to the daemon.
 *
 * Cost: O(keys and bytes).
 */
#ifndef PMIX_HOST_NAMES_H
#define PMIX_HOST_NAMES_H

#include <pmix_server.h>

/* A directive of publish, which the standard leaves to the host: (bool) a value that the same process has published
 * before is replaced. */
#define HOST_NAMES_REPLACE "banyan.publish.replace"

pmix_status_t host_names_publish(const pmix_proc_t *proc, const pmix_info_t info[],
                                 size_t info_count, pmix_op_cbfunc_t callback, void *context);
pmix_status_t host_names_lookup(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                size_t info_count, pmix_lookup_cbfunc_t callback, void *context);
pmix_status_t host_names_unpublish(const pmix_proc_t *proc, char **keys, const pmix_info_t info[],
                                   size_t info_count, pmix_op_cbfunc_t callback, void *context);

#endif
