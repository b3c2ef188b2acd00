/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/fence_client.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <pmix.h>

static pmix_proc_t self; /* without a namespace until it is open */

static int fail(pmix_status_t status, const char *what, struct error *error)
{
    assert(status != PMIX_SUCCESS);
    return error_set(error, status == PMIX_ERR_NOMEM ? -ENOMEM : -EPROTO,
                     "rank %u: cannot %s: PMIx says %s", self.rank, what,
                     PMIx_Error_string(status));
}

static int read_ranks(uint32_t *ret_ranks, struct error *error)
{
    pmix_proc_t all;
    pmix_value_t *value;
    pmix_status_t status;
    int rc = 0;

    PMIX_PROC_LOAD(&all, self.nspace, PMIX_RANK_WILDCARD);
    status = PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return fail(status, "get the size of the job", error);
    if (value->type == PMIX_UINT32 && value->data.uint32 > self.rank)
        *ret_ranks = value->data.uint32;
    else
        rc = error_set(error, -EPROTO, "rank %u: PMIx gives no usable size of the job", self.rank);
    PMIX_VALUE_RELEASE(value);
    return rc;
}

static int open_client(struct fence_client_self *ret_self, struct error *error)
{
    struct fence_client_self found;
    pmix_status_t status;
    int rc;

    assert(self.nspace[0] == '\0');
    status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS)
        return error_set(error, -EPROTO,
                         "cannot join the job by PMIx: %s; the launcher has ended, or its PMIx and "
                         "this libpmix do not go together",
                         PMIx_Error_string(status));
    found.rank = self.rank;
    rc = read_ranks(&found.ranks, error);
    if (rc == 0)
        *ret_self = found;
    return rc;
}

static int put(const char *key, const void *data, size_t bytes, struct error *error)
{
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    pmix_status_t status;

    assert(strlen(key) <= PMIX_MAX_KEYLEN);
    value.data.bo.bytes = (char *)(uintptr_t)data;
    value.data.bo.size = bytes;
    status = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    return status == PMIX_SUCCESS ? 0 : fail(status, "put data", error);
}

static int fence(int collects, struct error *error)
{
    bool collect = collects != 0;
    pmix_proc_t all;
    pmix_info_t info;
    pmix_status_t status;

    PMIX_PROC_LOAD(&all, self.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    status = PMIx_Fence(&all, 1, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    return status == PMIX_SUCCESS ? 0 : fail(status, "fence", error);
}

static int get(uint32_t rank, const char *key, void **ret_data, size_t *ret_bytes,
               struct error *error)
{
    pmix_proc_t peer;
    pmix_value_t *value;
    pmix_status_t status;
    int rc = 0;

    PMIX_PROC_LOAD(&peer, self.nspace, rank);
    status = PMIx_Get(&peer, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return fail(status, "get the data of another rank", error);
    if (value->type == PMIX_BYTE_OBJECT) {
        *ret_data = value->data.bo.bytes;
        *ret_bytes = value->data.bo.size;
        value->data.bo.bytes = NULL;
        value->data.bo.size = 0;
    } else {
        rc = error_set(error, -EPROTO, "rank %u: PMIx gives the data of rank %u another type",
                       self.rank, rank);
    }
    PMIX_VALUE_RELEASE(value);
    return rc;
}

static int close_client(struct error *error)
{
    pmix_status_t status = PMIx_Finalize(NULL, 0);

    return status == PMIX_SUCCESS ? 0 : fail(status, "leave the job", error);
}

static void give_up(int status, const char *text)
{
    PMIx_Abort(status, text, NULL, 0);
}

__attribute__((visibility("default"))) const struct fence_client_table fence_client_table = {
    .abi = FENCE_CLIENT_ABI,
    .open = open_client,
    .put = put,
    .fence = fence,
    .get = get,
    .close = close_client,
    .give_up = give_up,
};
