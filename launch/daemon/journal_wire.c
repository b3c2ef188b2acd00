/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/daemon/journal_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "base/message.h"
#include "launch/exec/session_about.h"

#define RECORD_BYTES_MAX (FRAME_PAYLOAD_BYTES_MAX + 1024 * 1024)
#define TEXT_BYTES_MAX   (1024u * 1024)

/* ---- the head ---- */

void journal_head_encode(const struct journal_head *head, struct buffer *out)
{
    struct buffer text = {0};

    assert(head->record.place == 0);
    buffer_append(out, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES);
    wire_put_u32(out, head->survive_s);
    wire_put_string(out, session_about_version());
    boot_record_encode(&head->record, &text);
    wire_put_bytes(out, text.data, text.length_bytes);
    explicit_bzero(text.data, text.length_bytes); /* the secret */
    buffer_clear(&text);
    wire_put_u8(&text, (uint8_t)head->policy);
    wire_put_optional_string(&text, head->record.instance.fabric_topology);
    allocation_encode(&head->roster, &text);
    address_wire_put(&head->own, &text);
    wire_put_u64(&text, head->now_ns);
    wire_put_bytes(out, text.data, text.length_bytes);
    buffer_fini(&text);
}

static struct wire_reader get_part(struct wire_reader *reader)
{
    struct wire_bytes bytes = wire_get_bytes(reader, RECORD_BYTES_MAX);
    struct wire_reader part;

    wire_reader_init(&part, bytes.data, bytes.length_bytes);
    return part;
}

static bool get_magic(struct wire_reader *reader)
{
    bool is_ours = true;

    for (uint32_t i = 0; i < JOURNAL_MAGIC_BYTES; i++)
        is_ours = wire_get_u8(reader) == (uint8_t)JOURNAL_MAGIC[i] && is_ours;
    return is_ours && wire_status(reader) == 0;
}

int journal_head_decode(struct journal_head *ret_head, struct wire_reader *reader)
{
    char version[SESSION_ABOUT_BYTES];
    struct wire_reader part;
    bool is_ours = get_magic(reader);
    int rc;

    *ret_head = (struct journal_head){.survive_s = wire_get_u32(reader)};
    wire_get_string_into(reader, version, sizeof(version));
    boot_record_init(&ret_head->record);
    allocation_init(&ret_head->roster);
    /* Another version may not do the same with it. */
    if (!is_ours || wire_status(reader) < 0 || strcmp(version, session_about_version()) != 0)
        return -EBADMSG;
    part = get_part(reader);
    if (wire_status(reader) < 0 || boot_record_decode(&ret_head->record, &part) < 0)
        return -EBADMSG;
    part = get_part(reader);
    ret_head->policy = (enum instance_policy)wire_get_u8(&part);
    ret_head->record.instance.fabric_topology = wire_get_optional_string(&part, TEXT_BYTES_MAX);
    allocation_fini(&ret_head->roster);
    rc = wire_status(reader) < 0 ? -EBADMSG : allocation_decode(&ret_head->roster, &part);
    if (rc < 0) {
        allocation_init(&ret_head->roster);
        return -EBADMSG;
    }
    address_wire_get(&part, &ret_head->own);
    ret_head->now_ns = wire_get_u64(&part);
    return wire_finish(&part) < 0 || ret_head->record.place != 0 ? -EBADMSG : 0;
}

void journal_head_fini(struct journal_head *head)
{
    boot_record_fini(&head->record);
    allocation_fini(&head->roster);
}

/* ---- records ---- */

static void put_frame(const struct frame *frame, struct buffer *out)
{
    wire_put_u8(out, frame->type);
    wire_put_u8(out, frame->class);
    wire_put_u16(out, frame->flags);
    wire_put_u32(out, frame->stream);
    wire_put_u32(out, frame->incarnation);
    wire_put_u32(out, frame->attempt);
    wire_put_u8(out, frame->may_wait);
    wire_put_u8(out, frame->payload != NULL);
    if (frame->payload != NULL)
        wire_put_bytes(out, frame->payload->data, frame->payload->length_bytes);
}

static void get_frame(struct wire_reader *reader, struct frame *ret_frame)
{
    struct wire_bytes bytes;

    ret_frame->type = wire_get_u8(reader);
    ret_frame->class = (uint8_t)wire_get_varint_max(reader, FRAME_CLASS_COUNT - 1);
    ret_frame->flags = wire_get_u16(reader);
    ret_frame->stream = wire_get_u32(reader);
    ret_frame->incarnation = wire_get_u32(reader);
    ret_frame->attempt = wire_get_u32(reader);
    ret_frame->may_wait = wire_get_u8(reader);
    if (wire_get_u8(reader) == 0)
        return;
    bytes = wire_get_bytes(reader, RECORD_BYTES_MAX);
    if (wire_status(reader) == 0)
        ret_frame->payload = message_create(bytes.data, bytes.length_bytes);
}

static void put_event(const struct daemon_event *event, struct buffer *out)
{
    wire_put_u8(out, (uint8_t)event->kind);
    wire_put_u32(out, event->job);
    wire_put_u32(out, event->place);
    wire_put_u32(out, event->id);
    wire_put_u64(out, (uint64_t)event->number);
    wire_put_u32(out, (uint32_t)event->status);
    wire_put_u8(out, event->type);
    wire_put_optional_string(out, event->text);
    wire_put_bytes(out, event->data, event->data_bytes);
}

static void get_event(struct wire_reader *reader, struct journal_record *record)
{
    struct daemon_event *event = &record->event;
    struct wire_bytes bytes;

    event->kind = (enum daemon_event_kind)wire_get_varint_max(reader, DAEMON_EVENT_KIND_COUNT - 1);
    event->job = wire_get_u32(reader);
    event->place = wire_get_u32(reader);
    event->id = wire_get_u32(reader);
    event->number = (int64_t)wire_get_u64(reader);
    event->status = (int)wire_get_u32(reader);
    event->type = wire_get_u8(reader);
    event->text = record->text = wire_get_optional_string(reader, TEXT_BYTES_MAX);
    bytes = wire_get_bytes(reader, RECORD_BYTES_MAX);
    event->data = bytes.data;
    event->data_bytes = bytes.length_bytes;
    if (event->kind != DAEMON_EVENT_JOB)
        return;
    record->job_event.kind = JOB_EVENT_BEGIN;
    event->job_event = &record->job_event;
}

/* Place 0 runs no rank: of what happens to parts of jobs it has only the beginning. */
static bool is_of_root(const struct daemon_event *event)
{
    if (event->kind == DAEMON_EVENT_JOB)
        return event->job_event->kind == JOB_EVENT_BEGIN;
    return event->key == NULL && event->places == NULL && event->missing == NULL &&
           event->message == NULL && event->ranks == NULL;
}

int journal_record_encode(const struct journal_record *record, struct buffer *out)
{
    bool has_event = record->kind == JOURNAL_EVENT || record->kind == JOURNAL_POSTED;
    struct buffer text = {0};

    assert(record->kind < JOURNAL_KIND_COUNT);
    if (has_event && !is_of_root(&record->event))
        return -EOPNOTSUPP;
    wire_put_u8(&text, (uint8_t)record->kind);
    wire_put_u64(&text, record->now_ns);
    wire_put_u32(&text, record->place);
    wire_put_u64(&text, (uint64_t)record->number);
    if (has_event)
        put_event(&record->event, &text);
    else if (record->kind == JOURNAL_FRAME)
        put_frame(&record->frame, &text);
    else if (record->kind == JOURNAL_DOWN)
        wire_put_optional_string(&text, record->text);
    wire_put_bytes(out, text.data, text.length_bytes);
    buffer_fini(&text);
    return 0;
}

int journal_record_decode(struct journal_record *ret_record, struct wire_reader *reader)
{
    struct journal_record record = {.kind = JOURNAL_UP};
    struct wire_reader part;

    part = get_part(reader);
    if (wire_status(reader) < 0)
        return 0; /* the end, or cut off */
    record.kind = (enum journal_kind)wire_get_varint_max(&part, JOURNAL_KIND_COUNT - 1);
    record.now_ns = wire_get_u64(&part);
    record.place = wire_get_u32(&part);
    record.number = (int64_t)wire_get_u64(&part);
    *ret_record = record;
    if (record.kind == JOURNAL_EVENT || record.kind == JOURNAL_POSTED)
        get_event(&part, ret_record);
    else if (record.kind == JOURNAL_FRAME)
        get_frame(&part, &ret_record->frame);
    else if (record.kind == JOURNAL_DOWN)
        ret_record->text = wire_get_optional_string(&part, TEXT_BYTES_MAX);
    if (wire_finish(&part) == 0)
        return 1;
    journal_record_fini(ret_record);
    return -EBADMSG;
}

void journal_record_fini(struct journal_record *record)
{
    message_release(record->frame.payload);
    record->frame.payload = NULL;
    free(record->text);
    record->text = NULL;
}
