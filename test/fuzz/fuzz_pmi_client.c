/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/fuzz/fuzz_pmi_client.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pmix/pmi_names.h"
#include "pmix/pmi_socket.h"
#include "pmix/pmi_spawn.h"

static struct pmi_socket *asked;
static uint64_t barrier_id, request_id;

static void on_reply(void *context, uint32_t index, const void *data, size_t bytes)
{
    assert(index == 0 && bytes > 0 && memchr(data, '\0', bytes) == NULL);
}

/* What a group has lost is answered at once, as every third barrier. */
static void on_barrier(void *context, const struct pmi_collective *barrier)
{
    assert(barrier->kind == PMI_BARRIER && barrier->members_count >= 1);
    assert(barrier->name != NULL ||
           (barrier->members_count == 1 && barrier->members[0].rank == PMI_RANK_ALL));
    for (size_t i = 0; i < barrier->members_count; i++)
        assert(barrier->members[i].job == 1 &&
               (barrier->members[i].rank < 2 || barrier->members[i].rank == PMI_RANK_ALL));
    barrier_id = barrier->id;
    if (barrier->is_lost || barrier->id % 3 == 0)
        pmi_socket_events.done(asked, barrier->id, barrier->is_lost ? -ESRCH : 0, NULL, 0);
}

static void on_client(void *context, const struct pmi_process *process)
{
    assert(process->job == 1 && process->rank == 0);
}

/* Half of the requests are answered at once. */

static void on_request(void *context, const struct pmi_request *request)
{
    struct pmi_names names;
    struct wire_reader reader;
    struct pmi_spawn spawn;

    wire_reader_init(&reader, request->data, request->data_bytes);
    assert(request->kind > PMI_REQUEST_UNPUBLISH ||
           (pmi_names_decode(&names, &reader) == 0 && names.count == 1));
    assert(request->kind != PMI_REQUEST_SPAWN ||
           pmi_spawn_decode(&spawn, request->data, request->data_bytes) == 0);
    if (request->kind == PMI_REQUEST_SPAWN)
        pmi_spawn_fini(&spawn);
    request_id = request->id;
    if (request->id % 2 == 0)
        pmi_socket_events.done(asked, request->id, -ENOENT, NULL, 0);
}

static void on_abort(void *context, uint64_t id, const struct pmi_process *caller, int status,
                     const char *message, const struct pmi_process *targets, size_t targets_count)
{
    assert(strlen(message) < 2000);
}

void fuzz_pmi_client(const char *first, const uint8_t *data, size_t data_bytes)
{
    const struct pmi_ops ops = {.connected = on_client,
                                .finalized = on_client,
                                .collective = on_barrier,
                                .abort = on_abort,
                                .request = on_request};
    const uint32_t zero = 0;
    const struct pmi_socket_config config = {
        .job = 1,
        .kvs_name = "job",
        .size = 2,
        .universe_size = 2,
        .local_count = 1,
        .local_ranks = &zero,
        .local_apps = &zero,
        .process_mapping = "(vector,(0,2,1))",
        .ops = &ops,
        .reply = on_reply,
    };
    struct pmi_socket *socket = pmi_socket_create(&config);
    const uint8_t *end = data + data_bytes;
    int rc;

    asked = socket;
    request_id = 0;
    rc = pmi_socket_input(socket, 0, first, strlen(first), NULL);
    while (data < end && rc == 0) {
        size_t bytes = *data++ % 32;

        if (bytes == 0) {
            pmi_socket_events.done(socket, request_id, 0, data, (size_t)(end - data));
            pmi_socket_events.done(socket, barrier_id, 0, data, (size_t)(end - data));
        }
        if (bytes > (size_t)(end - data))
            bytes = (size_t)(end - data);
        rc = pmi_socket_input(socket, 0, data, bytes, NULL);
        data += bytes;
    }
    pmi_socket_closed(socket, 0);
    pmi_socket_destroy(socket);
}

size_t fuzz_pmi_pieces(const char *const *texts, size_t count, uint8_t *buffer, size_t buffer_bytes)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        for (const char *from = texts[i]; *from != '\0';) {
            size_t bytes = strnlen(from, 31);

            assert(used + bytes + 1 + 5 < buffer_bytes);
            buffer[used++] = (uint8_t)bytes;
            memcpy(buffer + used, from, bytes);
            used += bytes;
            from += bytes;
        }
    }
    memcpy(buffer + used, "\0\1k\1v", 5);
    return used + 5;
}
