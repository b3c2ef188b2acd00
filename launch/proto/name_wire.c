/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/name.h"

#include <assert.h>
#include <errno.h>

#include "launch/proto/job_wire.h"
#include "pmix/pmi.h"

#define MEMBERS_BYTES_MAX (16u << 20)

static void put(struct buffer *out, const struct wire_bytes *bytes)
{
    wire_put_bytes(out, bytes->data, bytes->length_bytes);
}

void name_record_encode(const struct name_record *record, struct buffer *out)
{
    assert(record->key.length_bytes > 0 && record->key.length_bytes <= PMI_NAMES_KEY_BYTES_MAX);
    wire_put_u8(out, (uint8_t)record->verb);
    wire_put_u8(out, (uint8_t)record->range);
    wire_put_u8(out, (uint8_t)record->persistence);
    wire_put_u8(out, record->may_replace);
    wire_put_u32(out, record->place);
    wire_put_u32(out, record->job);
    wire_put_u32(out, record->rank);
    wire_put_u64(out, record->serial);
    put(out, &record->namespace);
    put(out, &record->key);
    put(out, &record->members);
    put(out, &record->value);
}

void name_record_decode(struct name_record *ret_record, struct wire_reader *reader)
{
    uint8_t verb = wire_get_u8(reader), range = wire_get_u8(reader);
    uint8_t persistence = wire_get_u8(reader), may_replace = wire_get_u8(reader);
    struct name_record record = {.may_replace = may_replace};

    record.place = wire_get_u32(reader);
    record.job = wire_get_u32(reader);
    record.rank = wire_get_u32(reader);
    record.serial = wire_get_u64(reader);
    record.namespace = wire_get_bytes(reader, PMI_NAMESPACE_BYTES - 1);
    record.key = wire_get_bytes(reader, PMI_NAMES_KEY_BYTES_MAX);
    record.members = wire_get_bytes(reader, MEMBERS_BYTES_MAX);
    record.value = wire_get_bytes(reader, PMI_NAMES_VALUE_BYTES_MAX);
    if (verb >= NAME_VERB_COUNT || range >= PMI_NAMES_RANGE_COUNT ||
        persistence >= PMI_NAMES_PERSISTENCE_COUNT || may_replace > 1 ||
        record.key.length_bytes == 0)
        wire_fail(reader);
    if (wire_status(reader) < 0)
        return;
    record.verb = (enum name_verb)verb;
    record.range = (enum pmi_names_range)range;
    record.persistence = (enum pmi_names_persistence)persistence;
    *ret_record = record;
}

void name_ask_encode(const struct name_record *record, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_NAME);
    name_record_encode(record, out);
}

int name_ask_decode(struct name_record *ret_record, struct wire_reader *reader)
{
    name_record_decode(ret_record, reader);
    return wire_finish(reader);
}

void name_watch_encode(uint32_t job, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_NAME_WATCH);
    wire_put_u32(out, job);
}

int name_watch_decode(uint32_t *ret_job, struct wire_reader *reader)
{
    *ret_job = wire_get_u32(reader);
    return wire_finish(reader);
}

void name_copy_encode(uint64_t batch, const void *records, size_t records_bytes, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_NAME_COPY);
    wire_put_u64(out, batch);
    buffer_append(out, records, records_bytes);
}

uint64_t name_copy_decode(struct wire_reader *reader)
{
    return wire_get_u64(reader);
}

void name_request_encode(const struct name_request *request, const void *data, size_t data_bytes,
                         struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_NAMES);
    wire_put_u8(out, (uint8_t)request->verb);
    wire_put_u32(out, request->job);
    wire_put_u32(out, request->rank);
    wire_put_u32(out, request->timeout_ms);
    put(out, &request->namespace);
    buffer_append(out, data, data_bytes);
}

int name_request_decode(struct name_request *ret_request, struct wire_reader *reader)
{
    uint8_t verb = wire_get_u8(reader);
    struct name_request request = {.verb = NAME_PUBLISH};

    request.job = wire_get_u32(reader);
    request.rank = wire_get_u32(reader);
    request.timeout_ms = wire_get_u32(reader);
    request.namespace = wire_get_bytes(reader, PMI_NAMESPACE_BYTES - 1);
    if (verb != NAME_PUBLISH && verb != NAME_LOOKUP && verb != NAME_UNPUBLISH)
        wire_fail(reader);
    if (wire_status(reader) < 0 || pmi_names_decode(&request.names, reader) < 0)
        return -EBADMSG;
    request.verb = (enum name_verb)verb;
    *ret_request = request;
    return 0;
}

void name_answer_encode(int status, const struct buffer *data, struct buffer *out)
{
    assert(status <= 0);
    wire_put_u32(out, (uint32_t)status);
    if (data != NULL)
        buffer_append(out, data->data, data->length_bytes);
}

int name_answer_decode(int status, struct wire_reader *reader)
{
    return job_reply_decode(status, reader);
}

void name_value_encode(const struct name_record *record, struct buffer *out)
{
    struct pmi_names_found found = {
        .namespace = record->namespace, .rank = record->rank, .value = record->value};

    pmi_names_found_encode(&found, out);
}

int name_value_decode(struct pmi_names_found *ret_found, struct wire_reader *reader)
{
    pmi_names_found_decode(ret_found, reader);
    return wire_finish(reader);
}
