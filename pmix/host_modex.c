/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_modex.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "pmix/host_delta.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"
#include "pmix/host_status.h"
#include "pmix/host_thread.h"

#include <pmix.h>

/* A local process requests a blob from another node. */
struct host_modex {
    struct host_call call;
    uint64_t id;
    struct host_process process;
    char *key; /* or "" */
    uint32_t timeout_ms;
    pmix_modex_cbfunc_t callback;
    void *context;
};

/* Another node requests a blob from here. */
struct host_fetch {
    uint64_t id;
    uint32_t job;
    uint64_t asked; /* the time of the request to libpmix, in terms of host.last_id */
    struct host_process process;
    char *key; /* or "" */
};

/* libpmix's answer to a fetch, on its way to the daemon's thread. */
struct host_fetched {
    struct host_call call;
    uint64_t id;
    char namespace[PMI_NAMESPACE_BYTES];
    int status;
    void *data;
    size_t data_bytes;
};

/* Completes when libpmix has handled all earlier requests. */
struct host_sync {
    struct host_call call;
    uint64_t asked;
    struct host_process process;
};

static const char *const known[] = {PMIX_TIMEOUT, PMIX_REQUIRED_KEY, PMIX_GET_REFRESH_CACHE, NULL};

static void modex_free(struct host_modex *modex)
{
    free(modex->key);
    free(modex);
}

static void modex_answer(struct host_modex *modex, int status, const void *data, size_t data_bytes)
{
    void *copy = NULL;

    assert(status <= 0);
    if (data_bytes > 0)
        copy = memory_copy(data, data_bytes);
    modex->callback(host_status_from_errno(status), copy, data_bytes, modex->context, free, copy);
    modex_free(modex);
}

static void modex_run(struct host *host, struct host_call *call)
{
    struct host_modex *modex = (struct host_modex *)call;
    struct pmi_process process;

    assert(modex->id == 0);
    modex->id = host_next_id(host);
    hash_map_put_u64(host->modexes, modex->id, modex);
    process = host_job_pmi(host, &modex->process);
    /* The answer may come at once, and frees modex: its key is used before. */
    host->ops.fetch(host->ops.context, modex->id, &process, modex->key, modex->timeout_ms);
}

static const char *required_key(const pmix_info_t info[], size_t info_count)
{
    for (size_t i = 0; i < info_count; i++) {
        const pmix_value_t *value = &info[i].value;

        if (PMIX_CHECK_KEY(&info[i], PMIX_REQUIRED_KEY) && value->type == PMIX_STRING &&
            value->data.string != NULL && strlen(value->data.string) <= PMIX_MAX_KEYLEN)
            return value->data.string;
    }
    return "";
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
    modex->key = memory_copy_string(required_key(info, info_count));
    modex->timeout_ms = host_timeout_ms(info, info_count);
    modex->callback = callback;
    modex->context = context;
    host_thread_post(&modex->call);
    return PMIX_SUCCESS;
}

int host_modex_done(struct host *host, uint64_t id, int status, const void *data, size_t data_bytes)
{
    struct host_modex *modex = hash_map_remove_u64(host->modexes, id);

    assert(modex == NULL || modex->id == id);
    if (modex != NULL)
        modex_answer(modex, status, data, data_bytes);
    return modex != NULL;
}

static void fetch_answer(struct host *host, uint64_t id, int status, const void *data,
                         size_t data_bytes)
{
    struct host_fetch *fetch = hash_map_remove_u64(host->fetches, id);
    uint32_t job;

    if (fetch == NULL)
        return;
    assert(fetch->id == id && status <= 0);
    if (data_bytes > 0) /* again: it may arrive after a fence that has begun since */
        host_delta_forget(fetch->process.namespace);
    job = fetch->job;
    free(fetch->key);
    free(fetch);
    host->ops.provided(host->ops.context, job, id, status, data, data_bytes);
}

/* The byte that libpmix writes before a packed text, which is the last one of the length, whatever
 * the version's encoding. */
static int length_byte(const char *text)
{
    char *copy = memory_copy_string(text);
    size_t bytes = strlen(text) + 1;
    pmix_data_buffer_t buffer;
    int byte = -1;

    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    if (PMIx_Data_pack(NULL, &buffer, &copy, 1, PMIX_STRING) == PMIX_SUCCESS &&
        buffer.bytes_used > bytes)
        byte = (unsigned char)buffer.base_ptr[buffer.bytes_used - bytes - 1];
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    free(copy);
    return byte;
}

/* The data a process has committed is a sequence of packed keys and values.  A key is stored
 * verbatim after its length; a value with the same bytes would be mistaken for it. */
static int has_key(const char *blob, size_t blob_bytes, const char *key)
{
    size_t bytes = strlen(key) + 1;
    int before = length_byte(key);
    const char *from = blob, *found;

    while (from != NULL && (found = memmem(from, blob_bytes - (size_t)(from - blob), key, bytes))) {
        if (before < 0 || (found > blob && (unsigned char)found[-1] == before))
            return 1;
        from = found + 1;
    }
    return 0;
}

static void fetched_run(struct host *host, struct host_call *call)
{
    struct host_fetched *fetched = (struct host_fetched *)call;
    const struct host_fetch *fetch = hash_map_get_u64(host->fetches, fetched->id);

    if (fetch != NULL && fetched->status == 0 && fetch->key[0] != '\0' &&
        !host_job_is_gone(host, &fetch->process) &&
        !has_key(fetched->data, fetched->data_bytes, fetch->key))
        fetch_answer(host, fetched->id, -EAGAIN, NULL, 0);
    else if (fetch != NULL)
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
        host_delta_forget(fetched->namespace);
    }
    host_thread_post(&fetched->call);
}

/* The first fetch for the process, or for the namespace if rank is PMI_RANK_ALL, requested up to
 * that time. */
static struct host_fetch *fetch_find(struct host *host, const char *namespace, uint32_t rank,
                                     uint64_t until)
{
    struct host_fetch *fetch;
    size_t cursor = 0;

    while ((fetch = hash_map_next(host->fetches, &cursor)) != NULL) {
        if (strcmp(fetch->process.namespace, namespace) == 0 &&
            (rank == PMI_RANK_ALL || fetch->process.rank == rank) && fetch->asked <= until)
            break;
    }
    return fetch;
}

/* The daemon may make further requests in the callback, so the table is searched anew each time. */
static void fetch_fail(struct host *host, const char *namespace, uint32_t rank, uint64_t until,
                       int status)
{
    struct host_fetch *fetch;

    while ((fetch = fetch_find(host, namespace, rank, until)) != NULL)
        fetch_answer(host, fetch->id, status, NULL, 0);
}

static void sync_run(struct host *host, struct host_call *call)
{
    struct host_sync *sync = (struct host_sync *)call;

    fetch_fail(host, sync->process.namespace, sync->process.rank, sync->asked, -ESRCH);
    free(sync);
}

static void sync_response(pmix_status_t status, void *context)
{
    struct host_sync *sync = context;

    host_thread_post(&sync->call);
}

/* libpmix handles requests in order, and has nothing to do for a client of no namespace.  Later
 * requests are not affected: they have a separate sync. */
static void sync_start(struct host *host, const struct host_process *process)
{
    struct host_sync *sync = memory_allocate_zeroed(sizeof(*sync));
    pmix_proc_t nobody;

    sync->call.run = sync_run;
    sync->asked = host_next_id(host);
    sync->process = *process;
    PMIX_LOAD_PROCID(&nobody, "", 0);
    PMIx_server_deregister_client(&nobody, sync_response, sync);
}

void host_modex_provide(struct host *host, uint64_t id, const struct pmi_process *wanted,
                        const char *key)
{
    struct host_fetch *fetch;
    struct host_fetched *fetched;
    struct host_process process;
    pmix_proc_t proc;
    pmix_status_t status;

    if (host_job_process(host, wanted, &process) < 0) {
        host->ops.provided(host->ops.context, wanted->job, id, -ENOENT, NULL, 0);
        return;
    }
    assert(hash_map_get_u64(host->fetches, id) == NULL); /* ids are never used again */
    fetch = memory_allocate_zeroed(sizeof(*fetch));
    fetched = memory_allocate_zeroed(sizeof(*fetched));
    fetch->id = id;
    fetch->job = wanted->job;
    fetch->asked = host_next_id(host);
    fetch->process = process;
    fetch->key = memory_copy_string(key);
    hash_map_put_u64(host->fetches, id, fetch);
    fetched->call.run = fetched_run;
    fetched->id = id;
    memcpy(fetched->namespace, process.namespace, sizeof(fetched->namespace));
    host_process_to_pmix(&process, &proc);
    status = PMIx_server_dmodex_request(&proc, fetch_response, fetched);
    if (status != PMIX_SUCCESS)
        fetch_response(status, NULL, 0, fetched);
    else if (host_job_is_gone(host, &process))
        sync_start(host, &process);
}

void host_modex_process_gone(struct host *host, const struct host_process *process)
{
    if (fetch_find(host, process->namespace, process->rank, UINT64_MAX) != NULL)
        sync_start(host, process);
}

void host_modex_fail(struct host *host, const char *namespace, int status)
{
    struct host_modex *modex;
    size_t cursor = 0;

    assert(status < 0);
    while ((modex = hash_map_next(host->modexes, &cursor)) != NULL) {
        if (strcmp(modex->process.namespace, namespace) != 0)
            continue;
        hash_map_remove_u64(host->modexes, modex->id);
        modex_answer(modex, status, NULL, 0);
    }
    fetch_fail(host, namespace, PMI_RANK_ALL, UINT64_MAX, status);
}
