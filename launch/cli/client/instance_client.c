/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/instance_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/cli/client/instance_dial.h"
#include "launch/cli/client/instance_search.h"
#include "launch/cli/client/instance_message.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"

/* Nodes that do not answer count as lost before that (--patience). */
#define ANSWER_PATIENCE_MS 90000

int instance_client_open(struct instance_client *ret_client, const char *given, struct error *error)
{
    struct instance_client client = {.fd = -1};
    struct ucred peer = {.pid = 0};
    socklen_t peer_bytes = sizeof(peer);
    int rc = instance_search(given, NULL, &client.directory, error);

    if (rc < 0)
        return rc;
    rc = instance_dial(client.directory, &client.roster, &client.fd, error);
    if (rc < 0) {
        free(client.directory);
        return rc;
    }
    if (getsockopt(client.fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) == 0)
        client.root = peer.pid;
    *ret_client = client;
    return 0;
}

void instance_client_close(struct instance_client *client)
{
    close(client->fd);
    free(client->directory);
    allocation_fini(&client->roster);
}

/* The data of the answer in *ret_data; other messages are skipped. */
static int await_answer(struct instance_client *client, struct buffer *ret_data)
{
    for (;;) {
        struct buffer payload = {0};
        struct control_answer answer;
        struct wire_reader reader;
        uint8_t type = 0;
        int rc = instance_message_read(client->fd, ANSWER_PATIENCE_MS, &type, &payload);

        wire_reader_init(&reader, payload.data, payload.length_bytes);
        if (rc == 0 && type == CONTROL_ANSWER) {
            rc = control_answer_decode(&answer, &reader);
            if (rc == 0 && answer.status == 0)
                buffer_append(ret_data, answer.data.data, answer.data.length_bytes);
            rc = rc == 0 ? answer.status : rc;
        } else if (rc == 0 && type == CONTROL_REFUSED) {
            rc = -EPROTO;
        } else if (rc == 0) {
            buffer_fini(&payload);
            continue;
        }
        buffer_fini(&payload);
        return rc;
    }
}

static int ask(struct instance_client *client, const struct control_request *request,
               struct buffer *ret_data, struct error *error)
{
    struct buffer payload = {0};
    int rc;

    control_request_encode(request, &payload);
    rc = instance_message_send(client->fd, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    if (rc == 0)
        rc = await_answer(client, ret_data);
    if (rc == -ETIMEDOUT)
        error_set(error, rc, "no answer from the instance at %s within %d s", client->directory,
                  ANSWER_PATIENCE_MS / 1000);
    else if (rc < 0 && rc != -ENOENT)
        error_set(error, rc, "no answer from the instance at %s: %s", client->directory,
                  rc == -EPIPE ? "its root has ended" : strerror(-rc));
    return rc;
}

/* places: NULL: the root. */
static int ask_query(struct instance_client *client, const struct pmi_query *query,
                     const struct ranges *places, struct buffer *ret_data, struct error *error)
{
    struct control_request request = {.kind = JOB_MESSAGE_QUERY};
    struct buffer data = {0};
    int rc;

    pmi_query_encode(query, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    if (places != NULL)
        request.places = *places; /* borrowed */
    rc = ask(client, &request, ret_data, error);
    buffer_fini(&data);
    return rc;
}

int instance_client_jobs(struct instance_client *client, struct pmi_instance_facts *ret_facts,
                         struct error *error)
{
    const struct pmi_query query = {.kind = PMI_QUERY_JOBS, .rank = PMI_RANK_ALL};
    struct buffer data = {0};
    int rc = ask_query(client, &query, NULL, &data, error);

    if (rc == 0 && pmi_instance_facts_decode(ret_facts, data.data, data.length_bytes) < 0)
        rc = error_set(error, -EBADMSG, "the answer of the instance at %s cannot be read",
                       client->directory);
    buffer_fini(&data);
    return rc;
}

int instance_client_processes(struct instance_client *client, uint32_t job,
                              const struct ranges *places, struct buffer *ret_facts,
                              struct error *error)
{
    const struct pmi_query query = {
        .kind = PMI_QUERY_PROCESSES, .job = job, .rank = PMI_RANK_ALL, .with_memory = 1};

    return ranges_is_empty(places) ? 0 : ask_query(client, &query, places, ret_facts, error);
}

int instance_client_control(struct instance_client *client, uint32_t job, uint8_t kind,
                            uint32_t signal, const struct ranges *ranks, struct error *error)
{
    struct job_control control = {.number = job, .kind = kind, .signal = signal, .ranks = *ranks};
    struct control_request request = {.kind = JOB_MESSAGE_CONTROL};
    struct buffer data = {0}, nothing = {0};
    int rc;

    snprintf(control.by, sizeof(control.by), "the user");
    job_control_encode(&control, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    rc = ask(client, &request, &nothing, error);
    buffer_fini(&nothing);
    if (rc == -ENOENT)
        error_set(error, rc,
                  ranges_is_empty(ranks) ? "no job %u is running"
                                         : "no job %u is running that has these ranks",
                  job);
    buffer_fini(&data);
    return rc;
}
