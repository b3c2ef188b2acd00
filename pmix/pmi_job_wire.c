/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job, and how a host is started, as data of a message (pmi_wire.h).
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi_wire.h"

#define TEXT_BYTES_MAX (1u << 28) /* of all ranks of a job */

/* NULL is distinct from "". */
static void put_text(const char *text, struct buffer *out)
{
    wire_put_u8(out, text != NULL);
    if (text != NULL)
        wire_put_string(out, text);
}

static char *get_text(struct wire_reader *reader)
{
    return wire_get_u8(reader) ? wire_get_string(reader, TEXT_BYTES_MAX) : NULL;
}

/* NULL after an error, whatever was sent. */
static char *get_needed(struct wire_reader *reader)
{
    char *text = get_text(reader);

    if (text == NULL)
        wire_fail(reader);
    return text;
}

static void put_u32s(const uint32_t *numbers, uint32_t count, struct buffer *out)
{
    assert(numbers != NULL || count == 0);
    for (uint32_t i = 0; i < count; i++)
        wire_put_varint(out, numbers[i]);
}

/* They take at least a byte each, which is checked before memory is allocated for them. */
static uint32_t *get_u32s(struct wire_reader *reader, uint32_t count)
{
    uint32_t *numbers = NULL;

    if (count > wire_left(reader)) {
        wire_fail(reader);
        return NULL;
    }
    numbers = memory_allocate((count + 1) * sizeof(*numbers));
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    return numbers;
}

void pmi_start_encode(const struct host_config *config, struct buffer *out)
{
    assert(config->directory != NULL && config->node_name != NULL);
    assert(config->server_namespace != NULL && config->server_namespace[0] != '\0');
    put_text(config->directory, out);
    put_text(config->node_name, out);
    put_text(config->server_namespace, out);
    wire_put_u32(out, config->server_rank);
    wire_put_u8(out, config->topology_devices != 0);
}

int pmi_start_decode(struct host_config *ret_config, const void *data, size_t bytes)
{
    struct host_config config = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    config.directory = get_needed(&reader);
    config.node_name = get_needed(&reader);
    config.server_namespace = get_needed(&reader);
    config.server_rank = wire_get_u32(&reader);
    config.topology_devices = wire_get_u8(&reader);
    if (wire_finish(&reader) < 0 || config.server_namespace[0] == '\0' ||
        strlen(config.server_namespace) >= PMI_NAMESPACE_BYTES) {
        pmi_start_fini(&config);
        return -EPROTO;
    }
    *ret_config = config;
    return 0;
}

void pmi_start_fini(struct host_config *config)
{
    free((void *)(uintptr_t)config->directory);
    free((void *)(uintptr_t)config->node_name);
    free((void *)(uintptr_t)config->server_namespace);
    *config = (struct host_config){0};
}

static void put_apps(const struct pmi_job *job, struct buffer *out)
{
    wire_put_u8(out, job->apps != NULL);
    for (uint32_t i = 0; job->apps != NULL && i < job->apps_count; i++) {
        wire_put_u32(out, job->apps[i].size);
        wire_put_u32(out, job->apps[i].first_rank);
        put_text(job->apps[i].directory, out);
        put_text(job->apps[i].arguments, out);
    }
}

static void get_apps(struct wire_reader *reader, struct pmi_job *job)
{
    struct pmi_app *apps;

    if (!wire_get_u8(reader))
        return;
    if (job->apps_count > wire_left(reader)) {
        wire_fail(reader);
        return;
    }
    apps = memory_allocate_zeroed((job->apps_count + 1) * sizeof(*apps));
    job->apps = apps;
    for (uint32_t i = 0; i < job->apps_count; i++) {
        apps[i].size = wire_get_u32(reader);
        apps[i].first_rank = wire_get_u32(reader);
        apps[i].directory = get_text(reader);
        apps[i].arguments = get_text(reader);
    }
}

static void put_bindings(const struct pmi_job *job, struct buffer *out)
{
    wire_put_u8(out, job->bindings != NULL);
    for (uint32_t i = 0; job->bindings != NULL && i < job->local_count; i++) {
        put_text(job->bindings[i].cpus, out);
        put_text(job->bindings[i].locality, out);
        wire_put_u16(out, job->bindings[i].package_rank);
    }
}

static void get_bindings(struct wire_reader *reader, struct pmi_job *job)
{
    struct pmi_binding *bindings;

    if (!wire_get_u8(reader))
        return;
    if (job->local_count > wire_left(reader)) {
        wire_fail(reader);
        return;
    }
    bindings = memory_allocate_zeroed((job->local_count + 1) * sizeof(*bindings));
    job->bindings = bindings;
    for (uint32_t i = 0; i < job->local_count; i++) {
        bindings[i].cpus = get_text(reader);
        bindings[i].locality = get_text(reader);
        bindings[i].package_rank = wire_get_u16(reader);
    }
}

static void put_ranks(const struct pmi_job *job, struct buffer *out)
{
    wire_put_u8(out, job->nodes != NULL);
    if (job->nodes == NULL)
        return;
    put_u32s(job->nodes, job->size, out);
    for (uint32_t i = 0; i < job->size; i++)
        wire_put_u16(out, job->local_numbers[i]);
}

static void get_ranks(struct wire_reader *reader, struct pmi_job *job)
{
    uint16_t *numbers;

    if (!wire_get_u8(reader))
        return;
    job->nodes = get_u32s(reader, job->size);
    if (job->size > wire_left(reader) / 2) {
        wire_fail(reader);
        return;
    }
    numbers = memory_allocate((job->size + 1) * sizeof(*numbers));
    for (uint32_t i = 0; i < job->size; i++)
        numbers[i] = wire_get_u16(reader);
    job->local_numbers = numbers;
}

void pmi_job_encode(const struct pmi_job *job, struct buffer *out)
{
    wire_put_u32(out, job->number);
    put_text(job->namespace, out);
    wire_put_u32(out, job->size);
    wire_put_u32(out, job->universe_size);
    wire_put_u32(out, job->apps_count);
    put_text(job->job_id, out);
    put_text(job->node_names, out);
    put_text(job->ranks_by_node, out);
    put_text(job->directory, out);
    wire_put_u32(out, job->node_index);
    wire_put_u32(out, job->uid);
    wire_put_u32(out, job->gid);
    wire_put_u32(out, job->local_count);
    put_u32s(job->local_ranks, job->local_count, out);
    put_u32s(job->local_apps, job->local_count, out);
    put_apps(job, out);
    put_bindings(job, out);
    put_ranks(job, out);
    wire_put_u32(out, job->slots);
    put_text(job->map_by, out);
    put_text(job->rank_by, out);
    put_text(job->bind_to, out);
    put_text(job->parent, out);
    wire_put_u32(out, job->parent_rank);
    wire_put_u8(out, (uint8_t)job->stop);
    wire_put_u8(out, job->keeps_data);
    put_text(job->target, out);
    wire_put_u32(out, job->target_rank);
}

static void get_job(struct wire_reader *reader, struct pmi_job *job)
{
    job->number = wire_get_u32(reader);
    job->namespace = get_needed(reader);
    job->size = wire_get_u32(reader);
    job->universe_size = wire_get_u32(reader);
    job->apps_count = wire_get_u32(reader);
    job->job_id = get_needed(reader);
    job->node_names = get_needed(reader);
    job->ranks_by_node = get_needed(reader);
    job->directory = get_needed(reader);
    job->node_index = wire_get_u32(reader);
    job->uid = wire_get_u32(reader);
    job->gid = wire_get_u32(reader);
    job->local_count = wire_get_u32(reader);
    job->local_ranks = get_u32s(reader, job->local_count);
    job->local_apps = get_u32s(reader, job->local_count);
    get_apps(reader, job);
    get_bindings(reader, job);
    get_ranks(reader, job);
    job->slots = wire_get_u32(reader);
    job->map_by = get_text(reader);
    job->rank_by = get_text(reader);
    job->bind_to = get_text(reader);
    job->parent = get_text(reader);
    job->parent_rank = wire_get_u32(reader);
    job->stop = (enum pmi_stop)wire_get_u8(reader);
    job->keeps_data = wire_get_u8(reader);
    job->target = get_text(reader);
    job->target_rank = wire_get_u32(reader);
}

int pmi_job_decode(struct pmi_job *ret_job, const void *data, size_t bytes)
{
    struct pmi_job job = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    get_job(&reader, &job);
    if (wire_finish(&reader) < 0 || job.number == PMI_JOB_NONE || job.local_count > job.size ||
        job.stop >= PMI_STOP_COUNT || strlen(job.namespace) >= PMI_NAMESPACE_BYTES) {
        pmi_job_fini(&job);
        return -EPROTO;
    }
    *ret_job = job;
    return 0;
}

static void free_const(const void *memory)
{
    free((void *)(uintptr_t)memory);
}

void pmi_job_fini(struct pmi_job *job)
{
    for (uint32_t i = 0; job->apps != NULL && i < job->apps_count; i++) {
        free_const(job->apps[i].directory);
        free_const(job->apps[i].arguments);
    }
    for (uint32_t i = 0; job->bindings != NULL && i < job->local_count; i++) {
        free_const(job->bindings[i].cpus);
        free_const(job->bindings[i].locality);
    }
    free_const(job->apps);
    free_const(job->bindings);
    free_const(job->namespace);
    free_const(job->job_id);
    free_const(job->node_names);
    free_const(job->ranks_by_node);
    free_const(job->directory);
    free_const(job->local_ranks);
    free_const(job->local_apps);
    free_const(job->nodes);
    free_const(job->local_numbers);
    free_const(job->map_by);
    free_const(job->rank_by);
    free_const(job->bind_to);
    free_const(job->parent);
    free_const(job->target);
    *job = (struct pmi_job){0};
}
