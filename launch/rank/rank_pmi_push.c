/* SPDX-License-Identifier: BSD-3-Clause */
/* Input from callers of PMIx_IOF_push (pmix/pmi_push.h): the root passes it on to the rank that reads it. */
#include "config.h"

#include <assert.h>

#include "launch/proto/job_wire.h"
#include "launch/rank/rank_pmi_internal.h"
#include "pmix/pmi_push.h"

void rank_pmi_push(struct speaker *speaker, const struct pmi_request *request)
{
    struct job_push message;
    struct buffer payload = {0};
    struct pmi_push push;
    int rc = pmi_push_decode(&push, request->data, request->data_bytes);

    assert(request->id != 0);
    if (rc < 0) {
        rank_pmi_answer(speaker, request->id, rc, NULL, 0);
        return;
    }
    message = (struct job_push){
        .number = push.job, .rank = push.rank, .data = push.data, .data_bytes = push.data_bytes};
    job_push_encode(&message, &payload);
    rank_pmi_forward(speaker, request->id, 0,
                     job_request_message(JOB_MESSAGE_PUSH, payload.data, payload.length_bytes));
    buffer_fini(&payload);
}
