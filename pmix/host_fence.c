/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_fence.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "pmix/host_delta.h"
#include "pmix/host_internal.h"
#include "pmix/host_job.h"
#include "pmix/host_status.h"

#include <pmix.h>

#define MS_PER_S 1000u
/* Before libpmix's own timer of a connect: the time for the daemons to give it up, and the time for
 * the answer to reach libpmix. */
#define CONNECT_GIVE_UP_MS 400u
#define CONNECT_ANSWER_MS  200u

struct host_fence {
    uint64_t id;
    enum pmi_kind kind;
    struct host_process *participants;
    size_t participants_count;
    uint32_t timeout_ms;
    int64_t answer_until_ms; /* libpmix answers from then on; 0: never */
    pmix_modex_cbfunc_t callback;
    pmix_op_cbfunc_t op_callback; /* for operations without data */
    host_fence_answer *answer;    /* for those of others */
    char *name;                   /* NULL: the members are its name */
    void *context;
    uint64_t delta; /* number of host_delta_begin; 0: none */
};

/* Directives that libpmix itself adds, and those we support. */
static const char *const known[] = {PMIX_COLLECT_DATA,
                                    PMIX_TIMEOUT,
                                    PMIX_SORTED_PROC_ARRAY,
                                    PMIX_LOCAL_COLLECTIVE_STATUS,
                                    PMIX_COLLECT_GENERATED_JOB_INFO,
                                    NULL};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

static void fence_free(struct host_fence *fence)
{
    assert(fence->callback == NULL || fence->op_callback == NULL);
    free(fence->participants);
    free(fence->name);
    free(fence);
}

/* Before libpmix hears of it: it may begin the next one at once. */
static void delta_end(struct host_fence *fence, int is_known)
{
    if (fence->delta != 0)
        host_delta_end(fence->participants[0].namespace, fence->delta, is_known);
    fence->delta = 0;
}

/* Answers libpmix, which keeps data until it calls free. */
static void fence_answer(struct host_fence *fence, int status, const void *data, size_t data_bytes)
{
    void *copy = NULL;

    assert(status <= 0);
    delta_end(fence, status == 0 && fence->callback != NULL);
    if (fence->op_callback != NULL) {
        if (fence->answer_until_ms == 0 ||
            (status != -ETIMEDOUT && now_ms() < fence->answer_until_ms))
            fence->op_callback(host_status_from_errno(status), fence->context);
        fence_free(fence);
        return;
    }
    if (fence->answer != NULL) {
        fence->answer(fence->context, status, data, data_bytes);
        fence_free(fence);
        return;
    }
    if (data_bytes > 0)
        copy = memory_copy(data, data_bytes);
    fence->callback(host_status_from_errno(status), copy, data_bytes, fence->context, free, copy);
    fence_free(fence);
}

/* The request leaves from libpmix's thread without waking another: the daemon gets it at once. */
static void fence_ask(struct host_fence *fence, const void *data, size_t data_bytes)
{
    struct host *host = host_self();
    struct pmi_collective collective;
    struct pmi_process *members;

    assert(fence->id == 0 && (fence->op_callback == NULL || data_bytes == 0));
    fence->id = host_next_id(host);
    pthread_mutex_lock(&host->mutex);
    members = host_job_pmi_all(host, fence->participants, fence->participants_count);
    collective = (struct pmi_collective){
        .id = fence->id,
        .kind = fence->kind,
        .name = fence->name,
        .members = members,
        .members_count = fence->participants_count,
        .data = data,
        .data_bytes = data_bytes,
        .timeout_ms = fence->timeout_ms,
    };
    hash_map_put_u64(host->fences, fence->id, fence);
    pthread_mutex_unlock(&host->mutex);
    /* The answer may come at once, on the main thread: fence is not touched after this. */
    host->ops.collective(host->ops.context, &collective);
    free(members);
}

static struct host_fence *fence_create(enum pmi_kind kind, const pmix_proc_t procs[],
                                       size_t procs_count, uint32_t timeout_ms, void *context)
{
    struct host_fence *fence = memory_allocate_zeroed(sizeof(*fence));

    assert(kind < PMI_BARRIER); /* which is PMI-1's */
    fence->kind = kind;
    fence->participants = memory_allocate(procs_count * sizeof(*fence->participants));
    fence->participants_count = procs_count;
    for (size_t i = 0; i < procs_count; i++)
        host_process_from_pmix(&procs[i], &fence->participants[i]);
    fence->timeout_ms = timeout_ms;
    fence->context = context;
    return fence;
}

static int is_of_one_job(const struct host_fence *fence)
{
    for (size_t i = 1; i < fence->participants_count; i++) {
        if (strcmp(fence->participants[i].namespace, fence->participants[0].namespace) != 0)
            return 0;
    }
    return fence->participants_count > 0;
}

/* What is new of data, or all of it if the daemon keeps it: a node that asks for it may lack any part. */
static void fence_ask_new(struct host_fence *fence, const void *data, size_t data_bytes)
{
    struct buffer part = {0};

    if (data_bytes > 0 && is_of_one_job(fence) &&
        !host_job_keeps_data(host_self(), fence->participants[0].namespace))
        fence->delta = host_delta_begin(fence->participants, fence->participants_count, data,
                                        data_bytes, &part);
    if (part.length_bytes > 0)
        fence_ask(fence, part.data, part.length_bytes);
    else
        fence_ask(fence, data, data_bytes);
    buffer_fini(&part);
}

pmix_status_t host_fence_upcall(const pmix_proc_t procs[], size_t procs_count,
                                const pmix_info_t info[], size_t info_count, char *data,
                                size_t data_bytes, pmix_modex_cbfunc_t callback, void *context)
{
    struct host_fence *fence;

    if (host_refuses(info, info_count, known)) {
        free(data);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    fence = fence_create(PMI_FENCE, procs, procs_count, host_timeout_ms(info, info_count), context);
    fence->callback = callback;
    fence_ask_new(fence, data, data == NULL ? 0 : data_bytes); /* none if none need be collected */
    /* The header says that the library owns the data, but from version 4.1 to the present it drops
     * its pointer at the upcall, so nothing else could free it. */
    free(data);
    return PMIX_SUCCESS;
}

/* A fence without data. */
static pmix_status_t op_upcall(enum pmi_kind kind, const pmix_proc_t procs[], size_t procs_count,
                               const pmix_info_t info[], size_t info_count,
                               pmix_op_cbfunc_t callback, void *context)
{
    struct host_fence *fence;

    if (host_refuses(info, info_count, known))
        return PMIX_ERR_NOT_SUPPORTED;
    fence = fence_create(kind, procs, procs_count, host_timeout_ms(info, info_count), context);
    fence->op_callback = callback;
    if (kind == PMI_CONNECT && fence->timeout_ms > 0) {
        fence->answer_until_ms = now_ms() + fence->timeout_ms - CONNECT_ANSWER_MS;
        fence->timeout_ms -= CONNECT_GIVE_UP_MS;
    }
    fence_ask(fence, NULL, 0);
    return PMIX_SUCCESS;
}

pmix_status_t host_connect_upcall(const pmix_proc_t procs[], size_t procs_count,
                                  const pmix_info_t info[], size_t info_count,
                                  pmix_op_cbfunc_t callback, void *context)
{
    return op_upcall(PMI_CONNECT, procs, procs_count, info, info_count, callback, context);
}

pmix_status_t host_disconnect_upcall(const pmix_proc_t procs[], size_t procs_count,
                                     const pmix_info_t info[], size_t info_count,
                                     pmix_op_cbfunc_t callback, void *context)
{
    return op_upcall(PMI_DISCONNECT, procs, procs_count, info, info_count, callback, context);
}

void host_fence_ask(enum pmi_kind kind, const char *name, const pmix_proc_t procs[],
                    size_t procs_count, uint32_t timeout_ms, const struct buffer *data,
                    host_fence_answer *answer, void *context)
{
    struct host_fence *fence = fence_create(kind, procs, procs_count, timeout_ms, context);
    struct buffer none = {0};

    fence->answer = answer;
    fence->name = memory_copy_string(name);
    if ((kind == PMI_GROUP_CONSTRUCT || kind == PMI_GROUP_DESTRUCT) && is_of_one_job(fence))
        fence->delta = host_delta_begin(fence->participants, procs_count, NULL, 0, &none);
    fence_ask(fence, data->data, data->length_bytes);
}

int host_fence_done(struct host *host, uint64_t id, int status, const void *data, size_t data_bytes)
{
    struct host_fence *fence;

    pthread_mutex_lock(&host->mutex);
    fence = hash_map_remove_u64(host->fences, id);
    pthread_mutex_unlock(&host->mutex);
    assert(fence == NULL || fence->id == id);
    if (fence != NULL)
        fence_answer(fence, status, data, data_bytes);
    return fence != NULL;
}

static int fence_has(const struct host_fence *fence, const char *namespace)
{
    for (size_t i = 0; i < fence->participants_count; i++) {
        if (strcmp(fence->participants[i].namespace, namespace) == 0)
            return 1;
    }
    return 0;
}

static struct host_fence *fence_take(struct host *host, const char *namespace)
{
    struct host_fence *fence;
    size_t cursor = 0;

    pthread_mutex_lock(&host->mutex);
    while ((fence = hash_map_next(host->fences, &cursor)) != NULL && !fence_has(fence, namespace))
        ;
    if (fence != NULL)
        hash_map_remove_u64(host->fences, fence->id);
    pthread_mutex_unlock(&host->mutex);
    return fence;
}

void host_fence_fail(struct host *host, const char *namespace, int status)
{
    struct host_fence *fence;

    assert(status < 0);
    while ((fence = fence_take(host, namespace)) != NULL)
        fence_answer(fence, status, NULL, 0);
}
