/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_tool.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pmix/host_entry.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"

#include <pmix.h>

static uint32_t tools; /* so far; libpmix's thread only */

/* What the tool calls itself; "" if it does not. */
static void read_name(const pmix_info_t *info, size_t count, struct host_process *ret_tool)
{
    pmix_proc_t proc;

    PMIX_LOAD_PROCID(&proc, "", 0);
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE) && info[i].value.type == PMIX_STRING)
            PMIX_LOAD_NSPACE(proc.nspace, info[i].value.data.string);
        else if (PMIX_CHECK_KEY(&info[i], PMIX_RANK) && info[i].value.type == PMIX_PROC_RANK)
            proc.rank = info[i].value.data.rank;
    }
    host_process_from_pmix(&proc, ret_tool);
}

/* libpmix sends the reply after the callback, to the tool's own connection.  The callback is never refused:
 * libpmix 4.2.2 then uses memory that has been freed (process_cbfunc).  The daemon refuses those that call themselves
 * as only we are called; if there is one nevertheless, it gets another name. */
void host_tool_connected(pmix_info_t *info, size_t info_count,
                         pmix_tool_connection_cbfunc_t callback, void *context)
{
    struct host_process tool;
    pmix_proc_t proc;

    read_name(info, info_count, &tool);
    if (tool.namespace[0] == 0 || host_job_is_open(host_self(), tool.namespace))
        snprintf(tool.namespace, sizeof(tool.namespace), "banyan-tool-%d-%u", (int)getpid(),
                 ++tools);
    host_process_to_pmix(&tool, &proc);
    (void)host_entry_tool_connected();
    callback(PMIX_SUCCESS, &proc, context);
}
