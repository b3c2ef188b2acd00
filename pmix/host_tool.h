/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tools that connect to the server (PMIx 4.1, 17.1).  Each gets a namespace, unless it has one that is no
 * job's.  Who it is has been checked: the daemon admits processes of the user only.
 */
#ifndef PMIX_HOST_TOOL_H
#define PMIX_HOST_TOOL_H

#include <pmix_server.h>

/* The upcall `tool_connected`. */
void host_tool_connected(pmix_info_t *info, size_t info_count,
                         pmix_tool_connection_cbfunc_t callback, void *context);

#endif
