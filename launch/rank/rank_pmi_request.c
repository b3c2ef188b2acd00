/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of other daemons, for requests of kinds that only their services understand and for others.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/proto/job_wire.h"
#include "launch/rank/rank_pmi_internal.h"

struct ask {
    rank_pmi_answered *answered;
    void *context;
};

void rank_pmi_ask(struct rank_pmi *rank_pmi, uint32_t place, struct message *message,
                  rank_pmi_answered *answered, void *context)
{
    struct ask *ask = memory_allocate_zeroed(sizeof(*ask));
    uint32_t id = rank_pmi->events.request(rank_pmi->events.context, place, message);

    ask->answered = answered;
    ask->context = context;
    (void)hash_map_put_u64(rank_pmi->asks, id, ask);
}

void rank_pmi_asked(struct rank_pmi *rank_pmi, uint32_t id, int status, const void *data,
                    size_t data_bytes)
{
    struct ask *ask = hash_map_remove_u64(rank_pmi->asks, id);

    assert(status <= 0);
    if (ask == NULL)
        return;
    ask->answered(rank_pmi, ask->context, status, data, data_bytes);
    free(ask);
}

void rank_pmi_reply_to(struct rank_pmi *rank_pmi, uint32_t source, uint32_t request, int status,
                       const void *data, size_t data_bytes)
{
    struct buffer payload = {0};

    job_reply_encode(status, data, data_bytes, &payload);
    rank_pmi->events.reply(rank_pmi->events.context, source, request,
                           message_from_buffer(&payload));
    buffer_fini(&payload);
}

struct forward {
    const struct speaker *speaker;
    uint64_t id;
};

static void forward_answered(struct rank_pmi *rank_pmi, void *context, int status, const void *data,
                             size_t data_bytes)
{
    struct forward *forward = context;

    assert(forward->speaker->rank_pmi == rank_pmi);
    if (status != -ECANCELED)
        rank_pmi_answer(forward->speaker, forward->id, status, data, data_bytes);
    free(forward);
}

void rank_pmi_forward(const struct speaker *speaker, uint64_t id, uint32_t place,
                      struct message *message)
{
    struct forward *forward = memory_allocate_zeroed(sizeof(*forward));

    forward->speaker = speaker;
    forward->id = id;
    rank_pmi_ask(speaker->rank_pmi, place, message, forward_answered, forward);
}

void rank_pmi_request_open(struct rank_pmi *rank_pmi)
{
    rank_pmi->asks = hash_map_create();
}

void rank_pmi_request_close(struct rank_pmi *rank_pmi)
{
    struct ask *ask;
    size_t cursor = 0;

    while ((ask = hash_map_next(rank_pmi->asks, &cursor)) != NULL) {
        ask->answered(rank_pmi, ask->context, -ECANCELED, NULL, 0);
        free(ask);
    }
    hash_map_destroy(rank_pmi->asks);
}
