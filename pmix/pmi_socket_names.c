/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of services, which both protocols publish, look up and unpublish.  They are kept with those of PMIx
 * (pmi_names.h), under separate keys, since their values have another form: plain text.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi_names.h"
#include "pmix/pmi_socket_internal.h"

#define KEY_PREFIX "pmi:"

/* A client that waits for the answer. */
struct name_wait {
    uint32_t index;
    enum pmi_request_kind kind;
    char *thread; /* or NULL */
};

static void wait_free(struct name_wait *wait)
{
    free(wait->thread);
    free(wait);
}

static void answer(struct pmi_socket *socket, const struct name_wait *wait, int status,
                   const char *port)
{
    struct pmi_client *client = &socket->clients[wait->index];

    assert(wait->index < socket->local_count && status <= 0);
    if (client->state != PMI_CLIENT_CLOSED)
        client->protocol->named(socket, wait->index, wait->kind, status, port, wait->thread);
}

static void ask(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind,
                const struct pmi_names *names, uint64_t id)
{
    struct buffer data = {0};
    struct pmi_request request = {.id = id, .kind = kind};

    request.caller = pmi_socket_process(socket, index);
    pmi_names_encode(names, &data);
    request.data = data.data;
    request.data_bytes = data.length_bytes;
    /* The answer may come at once. */
    socket->ops.request(socket->ops.context, &request);
    buffer_fini(&data);
}

void pmi_socket_name(struct pmi_socket *socket, uint32_t index, enum pmi_request_kind kind,
                     const char *service, const char *port, const char *thread)
{
    struct pmi_names names = {
        .range = PMI_NAMES_SESSION, .persistence = PMI_NAMES_UNTIL_JOB_END, .count = 1};
    struct name_wait *wait = memory_allocate_zeroed(sizeof(*wait));
    char *key = memory_printf(KEY_PREFIX "%s", service);
    struct buffer keys = {0};
    uint64_t id = ++socket->last_id;

    assert(strlen(key) <= PMI_NAMES_KEY_BYTES_MAX);
    wait->index = index;
    wait->kind = kind;
    wait->thread = thread != NULL ? memory_copy_string(thread) : NULL;
    hash_map_put_u64(socket->name_waits, id, wait);
    pmi_names_key_put(&keys, key, port, port != NULL ? strlen(port) : 0);
    names.keys = (struct wire_bytes){keys.data, keys.length_bytes};
    ask(socket, index, kind, &names, id);
    buffer_fini(&keys);
    free(key);
}

/* To unpublish what is not published is an error here. */
static int removed_status(const void *data, size_t bytes)
{
    struct wire_reader reader;
    uint32_t removed;

    wire_reader_init(&reader, data, bytes);
    removed = pmi_names_removed_decode(&reader);
    return wire_finish(&reader) == 0 && removed > 0 ? 0 : -ENOENT;
}

static char *found_port(const void *data, size_t bytes)
{
    struct pmi_names_found found;
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    pmi_names_found_decode(&found, &reader);
    if (wire_finish(&reader) < 0 || found.value.length_bytes >= PMI_KVS_VALUE_BYTES ||
        (found.value.length_bytes > 0 &&
         memchr(found.value.data, '\0', found.value.length_bytes) != NULL))
        return NULL;
    return memory_printf("%.*s", (int)found.value.length_bytes, (const char *)found.value.data);
}

int pmi_socket_name_done(struct pmi_socket *socket, uint64_t id, int status, const void *data,
                         size_t bytes)
{
    struct name_wait *wait = hash_map_remove_u64(socket->name_waits, id);
    char *port = NULL;

    if (wait == NULL)
        return 0;
    assert(wait->kind <= PMI_REQUEST_UNPUBLISH && status <= 0);
    if (status == 0 && wait->kind == PMI_REQUEST_UNPUBLISH)
        status = removed_status(data, bytes);
    if (status == 0 && wait->kind == PMI_REQUEST_LOOKUP) {
        port = found_port(data, bytes);
        status = port == NULL ? -EBADMSG : 0;
    }
    answer(socket, wait, status, port);
    free(port);
    wait_free(wait);
    return 1;
}

void pmi_socket_name_close(struct pmi_socket *socket)
{
    struct name_wait *wait;
    size_t cursor = 0;

    while ((wait = hash_map_next(socket->name_waits, &cursor)) != NULL)
        wait_free(wait);
    hash_map_destroy(socket->name_waits);
}
