/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_fabric.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/host_fabric_value.h"
#include "pmix/host_job.h"
#include "pmix/host_request.h"
#include "pmix/host_status.h"
#include "pmix/pmi_query.h"

#include <pmix.h>

#define RESULTS_MAX 4u

struct host_fabric {
    struct host_request request;
    pmix_info_t results[RESULTS_MAX];
    size_t results_count;
    pmix_info_cbfunc_t callback;
    void *context;
};

/* These may be required. */
static const char *const known[] = {PMIX_FABRIC_PLANE, PMIX_FABRIC_INDEX, NULL};

static void fabric_free(void *context)
{
    struct host_fabric *fabric = context;

    for (size_t i = 0; i < fabric->results_count; i++)
        PMIX_INFO_DESTRUCT(&fabric->results[i]);
    buffer_fini(&fabric->request.data);
    free(fabric);
}

static void add_result(struct host_fabric *fabric, const char *key, const pmix_value_t *value)
{
    pmix_info_t *result = &fabric->results[fabric->results_count++];

    assert(fabric->results_count <= RESULTS_MAX);
    PMIX_INFO_CONSTRUCT(result);
    PMIX_LOAD_KEY(result->key, key);
    result->value = *value;
}

/* A plane without a name, and a matrix above the limit, are left out. */
static void make_results(struct host_fabric *fabric, const struct pmi_fabric_facts *facts)
{
    const char *plane = facts->planes[facts->plane];
    pmix_value_t value;

    (void)host_fabric_index(facts, &value);
    add_result(fabric, PMIX_FABRIC_INDEX, &value);
    (void)host_fabric_devices_count(facts, &value);
    add_result(fabric, PMIX_FABRIC_NUM_DEVICES, &value);
    if (plane[0] != '\0') {
        PMIX_VALUE_LOAD(&value, plane, PMIX_STRING);
        add_result(fabric, PMIX_FABRIC_PLANE, &value);
    }
    if (host_fabric_costs(facts, &value) == 0)
        add_result(fabric, PMIX_FABRIC_COST_MATRIX, &value);
}

static void fabric_answered(struct host *host, struct host_request *request, int status,
                            const void *data, size_t data_bytes)
{
    struct host_fabric *fabric = (struct host_fabric *)request;
    struct pmi_fabric_facts facts;

    (void)host;
    if (status == 0)
        status = pmi_fabric_facts_decode(&facts, data, data_bytes);
    if (status == 0) {
        make_results(fabric, &facts);
        pmi_fabric_facts_fini(&facts);
    }
    fabric->callback(host_status_from_errno(status), fabric->results, fabric->results_count,
                     fabric->context, fabric_free, fabric);
}

static pmix_status_t read_directive(const pmix_info_t *info, struct pmi_fabric_query *query)
{
    pmix_status_t status = PMIX_SUCCESS;

    if (PMIX_CHECK_KEY(info, PMIX_FABRIC_PLANE)) {
        if (info->value.type != PMIX_STRING || info->value.data.string == NULL)
            return PMIX_ERR_BAD_PARAM;
        if (strlen(info->value.data.string) > PMI_FABRIC_NAME_MAX)
            return PMIX_ERR_NOT_FOUND;
        free(query->plane);
        query->plane = memory_copy_string(info->value.data.string);
    } else if (PMIX_CHECK_KEY(info, PMIX_FABRIC_INDEX)) {
        PMIX_VALUE_GET_NUMBER(status, &info->value, query->plane_index, uint32_t);
    }
    return status;
}

/* libpmix 4.2.2 loses the directives of a client's registration, so that the first plane is meant; an update comes with
 * the index. */
pmix_status_t host_fabric_upcall(const pmix_proc_t *requestor, pmix_fabric_operation_t operation,
                                 const pmix_info_t directives[], size_t directives_count,
                                 pmix_info_cbfunc_t callback, void *context)
{
    struct pmi_query query = {
        .kind = PMI_QUERY_FABRIC,
        .fabric = {.parts = PMI_FABRIC_COSTS, .device = PMI_FABRIC_ALL},
    };
    pmix_status_t status = PMIX_SUCCESS;
    struct host_fabric *fabric;

    if (callback == NULL ||
        (operation != PMIX_FABRIC_REQUEST_INFO && operation != PMIX_FABRIC_UPDATE_INFO))
        return PMIX_ERR_BAD_PARAM;
    if (host_refuses(directives, directives_count, known))
        return PMIX_ERR_NOT_SUPPORTED;
    for (size_t i = 0; i < directives_count && status == PMIX_SUCCESS; i++)
        status = read_directive(&directives[i], &query.fabric);
    if (status != PMIX_SUCCESS) {
        pmi_query_fini(&query);
        return status;
    }
    fabric = memory_allocate_zeroed(sizeof(*fabric));
    fabric->request.kind = PMI_REQUEST_QUERY;
    fabric->request.answer = fabric_answered;
    host_job_caller(host_self(), requestor, &fabric->request.caller);
    fabric->callback = callback;
    fabric->context = context;
    pmi_query_encode(&query, &fabric->request.data);
    pmi_query_fini(&query);
    host_request_send(&fabric->request);
    return PMIX_SUCCESS;
}
