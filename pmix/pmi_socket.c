/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_socket.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi_socket_internal.h"

struct pmi_process pmi_socket_process(const struct pmi_socket *socket, uint32_t index)
{
    assert(index < socket->local_count);
    return (struct pmi_process){.job = socket->job, .rank = socket->local_ranks[index]};
}

void pmi_socket_connected(struct pmi_socket *socket, uint32_t index)
{
    struct pmi_process process = pmi_socket_process(socket, index);

    assert(socket->clients[index].state == PMI_CLIENT_NEW);
    socket->clients[index].state = PMI_CLIENT_READY;
    socket->ops.connected(socket->ops.context, &process);
}

static void on_done(void *speaker, uint64_t id, int status, const void *data, size_t bytes)
{
    struct pmi_socket *socket = speaker;

    if (!pmi_socket_barrier_done(socket, id, status, data, bytes) &&
        !pmi_socket_name_done(socket, id, status, data, bytes))
        (void)pmi_socket_spawn_done(socket, id, status, data, bytes);
}

const struct pmi_events pmi_socket_events = {.done = on_done};

/* ---- input and end ---- */

void pmi_socket_finalized(struct pmi_socket *socket, uint32_t index)
{
    struct pmi_process process = pmi_socket_process(socket, index);

    assert(socket->clients[index].state == PMI_CLIENT_READY);
    socket->clients[index].state = PMI_CLIENT_FINALIZED;
    socket->ops.finalized(socket->ops.context, &process);
    pmi_socket_barrier_ended(socket, index);
}

int pmi_socket_input(struct pmi_socket *socket, uint32_t local_index, const void *data,
                     size_t bytes, struct error *error)
{
    struct pmi_client *client = &socket->clients[local_index];
    int rc = 0;

    assert(local_index < socket->local_count);
    buffer_append(&client->input, data, bytes);
    while (rc == 0) {
        ssize_t message_bytes = client->protocol->cut(&client->input, error);
        char *message;

        if (message_bytes <= 0)
            return (int)message_bytes;
        message = memory_printf("%.*s", (int)message_bytes, (const char *)client->input.data);
        buffer_consume(&client->input, (size_t)message_bytes);
        rc = client->protocol->run(socket, local_index, message, error);
        free(message);
    }
    return rc;
}

int pmi_socket_closed(struct pmi_socket *socket, uint32_t local_index)
{
    struct pmi_client *client = &socket->clients[local_index];
    int is_abnormal = client->state != PMI_CLIENT_NEW && client->state < PMI_CLIENT_FINALIZED;

    assert(local_index < socket->local_count);
    client->state = PMI_CLIENT_CLOSED;
    pmi2_forget(socket, local_index);
    pmi_socket_spawn_forget(socket, local_index);
    pmi_socket_barrier_ended(socket, local_index);
    return is_abnormal;
}

/* ---- life ---- */

/* Of a request whose limits were another's. */
static void preput(struct pmi_socket *socket, const char *key, const char *value)
{
    if (key[0] != '\0' && strlen(key) < PMI_KVS_KEY_BYTES && strlen(value) < PMI_KVS_VALUE_BYTES)
        pmi_kvs_preset(socket->kvs, key, value);
}

struct pmi_socket *pmi_socket_create(const struct pmi_socket_config *config)
{
    struct pmi_socket *socket = memory_allocate_zeroed(sizeof(*socket));

    assert(strlen(config->kvs_name) < PMI_KVS_NAME_BYTES);
    socket->ops = *config->ops;
    socket->reply = config->reply;
    socket->job = config->job;
    socket->kvs_name = memory_copy_string(config->kvs_name);
    socket->size = config->size;
    socket->universe_size = config->universe_size;
    socket->local_count = config->local_count;
    socket->local_ranks =
        memory_copy(config->local_ranks, config->local_count * sizeof(*config->local_ranks));
    socket->local_apps =
        memory_copy(config->local_apps, config->local_count * sizeof(*config->local_apps));
    socket->clients = memory_allocate_zeroed(config->local_count * sizeof(*socket->clients));
    for (uint32_t i = 0; i < config->local_count; i++)
        socket->clients[i].protocol = &pmi1_protocol;
    socket->kvs = pmi_kvs_create();
    pmi_socket_barrier_open(socket);
    socket->attributes = hash_map_create();
    list_init(&socket->attribute_waits);
    socket->name_waits = hash_map_create();
    list_init(&socket->spawn_waits);
    if (config->process_mapping != NULL && config->process_mapping[0] != '\0')
        pmi_kvs_preset(socket->kvs, "PMI_process_mapping", config->process_mapping);
    for (uint32_t i = 0; i < config->preput_count; i++)
        preput(socket, config->preput[i].key, config->preput[i].value);
    if (config->spawner != NULL)
        socket->spawner = memory_copy_string(config->spawner);
    return socket;
}

void pmi_socket_destroy(struct pmi_socket *socket)
{
    size_t cursor = 0;
    void *value;

    if (socket == NULL)
        return;
    for (uint32_t i = 0; i < socket->local_count; i++) {
        pmi2_forget(socket, i);
        pmi_socket_spawn_forget(socket, i);
        buffer_fini(&socket->clients[i].input);
    }
    while ((value = hash_map_next(socket->attributes, &cursor)) != NULL)
        free(value);
    hash_map_destroy(socket->attributes);
    pmi_socket_name_close(socket);
    pmi_socket_barrier_close(socket);
    pmi_kvs_destroy(socket->kvs);
    free(socket->clients);
    free(socket->local_ranks);
    free(socket->local_apps);
    free(socket->kvs_name);
    free(socket->spawner);
    free(socket);
}

void pmi_socket_mapping(const struct pmi_socket_run *runs, size_t runs_count, struct buffer *out)
{
    struct buffer text = {0};

    buffer_append_string(&text, "(vector");
    for (size_t i = 0; i < runs_count && text.length_bytes < PMI_KVS_VALUE_BYTES; i++)
        buffer_printf(&text, ",(%u,%u,%u)", runs[i].first_node, runs[i].nodes,
                      runs[i].ranks_per_node);
    buffer_append_string(&text, ")");
    if (runs_count > 0 && text.length_bytes < PMI_KVS_VALUE_BYTES)
        buffer_append(out, text.data, text.length_bytes);
    buffer_fini(&text);
}
