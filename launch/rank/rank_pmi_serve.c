/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of kinds that only their services understand (pmi.h, struct pmi_request): which service serves which.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "launch/rank/rank_pmi_internal.h"

/* A kind without one is not supported. */
static rank_pmi_service *const services[PMI_REQUEST_KIND_COUNT] = {
    [PMI_REQUEST_PUBLISH] = rank_pmi_names,   [PMI_REQUEST_LOOKUP] = rank_pmi_names,
    [PMI_REQUEST_UNPUBLISH] = rank_pmi_names, [PMI_REQUEST_QUERY] = rank_pmi_query,
    [PMI_REQUEST_SPAWN] = rank_pmi_spawn,     [PMI_REQUEST_NOTIFY] = rank_pmi_notify,
    [PMI_REQUEST_CONTROL] = rank_pmi_control, [PMI_REQUEST_PULL] = rank_pmi_pull,
    [PMI_REQUEST_PUSH] = rank_pmi_push,
};

void rank_pmi_serve(struct speaker *speaker, const struct pmi_request *request)
{
    assert(request->kind < PMI_REQUEST_KIND_COUNT);
    if (services[request->kind] != NULL)
        services[request->kind](speaker, request);
    else if (request->id != 0)
        rank_pmi_answer(speaker, request->id, -ENOTSUP, NULL, 0);
}
