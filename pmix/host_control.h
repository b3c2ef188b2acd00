/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_Job_control (PMIx 4.1, 13.1): signals to processes, pause and resume, and their end.  libpmix itself
 * cleans up after a process where it was asked to.
 */
#ifndef PMIX_HOST_CONTROL_H
#define PMIX_HOST_CONTROL_H

#include <pmix_server.h>

/* The upcall `job_control`. */
pmix_status_t host_control(const pmix_proc_t *requestor, const pmix_proc_t targets[],
                           size_t targets_count, const pmix_info_t directives[],
                           size_t directives_count, pmix_info_cbfunc_t callback, void *context);

#endif
