/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct modex, both ways: the blob of a remote process requested by a local one, and the blob of a
 * local process requested by another node.
 *
 * libpmix never reports that a local process will not commit again.  So when a process has ended,
 * requests still unanswered once libpmix has handled all earlier ones are answered with -ESRCH;
 * data committed before its end is still returned.
 */
#ifndef PMIX_HOST_MODEX_H
#define PMIX_HOST_MODEX_H

#include <pmix_server.h>

#include "pmix/host.h"

struct host_process;

/* pmix_server_module_t.direct_modex. */
pmix_status_t host_modex_upcall(const pmix_proc_t *proc, const pmix_info_t info[],
                                size_t info_count, pmix_modex_cbfunc_t callback, void *context);
/* pmi_events.done: 1 if the id is one of these. */
int host_modex_done(struct host *host, uint64_t id, int status, const void *data,
                    size_t data_bytes);
/* pmi_events.provide. */
void host_modex_provide(struct host *host, uint64_t id, const struct pmi_process *wanted,
                        const char *key);
/* The process will commit nothing more. */
void host_modex_process_gone(struct host *host, const struct host_process *process);
/* Ends all requests that concern the namespace with status, at once. */
void host_modex_fail(struct host *host, const char *namespace, int status);

#endif
