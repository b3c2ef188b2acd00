/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of PMIx (PMIx 4.1, 13): to construct or destruct one is a fence among its members under its name.  The nodes'
 * contributions carry what libpmix has gathered from their members, and a number for a context; that of the first in the
 * result is the group's, so no daemon hands them out.
 *
 * libpmix 5.0.7 makes the upcall for a destruct twice, with the same context, if all members are on one node: the second
 * is ignored.  libpmix 4.2.2 takes the timer of a group operation for that of one of its callers, and crashes when it
 * expires; its timers get another function (host_group_timer).
 *
 * Cost: a fence with the members' data; what libpmix keeps of a group (4.2.2 frees little of it).
 */
#ifndef PMIX_HOST_GROUP_H
#define PMIX_HOST_GROUP_H

#include <pmix_server.h>

#include "pmix/host_timer.h"

struct host;

/* pmix_server_module_t.group. */
pmix_status_t host_group_upcall(pmix_group_operation_t operation, char *name,
                                const pmix_proc_t procs[], size_t procs_count,
                                const pmix_info_t info[], size_t info_count,
                                pmix_info_cbfunc_t callback, void *context);
/* What a timer that libpmix sets up is to call instead of libpmix's function; NULL: that one.  event_bytes: the size of
 * libevent's struct event. */
host_timer_function *host_group_timer(const struct event *event, const void *context,
                                      size_t event_bytes);

#endif
