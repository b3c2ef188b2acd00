/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests common to all PMI speakers (pmix/pmi.h): clients that connect and leave, abort, texts,
 * and what is not served.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/rank/services_internal.h"

static void set_state(const struct speaker *speaker, const struct pmi_process *process,
                      enum client_state state)
{
    struct services *services = speaker->services;
    int64_t index = services_local_index(services, process->rank);

    assert(speaker->kind < SPEAKER_COUNT);
    if (index >= 0 && process->job == services->config.job->number)
        services->clients[index].state[speaker->kind] = (uint8_t)state;
}

static void on_opened(void *context, uint32_t job, int status, const char *why, int32_t pid)
{
    (void)job;
    services_pmix_opened(((struct speaker *)context)->services, status, why, pid);
}

static void on_lost(void *context, uint32_t job, const char *why)
{
    (void)job;
    services_pmix_lost(((struct speaker *)context)->services, why);
}

static void on_connected(void *context, const struct pmi_process *process)
{
    set_state(context, process, CLIENT_CONNECTED);
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
    services_collective(context, collective);
}

static void on_fetch(void *context, uint64_t id, const struct pmi_process *process, const char *key,
                     uint32_t timeout_ms)
{
    services_fetch(context, id, process, key, timeout_ms);
}

static void on_provided(void *context, uint32_t job, uint64_t id, int status, const void *data,
                        size_t data_bytes)
{
    (void)job;
    services_provided(((struct speaker *)context)->services, id, status, data, data_bytes);
}

/* 1 if the caller has named all of its job, or no targets, which means the same. */
static int is_whole_job(const struct services *services, const struct pmi_process *targets,
                        size_t targets_count)
{
    const struct job_local *job = services->config.job;
    struct ranges ranks = {0};
    int whole;

    for (size_t i = 0; i < targets_count; i++) {
        if (targets[i].job != job->number)
            continue;
        if (targets[i].rank == PMI_RANK_ALL)
            ranges_add(&ranks, 0, job->map.processes - 1);
        else if (targets[i].rank < job->map.processes)
            ranges_add(&ranks, targets[i].rank, targets[i].rank);
    }
    whole = targets_count == 0 || ranges_count(&ranks) == job->map.processes;
    ranges_fini(&ranks);
    return whole;
}

/* The caller waits until its job has ended, and ends with it; part of a job cannot be ended alone.
 * The client's libpmix (4.2.2) ignores the answer and returns success, so the user gets a
 * message. */
static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *message, const struct pmi_process *targets, size_t targets_count)
{
    const struct speaker *speaker = context;
    struct services *services = speaker->services;
    int64_t index = services_local_index(services, caller->rank);

    if (is_whole_job(services, targets, targets_count)) {
        if (index >= 0)
            services->world.aborted(services->world.context, (uint32_t)index, status, message);
        return;
    }
    services_say(
        services,
        "rank %u on %s asked to abort only some ranks of its job; this is not supported, and none is aborted",
        caller->rank, services->config.node_name);
    services_answer(speaker, id, -ENOTSUP, NULL, 0);
}

static void on_text(void *context, const struct pmi_process *from, const char *text,
                    size_t text_bytes)
{
    struct services *services = ((struct speaker *)context)->services;

    (void)from;
    services->world.text(services->world.context, text, text_bytes);
}

/* Each rank is reported once. */
static void say_unserved(struct services *services, const struct pmi_process *from,
                         const char *service)
{
    int64_t index = services_local_index(services, from->rank);

    if (index < 0 || services->clients[index].was_refused)
        return;
    services->clients[index].was_refused = 1;
    services_say(services, "rank %u on %s: request refused: %s is not supported", from->rank,
                 services->config.node_name, service);
}

/* The one place that reports unserved requests to the user; the speaker has answered the client. */
static void on_unserved(void *context, const struct pmi_process *from, enum pmi_service service)
{
    struct services *services = ((struct speaker *)context)->services;

    assert(service < PMI_SERVICE_COUNT);
    switch (service) {
    case PMI_SERVICE_EVENT:
        if (!services->pmix.told_of_events)
            services_say(services,
                         "an event is not passed on to other nodes, which is not supported yet");
        services->pmix.told_of_events = 1;
        break;
    case PMI_SERVICE_NAMES:
        say_unserved(services, from, "publishing");
        break;
    default:
        say_unserved(services, from, "spawning");
    }
}

struct pmi_ops services_ops(struct speaker *speaker)
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
        .unserved = on_unserved,
    };
}
