/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request to spawn, and its answer (pmix/pmi_spawn.h): the first byte says which.  What is taken is
 * written as something that is read alike.
 */
#include "config.h"

#include "pmix/pmi_spawn.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <string.h>

static void fuzz_request(const uint8_t *data, size_t bytes)
{
    struct buffer first = {0}, second = {0};
    struct pmi_spawn spawn;

    if (pmi_spawn_decode(&spawn, data, bytes) < 0)
        return;
    pmi_spawn_encode(&spawn, &first);
    pmi_spawn_fini(&spawn);
    assert(pmi_spawn_decode(&spawn, first.data, first.length_bytes) == 0);
    pmi_spawn_encode(&spawn, &second);
    pmi_spawn_fini(&spawn);
    assert(first.length_bytes == second.length_bytes);
    assert(memcmp(first.data, second.data, first.length_bytes) == 0);
    buffer_fini(&first);
    buffer_fini(&second);
}

static void fuzz_answer(const uint8_t *data, size_t bytes)
{
    struct pmi_spawn_answer answer;
    struct buffer again = {0};

    if (pmi_spawn_answer_decode(&answer, data, bytes) < 0)
        return;
    pmi_spawn_answer_encode(&answer, &again);
    assert(pmi_spawn_answer_decode(&answer, again.data, again.length_bytes) == 0);
    buffer_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    if (data_bytes == 0)
        return 0;
    if (data[0] % 2 == 0)
        fuzz_request(data + 1, data_bytes - 1);
    else
        fuzz_answer(data + 1, data_bytes - 1);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct pmi_spawn_answer answer = {.job = 2, .processes = 3, .namespace = "n", .reason = "r"};
    struct buffer out = {0};
    struct pmi_spawn_app *app;
    struct pmi_spawn spawn;
    size_t count;

    if (number > 1)
        return 0;
    wire_put_u8(&out, (uint8_t)number);
    if (number == 0) {
        pmi_spawn_init(&spawn);
        app = pmi_spawn_add_app(&spawn, "a", NULL, NULL, 2);
        pmi_spawn_set(&app->directory, "/");
        pmi_spawn_edit(app, VARIABLE_EDIT_APPEND, "V", "v", ':');
        pmi_spawn_set(&spawn.rule.hosts, "n1");
        pmi_spawn_add_preput(&spawn, "k", "v");
        pmi_spawn_encode(&spawn, &out);
        pmi_spawn_fini(&spawn);
    } else {
        pmi_spawn_answer_encode(&answer, &out);
    }
    count = out.length_bytes;
    assert(count <= buffer_bytes);
    memcpy(buffer, out.data, count);
    buffer_fini(&out);
    return count;
}
