/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "pmix/pmi_query.h"

#define PLACES_RANGES_MAX 65536u
/* Of what is encoded for each: no more memory is taken than the message itself has bytes for. */
#define JOB_BYTES_MIN     8u
#define APP_BYTES_MIN     4u
#define PROCESS_BYTES_MIN 6u

void pmi_query_encode(const struct pmi_query *query, struct buffer *out)
{
    assert(query->kind < PMI_QUERY_KIND_COUNT);
    wire_put_u8(out, (uint8_t)query->kind);
    wire_put_u8(out, (uint8_t)((query->is_local ? 1 : 0) | (query->with_memory ? 2 : 0)));
    wire_put_u32(out, query->job);
    wire_put_u32(out, query->rank);
    ranges_encode(&query->places, out);
    if (query->kind == PMI_QUERY_FABRIC)
        pmi_fabric_query_encode(&query->fabric, out);
}

int pmi_query_decode(struct pmi_query *ret_query, const void *data, size_t bytes)
{
    struct pmi_query query = {0};
    struct wire_reader reader;
    uint8_t flags;

    wire_reader_init(&reader, data, bytes);
    query.kind = (enum pmi_query_kind)wire_get_u8(&reader);
    flags = wire_get_u8(&reader);
    if (query.kind >= PMI_QUERY_KIND_COUNT || flags > 3)
        wire_fail(&reader);
    query.is_local = flags & 1;
    query.with_memory = (flags & 2) != 0;
    query.job = wire_get_u32(&reader);
    query.rank = wire_get_u32(&reader);
    ranges_decode(&reader, PLACES_RANGES_MAX, &query.places);
    if (query.kind == PMI_QUERY_FABRIC)
        pmi_fabric_query_decode(&reader, &query.fabric);
    if (wire_finish(&reader) < 0) {
        pmi_query_fini(&query);
        return -EBADMSG;
    }
    *ret_query = query;
    return 0;
}

/* The number of elements that follow, each of at least element_bytes. */
static uint32_t get_count(struct wire_reader *reader, size_t element_bytes)
{
    return (uint32_t)wire_get_varint_max(reader, wire_left(reader) / element_bytes);
}

/* ---- The instance and its jobs ---- */

static void put_job(const struct pmi_job_facts *job, struct buffer *out)
{
    assert(job->phase < PMI_JOB_PHASE_COUNT);
    wire_put_u32(out, job->number);
    wire_put_u8(out, (uint8_t)job->phase);
    wire_put_varint(out, job->size);
    ranges_encode(&job->places, out);
    wire_put_varint(out, job->apps_count);
    for (uint32_t i = 0; i < job->apps_count; i++) {
        wire_put_varint(out, job->apps[i].first_rank);
        wire_put_varint(out, job->apps[i].size);
        wire_put_string(out, job->apps[i].program);
        wire_put_string(out, job->apps[i].command);
    }
}

static void get_job(struct wire_reader *reader, struct pmi_job_facts *job)
{
    job->number = wire_get_u32(reader);
    job->phase = (enum pmi_job_phase)wire_get_u8(reader);
    if (job->phase >= PMI_JOB_PHASE_COUNT)
        wire_fail(reader);
    job->size = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    ranges_decode(reader, PLACES_RANGES_MAX, &job->places);
    job->apps_count = get_count(reader, APP_BYTES_MIN);
    job->apps = memory_allocate_zeroed(job->apps_count * sizeof(*job->apps));
    for (uint32_t i = 0; i < job->apps_count; i++) {
        job->apps[i].first_rank = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        job->apps[i].size = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        job->apps[i].program = wire_get_string(reader, PMI_QUERY_STRING_MAX);
        job->apps[i].command = wire_get_string(reader, PMI_QUERY_STRING_MAX);
    }
}

void pmi_instance_facts_encode(const struct pmi_instance_facts *facts, struct buffer *out)
{
    wire_put_string(out, facts->name);
    wire_put_varint(out, facts->nodes);
    wire_put_varint(out, facts->slots);
    wire_put_varint(out, facts->jobs_count);
    for (uint32_t i = 0; i < facts->jobs_count; i++)
        put_job(&facts->jobs[i], out);
}

int pmi_instance_facts_decode(struct pmi_instance_facts *ret_facts, const void *data, size_t bytes)
{
    struct pmi_instance_facts facts = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    facts.name = wire_get_string(&reader, PMI_NAMESPACE_BYTES - 16);
    facts.nodes = (uint32_t)wire_get_varint_max(&reader, UINT32_MAX);
    facts.slots = wire_get_varint(&reader);
    facts.jobs_count = get_count(&reader, JOB_BYTES_MIN);
    facts.jobs = memory_allocate_zeroed(facts.jobs_count * sizeof(*facts.jobs));
    for (uint32_t i = 0; i < facts.jobs_count; i++)
        get_job(&reader, &facts.jobs[i]);
    if (wire_finish(&reader) < 0) {
        pmi_instance_facts_fini(&facts);
        return -EBADMSG;
    }
    *ret_facts = facts;
    return 0;
}

/* ---- A node and its processes ---- */

void pmi_node_facts_encode(const struct pmi_node_facts *facts, struct buffer *out)
{
    wire_put_string(out, facts->name);
    wire_put_varint(out, facts->daemon_kib);
    wire_put_varint(out, facts->processes_count);
    for (uint32_t i = 0; i < facts->processes_count; i++) {
        const struct pmi_process_facts *process = &facts->processes[i];

        assert(process->state < PMI_PROCESS_STATE_COUNT);
        wire_put_varint(out, process->job);
        wire_put_varint(out, process->rank);
        wire_put_varint(out, process->pid);
        wire_put_u8(out, (uint8_t)process->state);
        wire_put_varint(out, process->code);
        wire_put_varint(out, process->memory_kib);
    }
}

static void get_process(struct wire_reader *reader, struct pmi_process_facts *process)
{
    process->job = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    process->rank = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    process->pid = (uint32_t)wire_get_varint_max(reader, INT32_MAX);
    process->state = (enum pmi_process_state)wire_get_u8(reader);
    if (process->state >= PMI_PROCESS_STATE_COUNT)
        wire_fail(reader);
    process->code = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    process->memory_kib = wire_get_varint(reader);
}

int pmi_node_facts_decode(struct pmi_node_facts *ret_facts, struct wire_reader *reader)
{
    struct pmi_node_facts facts = {0};

    facts.name = wire_get_string(reader, PMI_QUERY_STRING_MAX);
    facts.daemon_kib = wire_get_varint(reader);
    facts.processes_count = get_count(reader, PROCESS_BYTES_MIN);
    facts.processes = memory_allocate_zeroed(facts.processes_count * sizeof(*facts.processes));
    for (uint32_t i = 0; i < facts.processes_count; i++)
        get_process(reader, &facts.processes[i]);
    if (wire_status(reader) < 0) {
        pmi_node_facts_fini(&facts);
        return -EBADMSG;
    }
    *ret_facts = facts;
    return 0;
}
