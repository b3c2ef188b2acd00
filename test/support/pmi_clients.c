/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/pmi_clients.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pmix/pmi_names.h"
#include "test/support/tap.h"

void pmi_clients_done(struct pmi_clients *node, int status, const void *data, size_t bytes)
{
    pmi_socket_events.done(node->socket, node->barrier_id, status, data, bytes);
}

static void on_reply(void *context, uint32_t index, const void *data, size_t bytes)
{
    buffer_append(&((struct pmi_clients *)context)->replies[index], data, bytes);
}

static void print_group(const struct pmi_collective *barrier, char *text, size_t text_bytes)
{
    struct buffer out = {0};

    buffer_printf(&out, "%s", barrier->name);
    for (size_t i = 0; i < barrier->members_count; i++)
        buffer_printf(&out, "%c%d", i > 0 ? ',' : ' ', (int)barrier->members[i].rank);
    buffer_append_string(&out, barrier->is_lost ? " lost" : "");
    snprintf(text, text_bytes, "%s", buffer_string(&out));
    buffer_fini(&out);
}

static void on_barrier(void *context, const struct pmi_collective *barrier)
{
    struct pmi_clients *node = context;

    if (barrier->kind == PMI_BARRIER && barrier->name != NULL)
        print_group(barrier, node->group, sizeof(node->group));
    else
        node->barriers += barrier->kind == PMI_BARRIER && barrier->members_count == 1 &&
                          barrier->members[0].job == PMI_CLIENTS_JOB &&
                          barrier->members[0].rank == PMI_RANK_ALL;
    node->barrier_id = barrier->id;
    buffer_clear(&node->puts);
    buffer_append(&node->puts, barrier->data, barrier->data_bytes);
    if (barrier->is_lost)
        pmi_clients_done(node, -ESRCH, NULL, 0);
    else if (node->done_at_once)
        pmi_clients_done(node, 0, barrier->data, barrier->data_bytes);
}

static void on_connected(void *context, const struct pmi_process *process)
{
    ((struct pmi_clients *)context)->connected += process->job == PMI_CLIENTS_JOB;
}

static void on_finalized(void *context, const struct pmi_process *process)
{
    ((struct pmi_clients *)context)->finalized += process->job == PMI_CLIENTS_JOB;
}

static void on_request(void *context, const struct pmi_request *request)
{
    struct pmi_clients *node = context;

    node->asked = *request;
    buffer_clear(&node->asked_data);
    buffer_append(&node->asked_data, request->data, request->data_bytes);
}

const char *pmi_clients_asked(const struct pmi_clients *node)
{
    static const char *const kinds[] = {"publish", "lookup", "unpublish"};
    static char text[256];
    struct wire_bytes key, value;
    struct wire_reader reader;
    struct pmi_names names;

    wire_reader_init(&reader, node->asked_data.data, node->asked_data.length_bytes);
    if (node->asked.kind > PMI_REQUEST_UNPUBLISH || pmi_names_decode(&names, &reader) < 0 ||
        names.count != 1 || node->asked.caller.job != PMI_CLIENTS_JOB)
        return "no name";
    wire_reader_init(&reader, names.keys.data, names.keys.length_bytes);
    pmi_names_key_get(&reader, &key, &value);
    snprintf(text, sizeof(text), "%s %.*s %.*s", kinds[node->asked.kind], (int)key.length_bytes,
             (const char *)key.data, (int)value.length_bytes, (const char *)value.data);
    return text;
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *message, const struct pmi_process *targets, size_t targets_count)
{
    struct pmi_clients *node = context;

    node->aborts += id == 0 && caller->job == PMI_CLIENTS_JOB && targets_count == 0;
    node->abort_status = status;
    snprintf(node->abort_message, sizeof(node->abort_message), "%s", message);
}

void pmi_clients_init(struct pmi_clients *node, uint32_t first_rank, const char *mapping)
{
    struct pmi_ops ops = {.context = node,
                          .connected = on_connected,
                          .finalized = on_finalized,
                          .collective = on_barrier,
                          .abort = on_abort,
                          .request = on_request};
    uint32_t ranks[PMI_CLIENTS] = {first_rank, first_rank + 1}, apps[PMI_CLIENTS] = {0, 3};
    struct pmi_socket_config config = {
        .job = PMI_CLIENTS_JOB,
        .kvs_name = "job",
        .size = 4,
        .universe_size = 16,
        .local_count = PMI_CLIENTS,
        .local_ranks = ranks,
        .local_apps = apps,
        .process_mapping = mapping,
        .ops = &ops,
        .reply = on_reply,
    };

    memset(node, 0, sizeof(*node));
    node->socket = pmi_socket_create(&config);
}

void pmi_clients_fini(struct pmi_clients *node)
{
    pmi_socket_destroy(node->socket);
    buffer_fini(&node->puts);
    buffer_fini(&node->asked_data);
    for (int i = 0; i < PMI_CLIENTS; i++)
        buffer_fini(&node->replies[i]);
}

const char *pmi_clients_say(struct pmi_clients *node, uint32_t index, const char *text)
{
    struct error error = ERROR_NONE;

    buffer_clear(&node->replies[index]);
    if (pmi_socket_input(node->socket, index, text, strlen(text), &error) < 0)
        return "refused";
    return buffer_string(&node->replies[index]);
}

const char *pmi_clients_refusal(struct pmi_clients *node, uint32_t index, const char *text)
{
    static struct error error;

    error = ERROR_NONE;
    is_int(pmi_socket_input(node->socket, index, text, strlen(text), &error), -EPROTO, "-EPROTO");
    return error.text;
}
