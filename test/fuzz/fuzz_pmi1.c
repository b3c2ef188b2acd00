/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMI-1 server: the input is what a client says, in pieces of up to 31 bytes; a zero byte between
 * two pieces ends a barrier with the rest of the input as the other nodes' data.
 */
#include "config.h"

#include "pmix/pmi1.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static void on_reply(void *context, uint32_t index, const void *data, size_t bytes)
{
    assert(index == 0 && bytes > 0 && memchr(data, '\n', bytes) == (const char *)data + bytes - 1);
}

static void on_barrier(void *context, const void *data, size_t bytes)
{
}

static void on_client(void *context, uint32_t index)
{
}

static void on_refused(void *context, uint32_t index, const char *what)
{
    assert(strlen(what) > 0);
}

static void on_abort(void *context, uint32_t index, int status, const char *message)
{
    assert(strlen(message) < 2000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    const struct pmi1_world world = {NULL,      on_reply, on_barrier, on_client,
                                     on_client, on_abort, on_refused};
    const uint32_t zero = 0;
    const struct pmi1_config config = {
        .kvs_name = "job",
        .size = 2,
        .universe_size = 2,
        .local_count = 1,
        .local_ranks = &zero,
        .local_apps = &zero,
        .process_mapping = "(vector,(0,2,1))",
        .world = &world,
    };
    struct pmi1_server *server = pmi1_create(&config);
    const uint8_t *end = data + data_bytes;
    int rc = 0;

    while (data < end && rc == 0) {
        size_t bytes = *data++ % 32;

        if (bytes == 0)
            pmi1_barrier_done(server, 0, data, (size_t)(end - data));
        if (bytes > (size_t)(end - data))
            bytes = (size_t)(end - data);
        rc = pmi1_input(server, 0, data, bytes, NULL);
        data += bytes;
    }
    pmi1_closed(server, 0);
    pmi1_destroy(server);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const lines[] = {
        "cmd=init pmi_version=1 pmi_subversion=1\n",
        "cmd=put kvsname=job key=k value=v\n",
        "cmd=get kvsname=job key=k\n",
        "mcmd=spawn\ntotspawns=1\nendcmd\n",
        "cmd=barrier_in\n",
    };
    size_t count = 0;

    if (number > 0)
        return 0;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        for (const char *from = lines[i]; *from != '\0';) {
            size_t bytes = strnlen(from, 31);

            assert(count + bytes + 1 < buffer_bytes);
            buffer[count++] = (uint8_t)bytes;
            memcpy(buffer + count, from, bytes);
            count += bytes;
            from += bytes;
        }
    }
    memcpy(buffer + count, "\0\1k\1v", 5);
    return count + 5;
}
