/* SPDX-License-Identifier: BSD-3-Clause */
/* Output for callers of PMIx_IOF_pull (pmix/pmi_pull.h): the root is asked for it, and copies it to this place. */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/job_wire.h"
#include "launch/rank/rank_pmi_internal.h"
#include "pmix/pmi_pull.h"

_Static_assert(PMI_PULL_SET == (int)JOB_PULL_SET && PMI_PULL_TAKEN == (int)JOB_PULL_TAKEN &&
                   PMI_PULL_WINDOW == JOB_PULL_WINDOW && PMI_PULL_STDOUT == 1 &&
                   PMI_PULL_STDERR == 2,
               "the same on both ways");

static void not_awaited(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                        size_t data_bytes)
{
    assert(rank_pmi != NULL && context == NULL);
    (void)status;
    (void)data;
    (void)data_bytes;
}

void rank_pmi_pull(struct speaker *speaker, const struct pmi_request *request)
{
    struct job_pull message = {0};
    struct buffer payload = {0};
    struct pmi_pull pull;
    struct message *asked;
    int rc = pmi_pull_decode(&pull, request->data, request->data_bytes);

    if (rc < 0) {
        rank_pmi_answer(speaker, request->id, rc, NULL, 0);
        return;
    }
    message.kind = (uint8_t)pull.kind;
    message.number = pull.job;
    message.version = pull.version;
    message.bytes = pull.bytes;
    message.channels = pull.channels;
    message.ranks = pull.ranks; /* borrowed */
    job_pull_encode(&message, &payload);
    ranges_fini(&pull.ranks);
    asked = job_request_message(JOB_MESSAGE_PULL, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    if (request->id != 0)
        rank_pmi_forward(speaker, request->id, 0, asked);
    else
        rank_pmi_ask(speaker->rank_pmi, 0, asked, not_awaited, NULL);
}
