/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/client/instance_client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launch/cli/client/instance_dial.h"
#include "launch/cli/client/instance_search.h"
#include "launch/cli/client/instance_message.h"
#include "launch/cli/request/request.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/start/source_environment.h"

/* Nodes that are silent for --patience, by default 60 s, count as lost. */
#define ANSWER_PATIENCE_MS 90000

static int search(const char *given, char **ret_directory, struct error *error)
{
    struct source_environment *sources = source_environment_create(environ);
    char *job = source_environment_job(source_environment_ops(sources));
    int rc = instance_search(given, job, NULL, ret_directory, error);

    free(job);
    source_environment_destroy(sources);
    return rc;
}

int instance_client_open(struct instance_client *ret_client, const char *given, struct error *error)
{
    struct instance_client client = {.fd = -1};
    struct ucred peer = {.pid = 0};
    socklen_t peer_bytes = sizeof(peer);
    int rc = search(given, &client.directory, error);

    if (rc < 0)
        return rc;
    rc = instance_dial(client.directory, &client.roster, &client.fd, error);
    if (rc < 0) {
        if (given == NULL && getenv(REQUEST_INSTANCE_VARIABLE) != NULL)
            error_prefix(error, "$" REQUEST_INSTANCE_VARIABLE);
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

static int take_answer(struct wire_reader *reader, struct buffer *ret_data)
{
    struct control_answer answer;

    if (control_answer_decode(&answer, reader) < 0)
        return -EBADMSG;
    if (answer.status == 0)
        buffer_append(ret_data, answer.data.data, answer.data.length_bytes);
    return answer.status;
}

/* 1: it is neither an answer nor a refusal. */
static int take_message(const struct instance_client *client, uint8_t type,
                        const struct buffer *payload, struct buffer *ret_data, struct error *error)
{
    struct control_refused refused;
    struct wire_reader reader;
    int rc;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    if (type == CONTROL_REFUSED && control_refused_decode(&refused, &reader) == 0)
        return error_set(error, -EPROTO, "the instance at %s: %s", client->directory, refused.why);
    if (type != CONTROL_ANSWER)
        return 1;
    rc = take_answer(&reader, ret_data);
    return rc < 0 ? error_set(error, rc, "the instance at %s cannot answer: %s", client->directory,
                              strerror(-rc))
                  : 0;
}

/* The data of the answer in *ret_data; other messages are skipped. */
static int await_answer(struct instance_client *client, struct buffer *ret_data,
                        struct error *error)
{
    int rc;

    do {
        struct buffer payload = {0};
        uint8_t type = 0;

        rc = instance_message_read(client->fd, client->is_patient ? -1 : ANSWER_PATIENCE_MS, &type,
                                   &payload);
        if (rc == -ETIMEDOUT)
            error_set(error, rc, "no answer from the instance at %s within %d s", client->directory,
                      ANSWER_PATIENCE_MS / 1000);
        else if (rc < 0)
            error_set(error, rc, "no answer from the instance at %s: %s", client->directory,
                      rc == -EPIPE ? "its root has ended" : strerror(-rc));
        else
            rc = take_message(client, type, &payload, ret_data, error);
        buffer_fini(&payload);
    } while (rc > 0);
    return rc;
}

static int ask(struct instance_client *client, const struct control_request *request,
               struct buffer *ret_data, struct error *error)
{
    struct buffer payload = {0};
    int rc;

    control_request_encode(request, &payload);
    rc = instance_message_send(client->fd, CONTROL_REQUEST, &payload);
    buffer_fini(&payload);
    if (rc < 0)
        return error_set(error, rc, "no answer from the instance at %s: its root has ended",
                         client->directory);
    return await_answer(client, ret_data, error);
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

int instance_client_load(struct instance_client *client, uint32_t rows, struct load *ret_load,
                         struct error *error)
{
    const struct load_request load = {.rows = rows};
    struct control_request request = {.kind = JOB_MESSAGE_LOAD};
    struct buffer data = {0}, answer = {0};
    struct wire_reader reader;
    int rc;

    load_request_encode(&load, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    rc = ask(client, &request, &answer, error);
    buffer_fini(&data);
    wire_reader_init(&reader, answer.data, answer.length_bytes);
    if (rc == 0 && load_decode(ret_load, &reader) < 0)
        rc = error_set(error, -EBADMSG, "the answer of the instance at %s cannot be read",
                       client->directory);
    buffer_fini(&answer);
    return rc;
}

int instance_client_bench(struct instance_client *client, const struct bench_request *what,
                          struct bench_answer *ret_answer, struct error *error)
{
    struct control_request request = {.kind = JOB_MESSAGE_BENCH};
    struct buffer data = {0}, answer = {0};
    struct wire_reader reader;
    int rc;

    bench_request_encode(what, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    client->is_patient = true;
    rc = ask(client, &request, &answer, error);
    client->is_patient = false;
    buffer_fini(&data);
    wire_reader_init(&reader, answer.data, answer.length_bytes);
    if (rc == 0 && bench_answer_decode(ret_answer, &reader) < 0)
        rc = error_set(error, -EBADMSG, "the answer of the instance at %s cannot be read",
                       client->directory);
    buffer_fini(&answer);
    return rc;
}

int instance_client_stacks(struct instance_client *client, uint32_t job,
                           struct stack_fold *ret_fold, struct error *error)
{
    const struct stack_fold_request about = {.job = job};
    struct control_request request = {.kind = JOB_MESSAGE_STACKS};
    struct buffer data = {0}, answer = {0};
    struct wire_reader reader;
    int rc;

    stack_fold_request_encode(&about, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    rc = ask(client, &request, &answer, error);
    buffer_fini(&data);
    wire_reader_init(&reader, answer.data, answer.length_bytes);
    if (rc == -ENOENT)
        error_set(error, rc, "no job %u is running", job);
    if (rc == 0 && stack_fold_decode(ret_fold, &reader) < 0)
        rc = error_set(error, -EBADMSG, "the answer of the instance at %s cannot be read",
                       client->directory);
    buffer_fini(&answer);
    return rc;
}

/* The answer, of which why may say that it is a refusal. */
static int ask_nodes(struct instance_client *client, const struct node_list_request *nodes,
                     struct node_list *ret_list, struct error *error)
{
    struct control_request request = {.kind = JOB_MESSAGE_NODES};
    struct buffer data = {0}, answer = {0};
    struct wire_reader reader;
    int rc;

    node_list_request_encode(nodes, &data);
    request.data = (struct wire_bytes){.data = data.data, .length_bytes = data.length_bytes};
    client->is_patient = nodes->order == NODE_LIST_REMOVE || nodes->order == NODE_LIST_ADD;
    rc = ask(client, &request, &answer, error);
    client->is_patient = false;
    buffer_fini(&data);
    wire_reader_init(&reader, answer.data, answer.length_bytes);
    if (rc == 0 && node_list_decode(ret_list, &reader) < 0)
        rc = error_set(error, -EBADMSG, "the answer of the instance at %s cannot be read",
                       client->directory);
    buffer_fini(&answer);
    return rc;
}

int instance_client_nodes(struct instance_client *client, const struct node_list_request *nodes,
                          struct node_list *ret_list, struct error *error)
{
    int rc = ask_nodes(client, nodes, ret_list, error);

    assert(nodes->order != NODE_LIST_ADD);
    if (rc == 0 && ret_list->why[0] != '\0') {
        rc = error_set(error, -EINVAL, "%s", ret_list->why);
        node_list_fini(ret_list);
    }
    return rc;
}

int instance_client_add(struct instance_client *client, const struct allocation *nodes,
                        char why[NODE_LIST_WHY_BYTES], struct error *error)
{
    static char no_names[] = "";
    const struct node_list_request request = {
        .order = NODE_LIST_ADD, .names = no_names, .nodes = *nodes}; /* borrowed */
    struct node_list list;
    int rc = ask_nodes(client, &request, &list, error);

    if (rc < 0)
        return rc;
    memcpy(why, list.why, sizeof(list.why));
    node_list_fini(&list);
    return 0;
}

int instance_client_send(struct instance_client *client, const struct buffer *payload)
{
    return instance_message_send(client->fd, CONTROL_REQUEST, payload);
}

int instance_client_answer(struct instance_client *client, int sent, struct buffer *payload,
                           struct control_answer *ret_answer, struct error *error)
{
    struct control_refused refused;
    struct wire_reader reader;
    uint8_t type = 0;
    int rc = sent;

    while (rc == 0 && type != CONTROL_ANSWER && type != CONTROL_REFUSED) {
        buffer_clear(payload);
        rc = instance_message_read(client->fd, -1, &type, payload);
    }
    wire_reader_init(&reader, payload->data, payload->length_bytes);
    if (rc == 0 && type == CONTROL_REFUSED && control_refused_decode(&refused, &reader) == 0)
        return error_set(error, -EPROTO, "the instance at %s: %s", client->directory, refused.why);
    if (rc == 0)
        rc = control_answer_decode(ret_answer, &reader);
    if (rc == 0)
        return 0;
    return error_set(error, rc, "no answer from the instance at %s: %s", client->directory,
                     rc == -EPIPE ? "its root has ended" : strerror(-rc));
}
