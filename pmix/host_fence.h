/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences, and connect and disconnect, which are fences without data, between libpmix and the
 * daemon. libpmix gathers this node's participants and their data into one blob and makes one
 * upcall per operation and node; an operation among processes of this node only never gets here.
 * Any number may be open, each with its own id.
 *
 * Time-outs: the daemon's, and for a connect also libpmix's (4.2.2), whose timer keeps running
 * after the upcall, which would answer the caller twice.  So a connect is given up a little before
 * its time, and from then on the answer is left to libpmix.
 */
#ifndef PMIX_HOST_FENCE_H
#define PMIX_HOST_FENCE_H

#include <pmix_server.h>

#include "base/buffer.h"
#include "pmix/pmi.h"

struct host;

/* pmix_server_module_t.fence_nb. */
pmix_status_t host_fence_upcall(const pmix_proc_t procs[], size_t procs_count,
                                const pmix_info_t info[], size_t info_count, char *data,
                                size_t data_bytes, pmix_modex_cbfunc_t callback, void *context);
/* .connect and .disconnect. */
pmix_status_t host_connect_upcall(const pmix_proc_t procs[], size_t procs_count,
                                  const pmix_info_t info[], size_t info_count,
                                  pmix_op_cbfunc_t callback, void *context);
pmix_status_t host_disconnect_upcall(const pmix_proc_t procs[], size_t procs_count,
                                     const pmix_info_t info[], size_t info_count,
                                     pmix_op_cbfunc_t callback, void *context);
/* A fence with data and a name; answer is called once, on the main thread. */
typedef void host_fence_answer(void *context, int status, const void *data, size_t data_bytes);
void host_fence_ask(enum pmi_kind kind, const char *name, const pmix_proc_t procs[],
                    size_t procs_count, uint32_t timeout_ms, const struct buffer *data,
                    host_fence_answer *answer, void *context);
/* pmi_events.done: 1 if the id is one of these. */
int host_fence_done(struct host *host, uint64_t id, int status, const void *data,
                    size_t data_bytes);
/* Ends every fence in which the namespace takes part with status. */
void host_fence_fail(struct host *host, const char *namespace, int status);

#endif
