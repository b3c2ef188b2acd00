/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_debug.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "pmix/host_fence.h"
#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/pmi_notice.h"

/* A process that waits, and then its job, all of which does. */
struct host_debug {
    struct host_call call;
    struct host_process process;
};

static void reported(struct host *host, struct host_request *request, int status, const void *data,
                     size_t data_bytes)
{
    free(request);
}

/* The node of rank 0 reports it for all. */
static void all_wait(void *context, int status, const void *data, size_t data_bytes)
{
    struct host_debug *debug = context;
    struct host *host = host_self();
    struct host_process first = debug->process;
    struct pmi_notice notice = {.event = PMI_EVENT_STOPPED};
    struct host_request *request;

    first.rank = 0;
    if (status == 0 && host_job_is_local(host, &first)) {
        request = memory_allocate_zeroed(sizeof(*request));
        notice.source = host_job_pmi(host, &first);
        pmi_notice_encode(&notice, &request->data);
        request->kind = PMI_REQUEST_NOTIFY;
        request->caller = first;
        request->answer = reported;
        host_request_send(request);
    }
    free(debug);
}

static void ready_run(struct host *host, struct host_call *call)
{
    struct host_debug *debug = (struct host_debug *)call;
    struct buffer nothing = {0};
    pmix_proc_t all;

    if (!host_job_stopped(host, &debug->process)) {
        free(debug);
        return;
    }
    PMIX_LOAD_PROCID(&all, debug->process.namespace, PMIX_RANK_WILDCARD);
    host_fence_ask(PMI_STOPPED, "", &all, 1, 0, &nothing, all_wait, debug);
}

void host_debug_ready(const pmix_proc_t *process)
{
    struct host_debug *debug = memory_allocate_zeroed(sizeof(*debug));

    debug->call.run = ready_run;
    host_process_from_pmix(process, &debug->process);
    if (process->rank == PMIX_RANK_LOCAL_PEERS)
        debug->process.rank = PMI_RANK_ALL;
    host_thread_post(&debug->call);
}
