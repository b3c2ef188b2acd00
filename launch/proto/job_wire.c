/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/job_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/proto/job_spec.h"
#include "launch/proto/profile.h"
#include "overlay/overlay_wire.h"

/* More than all buckets of all phases take. */
#define JOB_ENDED_PROFILE_BYTES_MAX 32768u

#define JOB_RANGES_MAX 65536u
#define JOB_SIGNAL_MAX 64u

void job_failure_encode(const struct job_failure *failure, struct buffer *out)
{
    assert(failure->kind < JOB_FAILURE_COUNT && failure->step < START_STEP_COUNT);
    wire_put_u8(out, failure->kind);
    if (failure->kind == JOB_FAILURE_NONE)
        return;
    wire_put_u32(out, failure->number);
    wire_put_u32(out, failure->rank);
    wire_put_u32(out, failure->place);
    wire_put_u32(out, (uint32_t)failure->code);
    wire_put_u8(out, failure->step);
    wire_put_string(out, failure->detail);
}

void job_failure_decode(struct wire_reader *reader, struct job_failure *ret_failure)
{
    struct job_failure failure = {0};

    failure.kind = wire_get_u8(reader);
    if (failure.kind >= JOB_FAILURE_COUNT)
        wire_fail(reader);
    if (failure.kind != JOB_FAILURE_NONE) {
        failure.number = wire_get_u32(reader);
        failure.rank = wire_get_u32(reader);
        failure.place = wire_get_u32(reader);
        failure.code = (int32_t)wire_get_u32(reader);
        failure.step = wire_get_u8(reader);
        if (failure.step >= START_STEP_COUNT)
            wire_fail(reader);
        wire_get_string_into(reader, failure.detail, sizeof failure.detail);
    }
    if (wire_status(reader) == 0)
        *ret_failure = failure;
}

static int failed_by_itself(const struct job_failure *failure)
{
    return failure->kind == JOB_FAILURE_EXIT || failure->kind == JOB_FAILURE_SIGNAL;
}

void job_restarted_encode(const struct job_restarted *message, struct buffer *out)
{
    assert(failed_by_itself(&message->failure));
    assert(message->count > 0 && ranges_contains(&message->ranks, message->failure.rank));
    wire_put_u8(out, JOB_MESSAGE_RESTARTED);
    job_failure_encode(&message->failure, out);
    wire_put_varint(out, message->count);
    wire_put_varint(out, message->delay_ms);
    ranges_encode(&message->ranks, out);
}

int job_restarted_decode(struct job_restarted *ret_message, struct wire_reader *reader)
{
    struct job_restarted message = {0};

    job_failure_decode(reader, &message.failure);
    message.count = (uint32_t)wire_get_varint_max(reader, JOB_RESTARTS_MAX);
    message.delay_ms = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
    ranges_decode(reader, JOB_RANGES_MAX, &message.ranks);
    if (wire_finish(reader) < 0 || !failed_by_itself(&message.failure) || message.count == 0 ||
        !ranges_contains(&message.ranks, message.failure.rank)) {
        ranges_fini(&message.ranks);
        *ret_message = (struct job_restarted){0};
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

void job_launched_encode(const struct job_launched *message, struct buffer *out)
{
    wire_put_u32(out, message->processes);
    wire_put_u64(out, message->hash);
    job_failure_encode(&message->failure, out);
}

int job_launched_decode(struct job_launched *ret_message, const void *data, size_t bytes)
{
    struct job_launched message = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    message.processes = wire_get_u32(&reader);
    message.hash = wire_get_u64(&reader);
    job_failure_decode(&reader, &message.failure);
    if (wire_finish(&reader) < 0)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void job_ended_encode(const struct job_ended *message, struct buffer *out)
{
    wire_put_u32(out, message->processes);
    wire_put_u32(out, message->status);
    wire_put_u64(out, message->output_bytes);
    job_failure_encode(&message->failure, out);
    job_failure_encode(&message->highest, out);
    wire_put_bytes(out, message->profile.data, message->profile.length_bytes);
    wire_put_u8(out, message->usage != NULL);
    if (message->usage != NULL)
        usage_encode(message->usage, out);
}

void job_ended_fini(struct job_ended *message)
{
    free(message->usage);
    message->usage = NULL;
}

static struct usage *get_usage(struct wire_reader *reader)
{
    uint8_t is_there = wire_get_u8(reader);
    struct usage *usage;

    if (is_there > 1)
        wire_fail(reader);
    if (wire_status(reader) < 0 || !is_there)
        return NULL;
    usage = memory_allocate(sizeof(*usage));
    usage_decode(reader, usage);
    return usage;
}

int job_ended_decode(struct job_ended *ret_message, const void *data, size_t bytes)
{
    struct job_ended message = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    message.processes = wire_get_u32(&reader);
    message.status = wire_get_u32(&reader);
    message.output_bytes = wire_get_u64(&reader);
    job_failure_decode(&reader, &message.failure);
    job_failure_decode(&reader, &message.highest);
    message.profile = wire_get_bytes(&reader, JOB_ENDED_PROFILE_BYTES_MAX);
    message.usage = get_usage(&reader);
    if (wire_finish(&reader) < 0) {
        job_ended_fini(&message);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

struct message *job_map_message(uint32_t number)
{
    struct buffer payload = {0};
    struct message *message;

    wire_put_u8(&payload, JOB_MESSAGE_MAP);
    wire_put_u32(&payload, number);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

void job_spawned_encode(const struct job_spawned *message, struct buffer *out)
{
    assert(message->failure < JOB_SPAWN_FAILURE_COUNT);
    wire_put_u8(out, message->failure);
    wire_put_u32(out, message->number);
    wire_put_u32(out, message->processes);
    wire_put_string(out, message->reason);
}

int job_spawned_decode(struct job_spawned *ret_message, const void *data, size_t bytes)
{
    struct job_spawned message = {.number = 0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    message.failure = wire_get_u8(&reader);
    message.number = wire_get_u32(&reader);
    message.processes = wire_get_u32(&reader);
    wire_get_string_into(&reader, message.reason, sizeof(message.reason));
    if (wire_finish(&reader) < 0 || message.failure >= JOB_SPAWN_FAILURE_COUNT)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void job_text_encode(uint32_t number, uint8_t level, const char *text, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_TEXT);
    wire_put_u32(out, number);
    wire_put_u8(out, level);
    wire_put_string(out, text);
}

int job_text_decode(struct wire_reader *reader, uint32_t *ret_number, uint8_t *ret_level,
                    char **ret_text)
{
    *ret_number = wire_get_u32(reader);
    *ret_level = wire_get_u8(reader);
    *ret_text = wire_get_string(reader, UINT16_MAX);
    return wire_finish(reader);
}

void job_control_encode(const struct job_control *message, struct buffer *out)
{
    assert(message->kind < JOB_CONTROL_COUNT);
    wire_put_u32(out, message->number);
    wire_put_u8(out, message->kind);
    wire_put_u32(out, message->signal);
    ranges_encode(&message->ranks, out);
    wire_put_string(out, message->by);
}

int job_control_decode(struct job_control *ret_message, struct wire_reader *reader)
{
    struct job_control message = {.number = wire_get_u32(reader)};

    message.kind = wire_get_u8(reader);
    if (message.kind >= JOB_CONTROL_COUNT)
        wire_fail(reader);
    message.signal = wire_get_u32(reader);
    if (message.signal > JOB_SIGNAL_MAX)
        wire_fail(reader);
    ranges_decode(reader, JOB_RANGES_MAX, &message.ranks);
    wire_get_string_into(reader, message.by, sizeof(message.by));
    if (wire_finish(reader) < 0) {
        ranges_fini(&message.ranks);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

void job_pull_encode(const struct job_pull *message, struct buffer *out)
{
    assert(message->kind < JOB_PULL_KIND_COUNT && message->channels <= 3);
    wire_put_u8(out, message->kind);
    wire_put_u32(out, message->number);
    wire_put_u64(out, message->version);
    wire_put_u32(out, message->bytes);
    wire_put_u8(out, message->channels);
    ranges_encode(&message->ranks, out);
}

int job_pull_decode(struct job_pull *ret_message, struct wire_reader *reader)
{
    struct job_pull message = {.kind = wire_get_u8(reader)};

    message.number = wire_get_u32(reader);
    message.version = wire_get_u64(reader);
    message.bytes = wire_get_u32(reader);
    message.channels = wire_get_u8(reader);
    if (message.kind >= JOB_PULL_KIND_COUNT || message.channels > 3)
        wire_fail(reader);
    ranges_decode(reader, JOB_RANGES_MAX, &message.ranks);
    if (wire_finish(reader) < 0) {
        ranges_fini(&message.ranks);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

int job_pulled_decode(struct job_pulled *ret_message, struct wire_reader *reader)
{
    struct job_pulled message = {.number = wire_get_u32(reader)};

    message.rank = wire_get_u32(reader);
    message.stream = wire_get_u8(reader);
    if (message.stream > 2)
        wire_fail(reader);
    message.time_ns = wire_get_u64(reader);
    message.place = wire_get_u32(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    message.data = reader->position;
    message.data_bytes = wire_left(reader);
    *ret_message = message;
    return 0;
}

struct message *job_pulled_end_message(uint32_t number)
{
    struct buffer payload = {0};
    struct message *message;

    wire_put_u32(&payload, number);
    wire_put_u32(&payload, JOB_RANK_ALL);
    wire_put_u8(&payload, 0);
    wire_put_u64(&payload, 0);
    wire_put_u32(&payload, 0);
    message = job_request_message(JOB_MESSAGE_PULLED, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    return message;
}

struct message *job_pull_gone_message(uint32_t number)
{
    struct buffer payload = {0};
    struct message *message;

    wire_put_u32(&payload, number);
    message = job_request_message(JOB_MESSAGE_PULL_GONE, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    return message;
}

uint32_t job_pull_gone_decode(struct wire_reader *reader)
{
    uint32_t number = wire_get_u32(reader);

    return wire_finish(reader) == 0 ? number : 0;
}

void job_push_encode(const struct job_push *message, struct buffer *out)
{
    wire_put_u32(out, message->number);
    wire_put_u32(out, message->rank);
    buffer_append(out, message->data, message->data_bytes);
}

int job_push_decode(struct job_push *ret_message, struct wire_reader *reader)
{
    struct job_push message = {.number = wire_get_u32(reader)};

    message.rank = wire_get_u32(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    message.data = reader->position;
    message.data_bytes = wire_left(reader);
    *ret_message = message;
    return 0;
}

struct message *job_stdin_message(uint32_t number, const void *data, size_t bytes)
{
    struct buffer payload = {0};
    struct message *message;

    wire_put_u32(&payload, number);
    buffer_append(&payload, data, bytes);
    message = job_request_message(JOB_MESSAGE_STDIN, payload.data, payload.length_bytes);
    buffer_fini(&payload);
    return message;
}

void job_roster_encode(uint32_t version, const struct allocation *roster, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_ROSTER);
    wire_put_u32(out, version);
    allocation_encode(roster, out);
}

void job_signal_encode(uint32_t number, uint32_t signal, const struct ranges *ranks,
                       struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_SIGNAL);
    wire_put_u32(out, number);
    wire_put_u32(out, signal);
    ranges_encode(ranks, out);
}

int job_signal_decode(struct wire_reader *reader, uint32_t *ret_number, uint32_t *ret_signal,
                      struct ranges *ret_ranks)
{
    *ret_ranks = (struct ranges){0};
    *ret_number = wire_get_u32(reader);
    *ret_signal = wire_get_u32(reader);
    ranges_decode(reader, JOB_RANGES_MAX, ret_ranks);
    if (wire_finish(reader) < 0)
        ranges_fini(ret_ranks);
    return wire_finish(reader);
}

struct message *job_request_message(enum job_message kind, const void *data, size_t bytes)
{
    struct buffer payload = {0};
    struct message *message;

    assert(kind < JOB_MESSAGE_COUNT);
    wire_put_u8(&payload, (uint8_t)kind);
    buffer_append(&payload, data, bytes);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

struct message *job_reply_message(int status, const void *data, size_t bytes)
{
    struct buffer payload = {0};
    struct message *message;

    assert(status <= 0);
    wire_put_u32(&payload, (uint32_t)status);
    buffer_append(&payload, data, bytes);
    message = message_from_buffer(&payload);
    buffer_fini(&payload);
    return message;
}

void job_end_message_encode(const struct job_end_message *message, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_END);
    assert(message->discard <= 1 && message->goes_on <= 1 && message->tell <= 1);
    wire_put_u32(out, message->number);
    wire_put_u32(out, message->generation);
    wire_put_u32(out, message->grace_ms);
    wire_put_u8(out, message->discard);
    wire_put_u8(out, message->goes_on);
    wire_put_u8(out, message->tell);
    ranges_encode(&message->places, out);
}

int job_end_message_decode(struct job_end_message *ret_message, struct wire_reader *reader)
{
    struct job_end_message message = {0};

    message.number = wire_get_u32(reader);
    message.generation = wire_get_u32(reader);
    message.grace_ms = wire_get_u32(reader);
    message.discard = (uint8_t)wire_get_varint_max(reader, 1);
    message.goes_on = (uint8_t)wire_get_varint_max(reader, 1);
    message.tell = (uint8_t)wire_get_varint_max(reader, 1);
    ranges_decode(reader, JOB_RANGES_MAX, &message.places);
    if (wire_finish(reader) < 0) {
        ranges_fini(&message.places);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

void job_reply_encode(int status, const void *data, size_t data_bytes, struct buffer *out)
{
    assert(status <= 0);
    wire_put_u32(out, (uint32_t)status);
    buffer_append(out, data, data_bytes);
}

int job_reply_decode(int status, struct wire_reader *reader)
{
    if (status == 0)
        status = (int32_t)wire_get_u32(reader);
    return wire_status(reader) < 0 || status > 0 ? -EBADMSG : status;
}

void job_stamp_encode(const struct job_stamp *stamp, struct buffer *out)
{
    wire_put_u32(out, stamp->place);
    wire_put_u64(out, stamp->hash);
}

void job_stamp_decode(struct wire_reader *reader, struct job_stamp *ret_stamp)
{
    ret_stamp->place = wire_get_u32(reader);
    ret_stamp->hash = wire_get_u64(reader);
}

void job_blob_request_encode(const struct job_blob_request *request, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_BLOB);
    wire_put_u32(out, request->number);
    wire_put_u64(out, request->set_id);
}

int job_blob_request_decode(struct job_blob_request *ret_request, struct wire_reader *reader)
{
    ret_request->number = wire_get_u32(reader);
    ret_request->set_id = wire_get_u64(reader);
    return wire_finish(reader);
}

void job_stalled_encode(const struct job_stalled *message, struct buffer *out)
{
    assert(message->kind < JOB_STALLED_KIND_COUNT);
    overlay_wire_put_key(&message->key, out);
    wire_put_u8(out, message->kind);
    ranges_encode(&message->set, out);
    ranges_encode(&message->ranks, out);
    ranges_encode(&message->missing.absent, out);
    ranges_encode(&message->missing.unjoined, out);
    ranges_encode(&message->missing.silent, out);
    wire_put_varint(out, message->missing.more);
}

int job_stalled_decode(struct job_stalled *ret_message, struct wire_reader *reader)
{
    struct job_stalled message = {.kind = JOB_STALLED_MISSING};

    overlay_wire_get_key(reader, &message.key);
    message.kind = (uint8_t)wire_get_varint_max(reader, JOB_STALLED_KIND_COUNT - 1);
    ranges_decode(reader, JOB_RANGES_MAX, &message.set);
    ranges_decode(reader, JOB_RANGES_MAX, &message.ranks);
    ranges_decode(reader, ENDPOINT_MISSING_RANGES_MAX, &message.missing.absent);
    ranges_decode(reader, ENDPOINT_MISSING_RANGES_MAX, &message.missing.unjoined);
    ranges_decode(reader, ENDPOINT_MISSING_RANGES_MAX, &message.missing.silent);
    message.missing.more = wire_get_varint_max(reader, UINT32_MAX);
    if (wire_finish(reader) < 0) {
        job_stalled_fini(&message);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

void job_stalled_fini(struct job_stalled *message)
{
    ranges_fini(&message->set);
    ranges_fini(&message->ranks);
    ranges_fini(&message->missing.absent);
    ranges_fini(&message->missing.unjoined);
    ranges_fini(&message->missing.silent);
}

void job_roll_request_encode(const struct job_roll_request *message, struct buffer *out)
{
    wire_put_u32(out, message->number);
    overlay_wire_put_key(&message->key, out);
    ranges_encode(&message->set, out);
    ranges_encode(&message->ranks, out);
}

int job_roll_request_decode(struct job_roll_request *ret_message, struct wire_reader *reader)
{
    struct job_roll_request message = {.number = wire_get_u32(reader)};

    overlay_wire_get_key(reader, &message.key);
    ranges_decode(reader, JOB_RANGES_MAX, &message.set);
    ranges_decode(reader, JOB_RANGES_MAX, &message.ranks);
    if (wire_finish(reader) < 0) {
        job_roll_request_fini(&message);
        return -EBADMSG;
    }
    *ret_message = message;
    return 0;
}

void job_roll_request_fini(struct job_roll_request *message)
{
    ranges_fini(&message->set);
    ranges_fini(&message->ranks);
}

void job_roll_encode(const struct job_roll *message, struct buffer *out)
{
    assert(message->count <= JOB_ROLL_ENTRIES_MAX);
    wire_put_varint(out, message->count);
    for (uint32_t i = 0; i < message->count; i++) {
        const struct job_roll_entry *entry = &message->entries[i];

        assert(entry->first <= entry->last);
        assert(entry->state < JOB_ROLL_STATE_COUNT);
        wire_put_varint(out, entry->first);
        wire_put_varint(out, entry->last - entry->first);
        wire_put_u8(out, entry->state);
        wire_put_u8(out, entry->process);
    }
}

int job_roll_decode(struct job_roll *ret_message, struct wire_reader *reader)
{
    struct job_roll message = {.count =
                                   (uint32_t)wire_get_varint_max(reader, JOB_ROLL_ENTRIES_MAX)};

    for (uint32_t i = 0; i < message.count && wire_status(reader) == 0; i++) {
        struct job_roll_entry *entry = &message.entries[i];

        entry->first = (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
        entry->last =
            entry->first + (uint32_t)wire_get_varint_max(reader, UINT32_MAX - entry->first);
        entry->state = (uint8_t)wire_get_varint_max(reader, JOB_ROLL_STATE_COUNT - 1);
        entry->process = wire_get_u8(reader);
    }
    if (wire_finish(reader) < 0)
        return -EBADMSG;
    *ret_message = message;
    return 0;
}

void job_abort_request_encode(const struct job_abort_request *request, struct buffer *out)
{
    wire_put_u8(out, JOB_MESSAGE_ABORT);
    wire_put_u32(out, request->number);
    wire_put_u32(out, (uint32_t)request->status);
    ranges_encode(&request->ranks, out);
}

int job_abort_request_decode(struct job_abort_request *ret_request, struct wire_reader *reader)
{
    struct job_abort_request request = {.number = wire_get_u32(reader)};

    request.status = (int32_t)wire_get_u32(reader);
    ranges_decode(reader, JOB_RANGES_MAX, &request.ranks);
    if (wire_finish(reader) < 0) {
        ranges_fini(&request.ranks);
        return -EBADMSG;
    }
    *ret_request = request;
    return 0;
}

void job_notice_encode(const struct job_notice *notice, struct buffer *out)
{
    assert(notice->targets_count <= JOB_TARGETS_MAX);
    wire_put_u8(out, JOB_MESSAGE_NOTICE);
    wire_put_u32(out, notice->number);
    wire_put_u32(out, notice->told);
    wire_put_u32(out, notice->child);
    wire_put_u32(out, notice->status);
    wire_put_u32(out, notice->stop);
    wire_put_varint(out, notice->targets_count);
    for (uint32_t i = 0; i < notice->targets_count; i++) {
        wire_put_u32(out, notice->targets[i].number);
        wire_put_u32(out, notice->targets[i].rank);
    }
    buffer_append(out, notice->data, notice->data_bytes);
}

int job_notice_decode(struct job_notice *ret_notice, const struct message *message)
{
    struct job_notice notice = {.number = 0};
    struct wire_reader all, *reader = &all;

    wire_reader_init(reader, message->data, message->length_bytes);
    if (wire_get_u8(reader) != JOB_MESSAGE_NOTICE)
        wire_fail(reader);
    notice.number = wire_get_u32(reader);
    notice.told = wire_get_u32(reader);
    notice.child = wire_get_u32(reader);
    notice.status = wire_get_u32(reader);
    notice.stop = wire_get_u32(reader);
    notice.targets_count = (uint32_t)wire_get_varint_max(reader, JOB_TARGETS_MAX);
    if (wire_left(reader) / sizeof(notice.targets[0]) < notice.targets_count)
        wire_fail(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    notice.targets = memory_allocate(notice.targets_count * sizeof(notice.targets[0]));
    for (uint32_t i = 0; i < notice.targets_count; i++) {
        notice.targets[i].number = wire_get_u32(reader);
        notice.targets[i].rank = wire_get_u32(reader);
    }
    notice.data = reader->position;
    notice.data_bytes = wire_left(reader);
    *ret_notice = notice;
    return 0;
}

void job_notice_fini(struct job_notice *notice)
{
    free(notice->targets);
    *notice = (struct job_notice){.number = 0};
}

static int failure_weight(const struct job_failure *failure)
{
    switch (failure->kind) {
    case JOB_FAILURE_NONE:
        return 0;
    case JOB_FAILURE_START:
    case JOB_FAILURE_SERVICES:
        return 3;
    case JOB_FAILURE_ABORT:
        return 2;
    default:
        return 1;
    }
}

int job_failure_outweighs(const struct job_failure *failure, const struct job_failure *other)
{
    return failure_weight(failure) > failure_weight(other);
}

void job_failure_merge(struct job_failure *failure, const struct job_failure *other)
{
    assert(failure != other);
    if (job_failure_outweighs(other, failure) ||
        (!job_failure_outweighs(failure, other) && other->rank < failure->rank))
        *failure = *other;
}

void job_launched_merge(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct job_launched sum = {0}, part = {0};

    if (merged->length_bytes > 0)
        (void)job_launched_decode(&sum, merged->data, merged->length_bytes);
    if (job_launched_decode(&part, other, other_bytes) == 0) {
        sum.processes += part.processes;
        sum.hash += part.hash;
        job_failure_merge(&sum.failure, &part.failure);
    }
    buffer_clear(merged);
    job_launched_encode(&sum, merged);
}

/* One that cannot be read counts as none. */
static void add_profile(struct profile *profile, const struct wire_bytes *bytes)
{
    struct profile *part = memory_allocate_zeroed(sizeof(*part));
    struct wire_reader reader;

    wire_reader_init(&reader, bytes->data, bytes->length_bytes);
    if (profile_decode(part, &reader) == 0)
        profile_merge(profile, part);
    free(part);
}

static void merge_profiles(const struct job_ended *a, const struct job_ended *b, struct buffer *out)
{
    struct profile *profile;

    if (a->profile.length_bytes == 0 && b->profile.length_bytes == 0)
        return;
    profile = memory_allocate_zeroed(sizeof(*profile));
    add_profile(profile, &a->profile);
    add_profile(profile, &b->profile);
    profile_encode(profile, out);
    free(profile);
}

static void merge_usage(struct job_ended *sum, const struct job_ended *part)
{
    if (part->usage == NULL)
        return;
    if (sum->usage == NULL)
        sum->usage = memory_allocate_zeroed(sizeof(*sum->usage));
    usage_merge(sum->usage, part->usage);
}

void job_ended_merge(struct buffer *merged, const void *other, size_t other_bytes)
{
    struct job_ended sum = {0}, part = {0};
    struct buffer profile = {0};

    if (merged->length_bytes > 0)
        (void)job_ended_decode(&sum, merged->data, merged->length_bytes);
    if (job_ended_decode(&part, other, other_bytes) == 0) {
        sum.processes += part.processes;
        sum.output_bytes += part.output_bytes;
        if (part.status > sum.status) {
            sum.status = part.status;
            sum.highest = part.highest;
        }
        job_failure_merge(&sum.failure, &part.failure);
        merge_usage(&sum, &part);
    }
    merge_profiles(&sum, &part, &profile);
    sum.profile = (struct wire_bytes){.data = profile.data, .length_bytes = profile.length_bytes};
    buffer_clear(merged);
    job_ended_encode(&sum, merged);
    buffer_fini(&profile);
    job_ended_fini(&sum);
    job_ended_fini(&part);
}
