/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMIx_IOF_pull and PMIx_IOF_deregister (PMIx 4.1, 17.3): what processes of the instance print reaches those who ask for it
 * here, tools and processes.  libpmix filters by the caller; this file knows what all callers want together, and asks
 * the daemon for that (pmi_pull.h).
 *
 * libpmix does not say whose call it is, nor when a caller ends; the connection on which the call came
 * does (host_timer_reader).  A caller with which the connection has gone is forgotten with the next output.
 * libpmix 4.2.2 frees what an answer needs, unless the upcall answers at once; so it does, and that answer
 * is intercepted (host_pull_holds), until the daemon's is here.
 *
 * Output waits here while a caller's connection is full; there is never more than PMI_PULL_WINDOW of a job.
 *
 * Cost: O(callers and their targets) for each piece of output; nothing if there is none.
 */
#ifndef PMIX_HOST_PULL_H
#define PMIX_HOST_PULL_H

#include "pmix/host_internal.h"
#include "pmix/host_timer.h"

void host_pull_open(void);
pmix_status_t host_pull_upcall(const pmix_proc_t procs[], size_t procs_count,
                               const pmix_info_t directives[], size_t directives_count,
                               pmix_iof_channel_t channels, pmix_op_cbfunc_t callback,
                               void *context);
/* A piece of output; stream 1 or 2, or 0 if the job has no more of it. */
void host_pull_output(struct host *host, const struct pmi_process *process, int stream,
                      const void *data, size_t data_bytes);
/* Goes on when a connection may have room again. */
void host_pull_run(struct host *host);

/* What libpmix's event with this context calls instead, and with which context; NULL: it is not intercepted.  On
 * libpmix's thread. */
host_timer_function *host_pull_holds(const void *context, void **ret_context);

#endif
