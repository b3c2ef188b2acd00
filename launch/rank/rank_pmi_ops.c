/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests common to all PMI speakers (pmix/pmi.h): clients that connect and leave, abort, texts.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/rank/rank_pmi_internal.h"

void rank_pmi_joined(struct client *client)
{
    struct rank_pmi *rank_pmi = client->rank_pmi;

    if (client->has_joined)
        return;
    client->has_joined = 1;
    if (rank_pmi->config.job->spec.on_failure == JOB_ON_FAILURE_RESTART)
        rank_pmi->events.joined(rank_pmi->events.context, client->index);
}

static void set_state(const struct speaker *speaker, const struct pmi_process *process,
                      enum client_state state)
{
    struct rank_pmi *rank_pmi = speaker->rank_pmi;
    int64_t index = rank_pmi_local_index(rank_pmi, process->rank);

    assert(speaker->kind < SPEAKER_COUNT);
    if (index < 0 || process->job != rank_pmi->config.job->number)
        return;
    rank_pmi->clients[index].state[speaker->kind] = (uint8_t)state;
    rank_pmi_joined(&rank_pmi->clients[index]);
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    (void)job;
    rank_pmi_pmix_opened(((struct speaker *)context)->rank_pmi, status, why, pid);
}

static void on_lost(void *context, uint32_t job, const char *why)
{
    (void)job;
    rank_pmi_pmix_lost(((struct speaker *)context)->rank_pmi, why);
}

static void on_connected(void *context, const struct pmi_process *process)
{
    const struct speaker *speaker = context;

    set_state(speaker, process, CLIENT_CONNECTED);
    if (speaker->kind == SPEAKER_PMIX)
        rank_pmi_notice_connected(speaker->rank_pmi);
}

static void on_rejected(void *context, const struct pmi_process *process)
{
    set_state(context, process, CLIENT_NEVER);
}

static void on_finalized(void *context, const struct pmi_process *process)
{
    set_state(context, process, CLIENT_FINALIZED);
}

static void on_collective(void *context, const struct pmi_collective *collective)
{
    rank_pmi_collective(context, collective);
}

static void on_fetch(void *context, uint64_t id, const struct pmi_process *process, const char *key,
                     uint32_t timeout_ms)
{
    rank_pmi_fetch(context, id, process, key, timeout_ms);
}

static void on_provided(void *context, uint32_t job, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    (void)job;
    rank_pmi_provided(((struct speaker *)context)->rank_pmi, id, status, data, data_bytes);
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *message, const struct pmi_process *targets, size_t targets_count)
{
    rank_pmi_abort(context, id, caller, status, message, targets, targets_count);
}

static void on_text(void *context, const struct pmi_process *from, const char *text,
                    size_t text_bytes)
{
    struct rank_pmi *rank_pmi = ((struct speaker *)context)->rank_pmi;

    (void)from;
    rank_pmi->events.text(rank_pmi->events.context, text, text_bytes);
}

static void on_request(void *context, const struct pmi_request *request)
{
    rank_pmi_serve(context, request);
}

struct pmi_ops rank_pmi_ops(struct speaker *speaker)
{
    return (struct pmi_ops){
        .context = speaker,
        .opened = on_opened,
        .lost = on_lost,
        .connected = on_connected,
        .rejected = on_rejected,
        .finalized = on_finalized,
        .collective = on_collective,
        .fetch = on_fetch,
        .provided = on_provided,
        .abort = on_abort,
        .text = on_text,
        .request = on_request,
    };
}
