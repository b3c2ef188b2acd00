/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_query.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/host_job.h"
#include "pmix/host_query_value.h"
#include "pmix/host_request.h"
#include "pmix/host_status.h"

#include <pmix.h>

/* An upcall that is being answered, key after key. */
struct host_inquiry {
    struct host_request request;
    struct host_process asker; /* by libpmix's word */
    pmix_query_t *queries;     /* libpmix's, until the callback */
    size_t queries_count;
    size_t query; /* the next to answer, and its key */
    size_t key;
    struct pmi_instance_facts instance;
    int has_instance;
    struct pmi_node_facts *nodes; /* what the key needs */
    size_t nodes_count;
    struct pmi_fabric_facts fabric; /* likewise */
    enum pmi_query_kind asked;      /* last */
    int has_facts;                  /* what the key needs has been answered, */
    int facts_status;               /* or refused */
    pmix_info_t *results;
    size_t results_count;
    size_t missing; /* keys without an answer */
    int status;     /* why: of the first of them */
    pmix_info_cbfunc_t callback;
    void *context;
};

static void inquiry_go_on(struct host *host, struct host_inquiry *inquiry);

static void facts_forget(struct host_inquiry *inquiry)
{
    pmi_fabric_facts_fini(&inquiry->fabric);
    for (size_t i = 0; i < inquiry->nodes_count; i++)
        pmi_node_facts_fini(&inquiry->nodes[i]);
    free(inquiry->nodes);
    inquiry->nodes = NULL;
    inquiry->nodes_count = 0;
    inquiry->has_facts = 0;
    inquiry->facts_status = 0;
}

static void inquiry_free(void *context)
{
    struct host_inquiry *inquiry = context;

    facts_forget(inquiry);
    pmi_instance_facts_fini(&inquiry->instance);
    for (size_t i = 0; i < inquiry->results_count; i++)
        PMIX_INFO_DESTRUCT(&inquiry->results[i]);
    free(inquiry->results);
    buffer_fini(&inquiry->request.data);
    free(inquiry);
}

/* PMIx 4.1, 7.1.3: all, some, or nothing of what was asked for. */
static pmix_status_t inquiry_status(const struct host_inquiry *inquiry)
{
    if (inquiry->missing == 0)
        return PMIX_SUCCESS;
    return inquiry->results_count > 0 ? PMIX_ERR_PARTIAL_SUCCESS
                                      : host_status_from_errno(inquiry->status);
}

static void inquiry_end(struct host_inquiry *inquiry)
{
    inquiry->callback(inquiry_status(inquiry), inquiry->results, inquiry->results_count,
                      inquiry->context, inquiry_free, inquiry);
}

/* The job that is meant where none is named; PMI_JOB_NONE: libpmix does not say whose process asks, and several
 * jobs are open. */
static uint32_t asking_job(const struct host *host, const struct host_inquiry *inquiry)
{
    struct host_process process = inquiry->asker;

    if (host_job_pmi(host, &process).job == PMI_JOB_NONE &&
        (hash_map_count(host->jobs) != 1 || host_job_first(host, process.namespace) < 0))
        return PMI_JOB_NONE;
    return host_job_pmi(host, &process).job;
}

/* In the name of any job that is open here, if the asker's is not known. */
static void inquiry_ask(struct host *host, struct host_inquiry *inquiry,
                        const struct pmi_query *query)
{
    pmi_query_encode(query, &inquiry->request.data);
    inquiry->asked = query->kind;
    inquiry->request.id = 0;
    inquiry->request.kind = PMI_REQUEST_QUERY;
    inquiry->request.caller = inquiry->asker;
    if (host_job_pmi(host, &inquiry->asker).job == PMI_JOB_NONE)
        (void)host_job_first(host, inquiry->request.caller.namespace);
    host_request_send(&inquiry->request);
}

static void inquiry_miss(struct host_inquiry *inquiry, int status)
{
    assert(status < 0);
    if (inquiry->missing++ == 0)
        inquiry->status = status;
}

static void take_value(struct host_inquiry *inquiry, const char *key, const pmix_value_t *value)
{
    pmix_info_t *result;

    inquiry->results =
        memory_resize(inquiry->results, (inquiry->results_count + 1) * sizeof(*inquiry->results));
    result = &inquiry->results[inquiry->results_count++];
    PMIX_INFO_CONSTRUCT(result);
    PMIX_LOAD_KEY(result->key, key);
    result->value = *value;
}

/* 1 if its processes, or the fabric, are asked for first. */
static int answer_key(struct host *host, struct host_inquiry *inquiry, const char *key)
{
    struct host_query_facts facts = {.instance = &inquiry->instance,
                                     .nodes = inquiry->nodes,
                                     .nodes_count = inquiry->nodes_count,
                                     .fabric = &inquiry->fabric};
    struct host_query_scope scope;
    struct pmi_query query;
    pmix_value_t value;
    int rc = host_query_scope(&inquiry->queries[inquiry->query], &inquiry->instance,
                              asking_job(host, inquiry), &scope);

    if (rc == 0 && !inquiry->has_facts &&
        host_query_needs(key, &scope, &inquiry->instance, &query)) {
        inquiry_ask(host, inquiry, &query);
        pmi_query_fini(&query);
        return 1;
    }
    if (rc == 0)
        rc = inquiry->facts_status;
    if (rc == 0)
        rc = host_query_value(key, &scope, &facts, &value);
    if (rc == 0)
        take_value(inquiry, key, &value);
    else
        inquiry_miss(inquiry, rc);
    facts_forget(inquiry);
    return 0;
}

static const char *next_key(const struct host_inquiry *inquiry)
{
    char **keys = inquiry->queries[inquiry->query].keys;

    return keys != NULL ? keys[inquiry->key] : NULL;
}

static void inquiry_go_on(struct host *host, struct host_inquiry *inquiry)
{
    while (inquiry->query < inquiry->queries_count) {
        const char *key = next_key(inquiry);

        if (key == NULL) {
            inquiry->query++;
            inquiry->key = 0;
        } else if (answer_key(host, inquiry, key)) {
            return;
        } else {
            inquiry->key++;
        }
    }
    inquiry_end(inquiry);
}

/* The answers of nodes, concatenated. */
static int take_nodes(struct host_inquiry *inquiry, const void *data, size_t data_bytes)
{
    struct wire_reader reader;
    int rc = 0;

    wire_reader_init(&reader, data, data_bytes);
    while (rc == 0 && wire_left(&reader) > 0) {
        inquiry->nodes =
            memory_resize(inquiry->nodes, (inquiry->nodes_count + 1) * sizeof(*inquiry->nodes));
        rc = pmi_node_facts_decode(&inquiry->nodes[inquiry->nodes_count], &reader);
        inquiry->nodes_count += rc == 0;
    }
    return rc;
}

/* What a key needs; refused, the key has no value, and the others may have. */
static void take_facts(struct host_inquiry *inquiry, int status, const void *data,
                       size_t data_bytes)
{
    inquiry->has_facts = 1;
    if (status == 0 && inquiry->asked == PMI_QUERY_FABRIC)
        status = pmi_fabric_facts_decode(&inquiry->fabric, data, data_bytes);
    else if (status == 0)
        status = take_nodes(inquiry, data, data_bytes);
    else if (status == -ENOENT && inquiry->asked == PMI_QUERY_PROCESSES)
        status = 0; /* no node has any */
    inquiry->facts_status = status;
}

static void inquiry_run(struct host *host, struct host_call *call)
{
    struct host_inquiry *inquiry = (struct host_inquiry *)call;
    struct pmi_query query = {.kind = PMI_QUERY_JOBS};

    if (inquiry->has_instance)
        inquiry_go_on(host, inquiry);
    else
        inquiry_ask(host, inquiry, &query);
}

/* -ECANCELED: the job in whose name was asked is being closed; the next question is in the name of another. */
static void inquiry_answered(struct host *host, struct host_request *request, int status,
                             const void *data, size_t data_bytes)
{
    struct host_inquiry *inquiry = (struct host_inquiry *)request;

    if (status == -ECANCELED && hash_map_count(host->jobs) > 1) {
        inquiry->request.call.run = inquiry_run;
        host_thread_post(&inquiry->request.call);
        return;
    }
    if (inquiry->has_instance && status != -ECANCELED) {
        take_facts(inquiry, status, data, data_bytes);
        status = 0;
    } else if (status == 0) {
        status = pmi_instance_facts_decode(&inquiry->instance, data, data_bytes);
        inquiry->has_instance = status == 0;
    }
    if (status == 0) {
        inquiry_go_on(host, inquiry);
        return;
    }
    inquiry_miss(inquiry, status);
    inquiry_end(inquiry);
}

/* libpmix 4.2.2 names itself as the one who asks.  Its callback takes other statuses than success only while it
 * is not connected to another server, which this one never is. */
pmix_status_t host_query(pmix_proc_t *proc, pmix_query_t *queries, size_t queries_count,
                         pmix_info_cbfunc_t callback, void *context)
{
    struct host_inquiry *inquiry;

    if (callback == NULL || queries_count == 0)
        return PMIX_ERR_BAD_PARAM;
    inquiry = memory_allocate_zeroed(sizeof(*inquiry));
    host_process_from_pmix(proc, &inquiry->asker);
    inquiry->request.answer = inquiry_answered;
    inquiry->queries = queries;
    inquiry->queries_count = queries_count;
    inquiry->callback = callback;
    inquiry->context = context;
    inquiry->request.call.run = inquiry_run;
    host_thread_post(&inquiry->request.call);
    return PMIX_SUCCESS;
}
