/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job and the node's PMIx server: the socket on which its clients arrive, and what happens when
 * the job needs the server, and when the server dies.
 */
#include "config.h"

#include "launch/rank/rank_pmi.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "launch/rank/rank_pmi_internal.h"
#include "pmix/host_environment.h"

/* Reports a failure once; one that concerns a single job is not reported to others. */
static void report_failure(struct rank_pmi *rank_pmi, const struct error *why)
{
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;

    assert(why->code < 0);
    if (pmix->state == SERVER_LOST)
        return;
    pmix->state = SERVER_LOST;
    rank_pmi->speakers[SPEAKER_PMIX].handle = NULL;
    rank_pmi->events.failed(rank_pmi->events.context, why); /* which ends the job, and perhaps us */
}

static void parent_is_known(struct rank_pmi *rank_pmi, void *context, int status)
{
    (void)context;
    if (status < 0 && status != -ECANCELED)
        log_debug("job %u: its parent's map cannot be had: %s", rank_pmi->config.job->number,
                  strerror(-status));
}

/* Clients of a spawned job ask for what concerns its parent, also without connecting to it. */
static void need_parent(struct rank_pmi *rank_pmi)
{
    uint32_t parent = rank_pmi->config.job->spec.parent;

    if (parent > 0)
        rank_jobs_need(rank_pmi, parent, 1, parent_is_known, NULL);
}

/* A small job that never calls libpmix does not pay for it. */
int rank_pmi_pmix_need(struct rank_pmi *rank_pmi)
{
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;
    struct error error = ERROR_NONE;

    if (pmix->state == SERVER_NONE && pmix->door != NULL) {
        pmix->state = SERVER_OPENING;
        rank_pmi->speakers[SPEAKER_PMIX].handle = rank_pmi->config.pmi_node;
        if (rank_pmi_job_open(rank_pmi, &error) < 0)
            report_failure(rank_pmi, &error);
        else
            need_parent(rank_pmi);
    }
    return pmix->state == SERVER_OPENING || pmix->state == SERVER_OPEN ? 0 : -ENOTCONN;
}

void rank_pmi_pmix_opened(struct rank_pmi *rank_pmi, int status, const char *why, int32_t pid)
{
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;
    struct error error = ERROR_NONE;

    if (pmix->state != SERVER_OPENING)
        return;
    if (status < 0) {
        error_set(&error, status, "%s", why);
        report_failure(rank_pmi, &error);
        return;
    }
    pmix->state = SERVER_OPEN;
    pmix->pid = pid;
    rank_pmi->events.ready(rank_pmi->events.context);
}

void rank_pmi_pmix_lost(struct rank_pmi *rank_pmi, const char *why)
{
    struct error error = ERROR_NONE;

    error_set(&error, -EPIPE, "%s", why);
    report_failure(rank_pmi, &error);
}

int rank_pmi_must_wait(const struct rank_pmi *rank_pmi)
{
    const struct rank_pmi_pmix *pmix = &rank_pmi->pmix;

    return pmix->is_eager && pmix->state == SERVER_OPENING;
}

int rank_pmi_have_failed(const struct rank_pmi *rank_pmi)
{
    return rank_pmi->pmix.state == SERVER_LOST;
}

/* From now on it is a client that must finalize, unless the server rejects it: it may exit before
 * the server has answered. */
static void admit_client(struct rank_pmi *rank_pmi, int fd, uint32_t rank, const void *message,
                         size_t message_bytes)
{
    struct pmi_process process = {.job = rank_pmi->config.job->number, .rank = rank};
    struct client *client = &rank_pmi->clients[rank_pmi_local_index(rank_pmi, rank)];

    assert(client->index < rank_pmi->config.job->count);
    if (client->state[SPEAKER_PMIX] == CLIENT_NEVER)
        client->state[SPEAKER_PMIX] = CLIENT_CONNECTED;
    rank_pmi_joined(client);
    pmi_node_admit(rank_pmi->config.pmi_node, fd, &process, message, message_bytes);
}

/* A client has sent who it is; the server is started for the first one admitted. */
static void client_arrived(void *context, int fd, const struct hello *hello, const void *message,
                           size_t message_bytes)
{
    struct rank_pmi *rank_pmi = context;

    if (!hello->is_client)
        pmi_door_refuse(fd, PMI_DOOR_NOT_SUPPORTED);
    else if (strcmp(hello->namespace, rank_pmi->namespace) != 0 ||
             rank_pmi_local_index(rank_pmi, hello->rank) < 0)
        pmi_door_refuse(fd, PMI_DOOR_NOT_FOUND);
    else if (rank_pmi_pmix_need(rank_pmi) < 0)
        close(fd);
    else
        admit_client(rank_pmi, fd, hello->rank, message, message_bytes);
}

int rank_pmi_pmix_open(struct rank_pmi *rank_pmi, struct error *error)
{
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;

    pmix->door = pmi_door_open(rank_pmi->config.loop, client_arrived, rank_pmi, &pmix->port, error);
    if (pmix->door == NULL)
        return error->code;
    pmix->is_eager = host_environment_is_eager(rank_pmi->config.job->map.processes,
                                               rank_pmi->config.job->count) != 0;
    if (pmix->is_eager)
        (void)rank_pmi_pmix_need(rank_pmi);
    return 0;
}

void rank_pmi_pmix_exited(struct rank_pmi *rank_pmi, uint32_t index)
{
    struct pmi_process process = {.job = rank_pmi->config.job->number,
                                  .rank = rank_pmi->ranks[index]};

    if (rank_pmi->pmix.state != SERVER_OPENING && rank_pmi->pmix.state != SERVER_OPEN)
        return;
    /* Its finalize comes before its end, and so does the end of its server. */
    pmi_node_catch_up(rank_pmi->config.pmi_node, rank_pmi_is_connected(rank_pmi, index));
    if (rank_pmi->speakers[SPEAKER_PMIX].handle != NULL)
        pmi_node_events.gone(rank_pmi->config.pmi_node, &process);
}

static void remove_directory(const struct rank_pmi *rank_pmi)
{
    char *directory = rank_pmi_directory(rank_pmi, rank_pmi->config.job->number);

    (void)session_remove_tree(directory);
    free(directory);
}

void rank_pmi_pmix_close(struct rank_pmi *rank_pmi)
{
    struct rank_pmi_pmix *pmix = &rank_pmi->pmix;

    pmi_door_close(pmix->door);
    pmix->door = NULL;
    if (pmix->state == SERVER_OPENING || pmix->state == SERVER_OPEN)
        pmi_node_close(rank_pmi->config.pmi_node, rank_pmi->config.job->number);
    if (pmix->state != SERVER_NONE)
        remove_directory(rank_pmi);
}
