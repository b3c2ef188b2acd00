/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_internal.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"

#include <pmix.h>

#define MS_PER_S 1000u

void host_process_from_pmix(const pmix_proc_t *from, struct host_process *ret_process)
{
    _Static_assert(sizeof(from->nspace) <= PMI_NAMESPACE_BYTES, "a namespace fits");
    memcpy(ret_process->namespace, from->nspace, sizeof(from->nspace));
    ret_process->namespace[sizeof(from->nspace) - 1] = '\0';
    ret_process->rank = from->rank == PMIX_RANK_WILDCARD ? PMI_RANK_ALL : from->rank;
}

void host_process_to_pmix(const struct host_process *from, pmix_proc_t *ret_proc)
{
    PMIX_LOAD_PROCID(ret_proc, from->namespace,
                     from->rank == PMI_RANK_ALL ? PMIX_RANK_WILDCARD : from->rank);
}

int host_process_is(const struct host_process *a, const struct host_process *b)
{
    return a->rank == b->rank && strcmp(a->namespace, b->namespace) == 0;
}

uint32_t host_timeout_s(const pmix_info_t *info, size_t count)
{
    return host_seconds(info, count, PMIX_TIMEOUT);
}

uint32_t host_timeout_ms(const pmix_info_t *info, size_t count)
{
    uint64_t timeout_ms = (uint64_t)host_timeout_s(info, count) * MS_PER_S;

    return timeout_ms < UINT32_MAX ? (uint32_t)timeout_ms : UINT32_MAX;
}

uint32_t host_seconds(const pmix_info_t *info, size_t count, const char *key)
{
    assert(key != NULL && (info != NULL || count == 0));
    for (size_t i = 0; i < count; i++) {
        const pmix_value_t *value = &info[i].value;

        if (!PMIX_CHECK_KEY(&info[i], key))
            continue;
        switch (value->type) {
        case PMIX_INT:
            return value->data.integer > 0 ? (uint32_t)value->data.integer : 0;
        case PMIX_UINT:
            return value->data.uint;
        case PMIX_UINT32:
            return value->data.uint32;
        case PMIX_INT32:
            return value->data.int32 > 0 ? (uint32_t)value->data.int32 : 0;
        default:
            return 0;
        }
    }
    return 0;
}

int host_refuses(const pmix_info_t *info, size_t count, const char *const *known)
{
    assert(known != NULL && (info != NULL || count == 0));
    for (size_t i = 0; i < count; i++) {
        const char *const *key = known;

        if (!PMIX_INFO_IS_REQUIRED(&info[i]))
            continue;
        while (*key != NULL && !PMIX_CHECK_KEY(&info[i], *key))
            key++;
        if (*key == NULL)
            return 1;
    }
    return 0;
}

/* One per process; libpmix's threads use it until the process exits. */
static struct host *self;

struct host *host_self(void)
{
    return self;
}

uint64_t host_next_id(struct host *host)
{
    uint64_t id;

    pthread_mutex_lock(&host->mutex);
    id = ++host->last_id;
    assert(id > 0);
    pthread_mutex_unlock(&host->mutex);
    return id;
}

struct host *host_state_create(const struct host_config *config)
{
    struct host *host = memory_allocate_zeroed(sizeof(*host));

    assert(self == NULL && config->ops != NULL && config->node_name != NULL);
    pthread_mutex_init(&host->mutex, NULL);
    host->ops = *config->ops;
    host->jobs = hash_map_create();
    host->fences = hash_map_create();
    host->modexes = hash_map_create();
    host->fetches = hash_map_create();
    host->aborts = hash_map_create();
    host->requests = hash_map_create();
    host->groups = hash_map_create();
    host->place = config->server_rank;
    host->node_name = memory_copy_string(config->node_name);
    host->server_namespace = memory_copy_string(config->server_namespace);
    self = host;
    return host;
}
