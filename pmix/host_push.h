/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_IOF_push (PMIx 4.1, 17.3): input for jobs of the instance (pmi_push.h).  The daemon is asked for one piece of
 * a job at a time, in the order of the calls, and a call is answered when its last piece has been taken: so a reader
 * that is slow makes the callers of its job wait.  What waits here is limited; more is refused.
 *
 * Cost: O(calls that wait) for each call, and the data that waits.
 */
#ifndef PMIX_HOST_PUSH_H
#define PMIX_HOST_PUSH_H

#include "pmix/host_internal.h"

#define HOST_PUSH_BYTES_MAX   (4u * 1024 * 1024) /* for one job, likewise the next */
#define HOST_PUSH_CALLS_MAX   256
#define HOST_PUSH_ALL_MAX     4096 /* calls */
#define HOST_PUSH_TARGETS_MAX 64

void host_push_open(void);
pmix_status_t host_push_upcall(const pmix_proc_t *source, const pmix_proc_t targets[],
                               size_t targets_count, const pmix_info_t directives[],
                               size_t directives_count, const pmix_byte_object_t *data,
                               pmix_op_cbfunc_t callback, void *context);

#endif
