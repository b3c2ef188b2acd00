/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_modex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"
#include "pmix/host_status.h"
#include "pmix/host_thread.h"

#include <pmix.h>

/* A local process wants a blob from elsewhere. */
struct host_modex {
    struct host_call call;
    uint64_t id;
    struct host_process process;
    uint32_t timeout_s;
    pmix_modex_cbfunc_t callback;
    void *context;
};

/* Another node wants a blob from here. */
struct host_fetch {
    uint64_t id;
    struct host_process process;
};

/* libpmix's answer to a fetch, on its way to the daemon's thread. */
struct host_fetched {
    struct host_call call;
    uint64_t id;
    int status;
    void *data;
    size_t data_bytes;
};

/* Comes back when libpmix has worked off all that was asked before. */
struct host_sync {
    struct host_call call;
    struct host_process process;
};

static const char *const known[] = {PMIX_TIMEOUT, PMIX_REQUIRED_KEY, PMIX_GET_REFRESH_CACHE, NULL};

static void modex_answer(struct host_modex *modex, int status, const void *data, size_t data_bytes)
{
    void *copy = NULL;

    if (data_bytes > 0)
        copy = memory_copy(data, data_bytes);
    modex->callback(host_status_from_errno(status), copy, data_bytes, modex->context, free, copy);
    free(modex);
}

static void modex_run(struct host *host, struct host_call *call)
{
    struct host_modex *modex = (struct host_modex *)call;

    if (host == NULL) {
        free(modex);
        return;
    }
    modex->id = ++host->last_id;
    map_put_u64(host->modexes, modex->id, modex);
    host->world.modex(host->world.context, modex->id, &modex->process, modex->timeout_s);
}

pmix_status_t host_modex_upcall(const pmix_proc_t *proc, const pmix_info_t info[],
                                size_t info_count, pmix_modex_cbfunc_t callback, void *context)
{
    struct host_modex *modex;

    if (host_refuses(info, info_count, known))
        return PMIX_ERR_NOT_SUPPORTED;
    modex = memory_allocate_zeroed(sizeof(*modex));
    modex->call.run = modex_run;
    host_process_from_pmix(proc, &modex->process);
    modex->timeout_s = host_timeout_s(info, info_count);
    modex->callback = callback;
    modex->context = context;
    host_thread_post(&modex->call);
    return PMIX_SUCCESS;
}

void host_modex_done(struct host *host, uint64_t id, int status, const void *data,
                     size_t data_bytes)
{
    struct host_modex *modex = map_remove_u64(host->modexes, id);

    if (modex != NULL)
        modex_answer(modex, status, data, data_bytes);
}

static void fetch_answer(struct host *host, uint64_t id, int status, const void *data,
                         size_t data_bytes)
{
    struct host_fetch *fetch = map_remove_u64(host->fetches, id);

    if (fetch == NULL)
        return;
    free(fetch);
    host->world.modex_fetched(host->world.context, id, status, data, data_bytes);
}

static void fetched_run(struct host *host, struct host_call *call)
{
    struct host_fetched *fetched = (struct host_fetched *)call;

    if (host != NULL)
        fetch_answer(host, fetched->id, fetched->status, fetched->data, fetched->data_bytes);
    free(fetched->data);
    free(fetched);
}

/* On libpmix's thread, which frees the data after it. */
static void fetch_response(pmix_status_t status, char *data, size_t data_bytes, void *context)
{
    struct host_fetched *fetched = context;

    fetched->status = host_status_to_errno(status);
    if (data != NULL && data_bytes > 0) {
        fetched->data = memory_copy(data, data_bytes);
        fetched->data_bytes = data_bytes;
    }
    host_thread_post(&fetched->call);
}

/* The first fetch that concerns the process, or the namespace if rank is HOST_RANK_ALL. */
static struct host_fetch *fetch_find(struct host *host, const char *namespace, uint32_t rank)
{
    struct host_fetch *fetch;
    size_t cursor = 0;

    while ((fetch = map_next(host->fetches, &cursor)) != NULL) {
        if ((namespace == NULL || strcmp(fetch->process.namespace, namespace) == 0) &&
            (rank == HOST_RANK_ALL || fetch->process.rank == rank))
            break;
    }
    return fetch;
}

/* The daemon may ask for more while it is told, so the table is searched anew each time. */
static void fetch_fail(struct host *host, const char *namespace, uint32_t rank, int status)
{
    struct host_fetch *fetch;

    while ((fetch = fetch_find(host, namespace, rank)) != NULL)
        fetch_answer(host, fetch->id, status, NULL, 0);
}

static void sync_run(struct host *host, struct host_call *call)
{
    struct host_sync *sync = (struct host_sync *)call;

    if (host != NULL)
        fetch_fail(host, sync->process.namespace, sync->process.rank, -ESRCH);
    free(sync);
}

static void sync_response(pmix_status_t status, void *context)
{
    struct host_sync *sync = context;

    host_thread_post(&sync->call);
}

/* libpmix works in the order of requests, and has nothing to do for a client of no namespace. */
static void sync_start(const struct host_process *process)
{
    struct host_sync *sync = memory_allocate_zeroed(sizeof(*sync));
    pmix_proc_t nobody;

    sync->call.run = sync_run;
    sync->process = *process;
    PMIX_LOAD_PROCID(&nobody, "", 0);
    PMIx_server_deregister_client(&nobody, sync_response, sync);
}

void host_modex_fetch(struct host *host, uint64_t id, const struct host_process *process)
{
    struct host_fetch *fetch = memory_allocate_zeroed(sizeof(*fetch));
    struct host_fetched *fetched = memory_allocate_zeroed(sizeof(*fetched));
    pmix_proc_t proc;
    pmix_status_t status;

    fetch->id = id;
    fetch->process = *process;
    map_put_u64(host->fetches, id, fetch);
    fetched->call.run = fetched_run;
    fetched->id = id;
    host_process_to_pmix(process, &proc);
    status = PMIx_server_dmodex_request(&proc, fetch_response, fetched);
    if (status != PMIX_SUCCESS)
        fetch_response(status, NULL, 0, fetched);
    else if (host_job_is_gone(host, process))
        sync_start(process);
}

void host_modex_process_gone(struct host *host, const struct host_process *process)
{
    if (fetch_find(host, process->namespace, process->rank) != NULL)
        sync_start(process);
}

void host_modex_fail(struct host *host, const char *namespace, int status)
{
    struct host_modex *modex;
    size_t cursor = 0;

    while ((modex = map_next(host->modexes, &cursor)) != NULL) {
        if (namespace != NULL && strcmp(modex->process.namespace, namespace) != 0)
            continue;
        map_remove_u64(host->modexes, modex->id);
        modex_answer(modex, status, NULL, 0);
    }
    fetch_fail(host, namespace, HOST_RANK_ALL, status);
}
