/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_Allocation_request (PMIx 4.1, Allocation Requests): the nodes of an instance do not change while it runs, so each request is
 * refused, and the user reads why.
 */
#ifndef PMIX_HOST_ALLOCATION_H
#define PMIX_HOST_ALLOCATION_H

#include <pmix_server.h>

/* An upcall of libpmix. */
pmix_status_t host_allocation_upcall(const pmix_proc_t *proc, pmix_alloc_directive_t directive,
                                     const pmix_info_t info[], size_t info_count,
                                     pmix_info_cbfunc_t callback, void *context);

#endif
