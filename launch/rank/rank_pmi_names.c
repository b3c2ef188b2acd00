/* SPDX-License-Identifier: BSD-3-Clause */
/* Publish, lookup and unpublish: this daemon's name service (launch/core/names.h) does them, and knows the caller by
 * what is added here. */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "launch/proto/name.h"
#include "launch/rank/rank_pmi_internal.h"

void rank_pmi_names(struct speaker *speaker, const struct pmi_request *request)
{
    static const enum name_verb verbs[] = {
        [PMI_REQUEST_PUBLISH] = NAME_PUBLISH,
        [PMI_REQUEST_LOOKUP] = NAME_LOOKUP,
        [PMI_REQUEST_UNPUBLISH] = NAME_UNPUBLISH,
    };
    const struct rank_pmi *rank_pmi = speaker->rank_pmi;
    struct name_request named = {
        .job = rank_pmi->config.job->number,
        .rank = request->caller.rank,
        .timeout_ms = request->timeout_ms,
        .namespace = {.data = (const unsigned char *)rank_pmi->namespace,
                      .length_bytes = strlen(rank_pmi->namespace)},
    };
    struct buffer payload = {0};

    if (request->caller.rank == PMI_RANK_ALL) { /* a tool, which is of no job */
        named.job = 0;
        named.namespace.length_bytes = 0;
    }
    if (named.job == 0 && request->kind != PMI_REQUEST_LOOKUP) {
        rank_pmi_answer(speaker, request->id, -ENOTSUP, NULL, 0);
        return;
    }
    assert(request->kind < sizeof(verbs) / sizeof(verbs[0]));
    named.verb = verbs[request->kind];
    name_request_encode(&named, request->data, request->data_bytes, &payload);
    rank_pmi_forward(speaker, request->id, rank_pmi->config.place, message_from_buffer(&payload));
    buffer_fini(&payload);
}
