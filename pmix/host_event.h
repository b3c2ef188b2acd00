/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of PMIx across nodes.  libpmix gives an event of a client to the registered processes of that node, of
 * all jobs, and then makes the upcall, unless the range is the process or the node; the daemon brings it to the other
 * nodes.  There, and for an event of banyan itself, libpmix is given the event with the range "custom" and those
 * processes of one job that are meant: each server gets it once for each job.  libpmix keeps it for processes that
 * register later.
 */
#ifndef PMIX_HOST_EVENT_H
#define PMIX_HOST_EVENT_H

#include <pmix_server.h>

#include "pmix/host.h"

/* After PMIx_server_init: the alerts that libpmix itself raises when a process misses its heartbeats, or a file does
 * not change (PMIx_Process_monitor), reach the job's processes on other nodes, too. */
void host_event_open(void);
pmix_status_t host_event_upcall(pmix_status_t code, const pmix_proc_t *source,
                                pmix_data_range_t range, pmix_info_t info[], size_t info_count,
                                pmix_op_cbfunc_t callback, void *context);
/* libpmix alone knows who has registered. */
pmix_status_t host_event_register(pmix_status_t *codes, size_t codes_count,
                                  const pmix_info_t info[], size_t info_count,
                                  pmix_op_cbfunc_t callback, void *context);
pmix_status_t host_event_deregister(pmix_status_t *codes, size_t codes_count,
                                    pmix_op_cbfunc_t callback, void *context);
/* PMI_NOTICE_EVENT. */
void host_event_deliver(struct host *host, const void *data, size_t data_bytes);

#endif
