/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job and the node's PMIx server: the socket on which its clients arrive, and what happens when
 * the job needs the server, and when the server dies.
 */
#include "config.h"

#include "launch/rank/services.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/rank/services_internal.h"
#include "pmix/host_environment.h"

/* Statuses of libpmix's server, versions 4 and 5; sent to a client instead of a greeting. */
#define REFUSED_NOT_FOUND     (-46)
#define REFUSED_NOT_SUPPORTED (-47)

/* Reports a failure once; one that concerns a single job is not reported to others. */
static void fail(struct services *services, const struct error *why)
{
    struct services_pmix *pmix = &services->pmix;

    assert(why->code < 0);
    if (pmix->state == SERVER_LOST)
        return;
    pmix->state = SERVER_LOST;
    services->speakers[SPEAKER_PMIX].handle = NULL;
    services->world.failed(services->world.context, why); /* which ends the job, and perhaps us */
}

/* A small job that never calls libpmix does not pay for it. */
int services_pmix_need(struct services *services)
{
    struct services_pmix *pmix = &services->pmix;
    struct error error = ERROR_NONE;

    if (pmix->state == SERVER_NONE && pmix->door != NULL) {
        pmix->state = SERVER_OPENING;
        services->speakers[SPEAKER_PMIX].handle = services->config.pmi_node;
        if (services_job_open(services, &error) < 0)
            fail(services, &error);
    }
    return pmix->state == SERVER_OPENING || pmix->state == SERVER_OPEN ? 0 : -ENOTCONN;
}

void services_pmix_opened(struct services *services, int status, const char *why, int32_t pid)
{
    struct services_pmix *pmix = &services->pmix;
    struct error error = ERROR_NONE;

    if (pmix->state != SERVER_OPENING)
        return;
    if (status < 0) {
        error_set(&error, status, "%s", why);
        fail(services, &error);
        return;
    }
    pmix->state = SERVER_OPEN;
    pmix->pid = pid;
    services->world.ready(services->world.context);
}

void services_pmix_lost(struct services *services, const char *why)
{
    struct error error = ERROR_NONE;

    error_set(&error, -EPIPE, "%s", why);
    fail(services, &error);
}

int services_must_wait(const struct services *services)
{
    const struct services_pmix *pmix = &services->pmix;

    return pmix->is_eager && pmix->state == SERVER_OPENING;
}

int services_have_failed(const struct services *services)
{
    return services->pmix.state == SERVER_LOST;
}

/* The first answer of libpmix's server is a status, which PMIx_Init returns in the client. */
static void refuse(int fd, int32_t status)
{
    uint32_t answer = htonl((uint32_t)status);

    (void)!send(fd, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

/* From now on it is a client that must finalize, unless the server rejects it: it may exit before
 * the server has answered. */
static void admit(struct services *services, int fd, uint32_t rank, const void *message,
                  size_t message_bytes)
{
    struct pmi_process process = {.job = services->config.job->number, .rank = rank};
    struct client *client = &services->clients[services_local_index(services, rank)];

    assert(client->index < services->config.job->count);
    if (client->state[SPEAKER_PMIX] == CLIENT_NEVER)
        client->state[SPEAKER_PMIX] = CLIENT_CONNECTED;
    pmi_node_admit(services->config.pmi_node, fd, &process, message, message_bytes);
}

/* A client has sent who it is; the server is started for the first one admitted. */
static void client_arrived(void *context, int fd, const struct hello *hello, const void *message,
                           size_t message_bytes)
{
    struct services *services = context;

    if (!hello->is_client)
        refuse(fd, REFUSED_NOT_SUPPORTED);
    else if (strcmp(hello->namespace, services->namespace) != 0 ||
             services_local_index(services, hello->rank) < 0)
        refuse(fd, REFUSED_NOT_FOUND);
    else if (services_pmix_need(services) < 0)
        close(fd);
    else
        admit(services, fd, hello->rank, message, message_bytes);
}

int services_pmix_open(struct services *services, struct error *error)
{
    struct services_pmix *pmix = &services->pmix;

    pmix->door = door_open(services->config.loop, client_arrived, services, &pmix->port, error);
    if (pmix->door == NULL)
        return error->code;
    pmix->is_eager = host_environment_is_eager(services->config.job->map.processes,
                                               services->config.job->count) != 0;
    if (pmix->is_eager)
        (void)services_pmix_need(services);
    return 0;
}

void services_pmix_exited(struct services *services, uint32_t index)
{
    struct pmi_process process = {.job = services->config.job->number,
                                  .rank = services->ranks[index]};

    if (services->pmix.state != SERVER_OPENING && services->pmix.state != SERVER_OPEN)
        return;
    pmi_node_catch_up(services->config.pmi_node); /* its finalize comes before its end */
    if (services->speakers[SPEAKER_PMIX].handle != NULL)
        pmi_node_events.gone(services->config.pmi_node, &process);
}

void services_pmix_close(struct services *services)
{
    struct services_pmix *pmix = &services->pmix;

    door_close(pmix->door);
    pmix->door = NULL;
    if (pmix->state == SERVER_OPENING || pmix->state == SERVER_OPEN)
        pmi_node_close(services->config.pmi_node, services->config.job->number);
}
