/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes that wait for a debugger (PMIx 4.1, 16.2) in PMIx_Init, or where the program itself does.  Each raises
 * PMIX_READY_FOR_DEBUG for the resource manager, which libpmix 4.2.2 passes on once for all of a job on its node; when all of a job have, on all nodes, which is a fence among them, who
 * has spawned the job gets that event, once, and the user a line.  The debugger lets them go on by the event
 * PMIX_DEBUGGER_RELEASE, which is one as any other.
 */
#ifndef PMIX_HOST_DEBUG_H
#define PMIX_HOST_DEBUG_H

#include <pmix_server.h>

/* On libpmix's thread. */
void host_debug_ready(const pmix_proc_t *process);

#endif
