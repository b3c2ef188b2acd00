/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PMI_REQUEST_SPAWN and its answer as bytes.
 */
#include "config.h"

#include "pmix/pmi_spawn.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_strings(char *const *strings, struct buffer *out)
{
    size_t count = 0;

    while (strings[count] != NULL)
        count++;
    wire_put_varint(out, count);
    for (size_t i = 0; i < count; i++)
        wire_put_string(out, strings[i]);
}

/* Always an array that ends with NULL.  Each string takes at least a byte, so its size is bounded by
 * that of the message. */
static char **get_strings(struct wire_reader *reader)
{
    size_t count = (size_t)wire_get_varint_max(reader, PMI_SPAWN_STRINGS_MAX);
    char **strings;

    if (count > wire_left(reader)) {
        wire_fail(reader);
        count = 0;
    }
    strings = memory_allocate_zeroed((count + 1) * sizeof(*strings));
    for (size_t i = 0; i < count; i++)
        strings[i] = wire_get_string(reader, PMI_SPAWN_STRING_MAX);
    return strings;
}

static void put_rule(const struct pmi_spawn_rule *rule, struct buffer *out)
{
    wire_put_optional_string(out, rule->hosts);
    wire_put_optional_string(out, rule->map_by);
    wire_put_optional_string(out, rule->rank_by);
    wire_put_optional_string(out, rule->bind_to);
    wire_put_varint(out, rule->per_node);
    wire_put_varint(out, rule->cpus_per_process);
    wire_put_u8(out, rule->oversubscribe != 0);
    wire_put_u8(out, rule->no_oversubscribe != 0);
}

static void get_rule(struct wire_reader *reader, struct pmi_spawn_rule *ret_rule)
{
    ret_rule->hosts = wire_get_optional_string(reader, PMI_SPAWN_STRING_MAX);
    ret_rule->map_by = wire_get_optional_string(reader, PMI_SPAWN_STRING_MAX);
    ret_rule->rank_by = wire_get_optional_string(reader, PMI_SPAWN_STRING_MAX);
    ret_rule->bind_to = wire_get_optional_string(reader, PMI_SPAWN_STRING_MAX);
    ret_rule->per_node = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    ret_rule->cpus_per_process = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    ret_rule->oversubscribe = wire_get_u8(reader) != 0;
    ret_rule->no_oversubscribe = wire_get_u8(reader) != 0;
}

static void put_app(const struct pmi_spawn_app *app, struct buffer *out)
{
    assert(app->argv[0] != NULL && app->processes > 0);
    put_strings(app->argv, out);
    variable_edits_encode(&app->edits, out);
    wire_put_optional_string(out, app->directory);
    wire_put_varint(out, app->processes);
    put_rule(&app->rule, out);
}

static void get_app(struct wire_reader *reader, struct pmi_spawn_app *ret_app)
{
    ret_app->argv = get_strings(reader);
    variable_edits_decode(reader, &ret_app->edits);
    ret_app->directory = wire_get_optional_string(reader, PMI_SPAWN_STRING_MAX);
    ret_app->processes = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    get_rule(reader, &ret_app->rule);
    if (ret_app->argv[0] == NULL || ret_app->argv[0][0] == '\0' || ret_app->processes == 0)
        wire_fail(reader);
}

void pmi_spawn_encode(const struct pmi_spawn *spawn, struct buffer *out)
{
    wire_put_varint(out, spawn->apps_count);
    for (uint32_t i = 0; i < spawn->apps_count; i++)
        put_app(&spawn->apps[i], out);
    put_rule(&spawn->rule, out);
    wire_put_varint(out, spawn->start_timeout_s);
    wire_put_varint(out, spawn->run_timeout_s);
    wire_put_varint(out, spawn->stop);
    wire_put_u32(out, spawn->stdin_rank);
    wire_put_u8(out, spawn->is_recoverable != 0);
    wire_put_u8(out, spawn->report_bindings != 0);
    wire_put_optional_string(out, spawn->target.namespace);
    wire_put_u32(out, spawn->target.rank);
    wire_put_varint(out, spawn->target.per_node);
    wire_put_varint(out, spawn->target.per_process);
    wire_put_optional_string(out, spawn->tool);
    wire_put_u32(out, spawn->tool_rank);
    wire_put_varint(out, spawn->preput_count);
    for (uint32_t i = 0; i < spawn->preput_count; i++) {
        wire_put_string(out, spawn->preput[i].key);
        wire_put_string(out, spawn->preput[i].value);
    }
}

static void get_preput(struct wire_reader *reader, struct pmi_spawn *spawn)
{
    uint32_t count = (uint32_t)wire_get_varint_max(reader, wire_left(reader));

    spawn->preput = memory_allocate_zeroed((count + 1) * sizeof(*spawn->preput));
    spawn->preput_count = count;
    for (uint32_t i = 0; i < count; i++) {
        spawn->preput[i].key = wire_get_string(reader, PMI_SPAWN_STRING_MAX);
        spawn->preput[i].value = wire_get_string(reader, PMI_SPAWN_STRING_MAX);
    }
}

int pmi_spawn_decode(struct pmi_spawn *ret_spawn, const void *data, size_t bytes)
{
    struct wire_reader reader;
    uint32_t count;

    pmi_spawn_init(ret_spawn);
    wire_reader_init(&reader, data, bytes);
    count = (uint32_t)wire_get_varint_max(&reader, PMI_SPAWN_APPS_MAX);
    ret_spawn->apps = memory_allocate_zeroed((count + 1) * sizeof(*ret_spawn->apps));
    ret_spawn->apps_count = count;
    for (uint32_t i = 0; i < count; i++)
        get_app(&reader, &ret_spawn->apps[i]);
    get_rule(&reader, &ret_spawn->rule);
    ret_spawn->start_timeout_s = (uint32_t)wire_get_varint_max(&reader, UINT32_MAX);
    ret_spawn->run_timeout_s = (uint32_t)wire_get_varint_max(&reader, UINT32_MAX);
    ret_spawn->stop = (enum pmi_stop)wire_get_varint_max(&reader, PMI_STOP_COUNT - 1);
    ret_spawn->stdin_rank = wire_get_u32(&reader);
    ret_spawn->is_recoverable = wire_get_u8(&reader) != 0;
    ret_spawn->report_bindings = wire_get_u8(&reader) != 0;
    ret_spawn->target.namespace = wire_get_optional_string(&reader, PMI_NAMESPACE_BYTES - 1);
    ret_spawn->target.rank = wire_get_u32(&reader);
    ret_spawn->target.per_node = (uint32_t)wire_get_varint_max(&reader, UINT16_MAX);
    ret_spawn->target.per_process = (uint32_t)wire_get_varint_max(&reader, UINT16_MAX);
    ret_spawn->tool = wire_get_optional_string(&reader, PMI_NAMESPACE_BYTES - 1);
    ret_spawn->tool_rank = wire_get_u32(&reader);
    get_preput(&reader, ret_spawn);
    if (wire_finish(&reader) < 0 || count == 0) {
        pmi_spawn_fini(ret_spawn);
        return -EBADMSG;
    }
    return 0;
}

void pmi_spawn_answer_encode(const struct pmi_spawn_answer *answer, struct buffer *out)
{
    assert(answer->failure < PMI_SPAWN_FAILURE_COUNT);
    wire_put_u8(out, (uint8_t)answer->failure);
    wire_put_u32(out, answer->job);
    wire_put_u32(out, answer->processes);
    wire_put_string(out, answer->namespace);
    wire_put_string(out, answer->reason);
}

int pmi_spawn_answer_decode(struct pmi_spawn_answer *ret_answer, const void *data, size_t bytes)
{
    struct pmi_spawn_answer answer = {.job = 0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    answer.failure = (enum pmi_spawn_failure)wire_get_u8(&reader);
    answer.job = wire_get_u32(&reader);
    answer.processes = wire_get_u32(&reader);
    wire_get_string_into(&reader, answer.namespace, sizeof(answer.namespace));
    wire_get_string_into(&reader, answer.reason, sizeof(answer.reason));
    if (wire_finish(&reader) < 0 || answer.failure >= PMI_SPAWN_FAILURE_COUNT)
        return -EBADMSG;
    *ret_answer = answer;
    return 0;
}
