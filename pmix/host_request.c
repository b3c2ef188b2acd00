/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_request.h"

#include <assert.h>
#include <string.h>

#include "pmix/host_job.h"

static void request_run(struct host *host, struct host_call *call)
{
    struct host_request *request = (struct host_request *)call;
    struct buffer data = {0};
    struct pmi_request message = {.kind = request->kind, .timeout_ms = request->timeout_ms};

    assert(request->id == 0 && request->kind < PMI_REQUEST_KIND_COUNT);
    request->id = message.id = host_next_id(host);
    hash_map_put_u64(host->requests, request->id, request);
    message.caller = host_job_pmi(host, &request->caller);
    buffer_swap(&data, &request->data);
    message.data = data.data;
    message.data_bytes = data.length_bytes;
    /* The answer may come at once: the request is not touched after this. */
    host->ops.request(host->ops.context, &message);
    buffer_fini(&data);
}

void host_request_send(struct host_request *request)
{
    assert(request->answer != NULL);
    request->call.run = request_run;
    host_thread_post(&request->call);
}

int host_request_done(struct host *host, uint64_t id, int status, const void *data,
                      size_t data_bytes)
{
    struct host_request *request = hash_map_remove_u64(host->requests, id);

    assert(status <= 0);
    if (request != NULL)
        request->answer(host, request, status, data, data_bytes);
    return request != NULL;
}

void host_request_fail(struct host *host, const char *namespace, int status)
{
    struct host_request *request;
    size_t cursor = 0;

    while ((request = hash_map_next(host->requests, &cursor)) != NULL) {
        if (strcmp(request->caller.namespace, namespace) == 0)
            (void)host_request_done(host, request->id, status, NULL, 0);
    }
}
