/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/overlay_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address_wire.h"
#include "base/buffer.h"
#include "overlay/tree.h"

void overlay_wire_frame_of(enum overlay_message type, enum frame_class class,
                           struct buffer *payload, struct frame *ret_frame)
{
    *ret_frame = (struct frame){
        .type = (uint8_t)type, .class = (uint8_t) class, .payload = message_from_buffer(payload)};
    buffer_fini(payload);
}

void overlay_wire_open(const struct frame *frame, struct wire_reader *ret_reader)
{
    if (frame->payload != NULL)
        wire_reader_init(ret_reader, frame->payload->data, frame->payload->length_bytes);
    else
        wire_reader_init(ret_reader, NULL, 0);
}

uint32_t overlay_wire_get_varint32(struct wire_reader *reader)
{
    return (uint32_t)wire_get_varint_max(reader, UINT32_MAX);
}

/* The rest of the payload. */
struct wire_bytes overlay_wire_get_rest(struct wire_reader *reader)
{
    struct wire_bytes rest = {.data = reader->position, .length_bytes = wire_left(reader)};

    if (wire_status(reader) < 0)
        return (struct wire_bytes){NULL, 0};
    reader->position = reader->end;
    return rest;
}

static void put_range(struct range range, struct buffer *out)
{
    wire_put_varint(out, range.first);
    wire_put_varint(out, range.last - range.first);
}

static struct range get_range(struct wire_reader *reader)
{
    struct range range;

    range.first = overlay_wire_get_varint32(reader);
    range.last = range.first + (uint32_t)wire_get_varint_max(reader, UINT32_MAX - range.first);
    return range;
}

void overlay_encode_join(const struct overlay_join *join, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_u16(&out, join->version);
    wire_put_varint(&out, join->places);
    wire_put_varint(&out, join->radix);
    wire_put_varint(&out, join->received);
    wire_put_varint(&out, join->stamp_ns);
    put_range(join->scope, &out);
    address_wire_put(&join->addresses, &out);
    ranges_encode(&join->arrived, &out);
    ranges_encode(&join->waiting, &out);
    wire_put_u8(&out, join->fresh);
    overlay_wire_frame_of(OVERLAY_JOIN, FRAME_CONTROL, &out, ret_frame);
}

int overlay_decode_join(const struct frame *frame, struct overlay_join *ret_join)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_join, 0, sizeof(*ret_join));
    ret_join->version = wire_get_u16(&reader);
    ret_join->places = overlay_wire_get_varint32(&reader);
    ret_join->radix = overlay_wire_get_varint32(&reader);
    ret_join->received = wire_get_varint(&reader);
    ret_join->stamp_ns = wire_get_varint(&reader);
    ret_join->scope = get_range(&reader);
    address_wire_get(&reader, &ret_join->addresses);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_join->arrived);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_join->waiting);
    ret_join->fresh = wire_get_u8(&reader);
    if (ret_join->fresh > 1)
        wire_fail(&reader);
    if (wire_finish(&reader) < 0)
        overlay_join_fini(ret_join);
    return wire_finish(&reader);
}

void overlay_join_fini(struct overlay_join *join)
{
    ranges_fini(&join->arrived);
    ranges_fini(&join->waiting);
}

static void encode_ranges(enum overlay_message type, const struct ranges *ranges,
                          struct frame *ret_frame)
{
    struct buffer out = {0};

    ranges_encode(ranges, &out);
    overlay_wire_frame_of(type, FRAME_CONTROL, &out, ret_frame);
}

static int decode_ranges(const struct frame *frame, struct ranges *ret_ranges)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    ranges_init(ret_ranges);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, ret_ranges);
    if (wire_finish(&reader) < 0)
        ranges_fini(ret_ranges);
    return wire_finish(&reader);
}

void overlay_encode_waiting(const struct ranges *waiting, struct frame *ret_frame)
{
    encode_ranges(OVERLAY_WAITING, waiting, ret_frame);
}

int overlay_decode_waiting(const struct frame *frame, struct ranges *ret_waiting)
{
    return decode_ranges(frame, ret_waiting);
}

static void put_lease(const struct overlay_lease *lease, struct buffer *out)
{
    wire_put_varint(out, lease->round);
    wire_put_varint(out, lease->age_ns);
    wire_put_varint(out, lease->echo_stamp_ns);
    wire_put_varint(out, lease->echo_hold_ns);
    wire_put_varint(out, lease->cut_ns);
}

static void get_lease(struct wire_reader *reader, struct overlay_lease *ret_lease)
{
    ret_lease->round = wire_get_varint(reader);
    ret_lease->age_ns = wire_get_varint(reader);
    ret_lease->echo_stamp_ns = wire_get_varint(reader);
    ret_lease->echo_hold_ns = wire_get_varint(reader);
    ret_lease->cut_ns = wire_get_varint(reader);
}

void overlay_encode_welcome(const struct overlay_welcome *welcome, struct frame *ret_frame)
{
    struct buffer out = {0};

    put_range(welcome->range, &out);
    wire_put_varint(&out, welcome->base);
    wire_put_varint(&out, welcome->head);
    wire_put_varint(&out, welcome->cut_ns);
    wire_put_u8(&out, welcome->closed);
    put_lease(&welcome->lease, &out);
    wire_put_varint(&out, welcome->population);
    ranges_encode(&welcome->dead, &out);
    ranges_encode(&welcome->left, &out);
    wire_put_varint(&out, welcome->recoveries);
    /* The class of ENTRY, so that no entry overtakes it. */
    overlay_wire_frame_of(OVERLAY_WELCOME, FRAME_COLLECTIVE, &out, ret_frame);
}

int overlay_decode_welcome(const struct frame *frame, struct overlay_welcome *ret_welcome)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_welcome, 0, sizeof(*ret_welcome));
    ret_welcome->range = get_range(&reader);
    ret_welcome->base = wire_get_varint(&reader);
    ret_welcome->head = wire_get_varint(&reader);
    ret_welcome->cut_ns = wire_get_varint(&reader);
    ret_welcome->closed = wire_get_u8(&reader);
    if (ret_welcome->closed > 1)
        wire_fail(&reader);
    get_lease(&reader, &ret_welcome->lease);
    ret_welcome->population = (uint32_t)wire_get_varint_max(&reader, TREE_PLACES_MAX);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_welcome->dead);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_welcome->left);
    ret_welcome->recoveries = (uint32_t)wire_get_varint_max(&reader, OVERLAY_RECOVERIES_MAX);
    if (wire_finish(&reader) < 0)
        overlay_welcome_fini(ret_welcome);
    return wire_finish(&reader);
}

void overlay_welcome_fini(struct overlay_welcome *welcome)
{
    ranges_fini(&welcome->dead);
    ranges_fini(&welcome->left);
}

void overlay_encode_redirect(const struct overlay_redirect *redirect, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_varint(&out, redirect->place);
    wire_put_u8(&out, redirect->whole);
    address_wire_put(&redirect->addresses, &out);
    overlay_wire_frame_of(OVERLAY_REDIRECT, FRAME_CONTROL, &out, ret_frame);
}

int overlay_decode_redirect(const struct frame *frame, struct overlay_redirect *ret_redirect)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    ret_redirect->place = overlay_wire_get_varint32(&reader);
    ret_redirect->whole = wire_get_u8(&reader);
    if (ret_redirect->whole > 1)
        wire_fail(&reader);
    address_wire_get(&reader, &ret_redirect->addresses);
    return wire_finish(&reader);
}

void overlay_encode_hold(struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_frame_of(OVERLAY_HOLD, FRAME_CONTROL, &out, ret_frame);
}

int overlay_decode_hold(const struct frame *frame)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    return wire_finish(&reader);
}

void overlay_encode_refuse(const struct overlay_refuse *refuse, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_u8(&out, refuse->refusal);
    wire_put_string(&out, refuse->text);
    overlay_wire_frame_of(OVERLAY_REFUSE, FRAME_CONTROL, &out, ret_frame);
}

int overlay_decode_refuse(const struct frame *frame, struct overlay_refuse *ret_refuse)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    ret_refuse->refusal = wire_get_u8(&reader);
    wire_get_string_into(&reader, ret_refuse->text, sizeof(ret_refuse->text));
    return wire_finish(&reader);
}

void overlay_encode_arrived(const struct ranges *arrived, struct frame *ret_frame)
{
    encode_ranges(OVERLAY_ARRIVED, arrived, ret_frame);
}

int overlay_decode_arrived(const struct frame *frame, struct ranges *ret_arrived)
{
    return decode_ranges(frame, ret_arrived);
}

static void put_death(const struct overlay_death *death, struct buffer *out)
{
    put_range(death->range, out);
    wire_put_varint(out, death->incarnation);
}

static void get_death(struct wire_reader *reader, struct overlay_death *ret_death)
{
    ret_death->range = get_range(reader);
    ret_death->incarnation = overlay_wire_get_varint32(reader);
}

void overlay_put_places(const struct ranges *places, struct buffer *out)
{
    ranges_encode(places, out);
}

int overlay_get_places(const struct wire_bytes *payload, struct ranges *ret_places)
{
    struct wire_reader reader;

    *ret_places = (struct ranges){0};
    wire_reader_init(&reader, payload->data, payload->length_bytes);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, ret_places);
    if (ranges_is_empty(ret_places))
        wire_fail(&reader);
    if (wire_finish(&reader) < 0)
        ranges_fini(ret_places);
    return wire_finish(&reader);
}

void overlay_put_owner(uint32_t owner, struct buffer *out)
{
    wire_put_varint(out, owner);
}

int overlay_get_owner(const struct wire_bytes *payload, uint32_t *ret_owner)
{
    struct wire_reader reader;

    wire_reader_init(&reader, payload->data, payload->length_bytes);
    *ret_owner = overlay_wire_get_varint32(&reader);
    return wire_finish(&reader);
}

void overlay_put_ancestor(const struct endpoint_ancestor *ancestor, struct buffer *out)
{
    wire_put_u32(out, ancestor->place);
    address_wire_put(&ancestor->addresses, out);
}

void overlay_get_ancestor(struct wire_reader *reader, struct endpoint_ancestor *ret_ancestor)
{
    ret_ancestor->place = wire_get_u32(reader);
    address_wire_get(reader, &ret_ancestor->addresses);
}

void overlay_put_heir(uint32_t place, const struct addresses *addresses, struct buffer *out)
{
    wire_put_varint(out, place);
    address_wire_put(addresses, out);
}

void overlay_get_heir(struct wire_reader *reader, struct overlay_heir *ret_heir)
{
    ret_heir->place = (uint32_t)wire_get_varint_max(reader, TREE_PLACES_MAX - 1);
    address_wire_get(reader, &ret_heir->addresses);
}

void overlay_encode_heirs(uint32_t count, const struct buffer *items, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_varint(&out, count);
    buffer_append(&out, items->data, items->length_bytes);
    /* The class of WELCOME, which it follows down. */
    overlay_wire_frame_of(OVERLAY_HEIRS, FRAME_COLLECTIVE, &out, ret_frame);
}

uint32_t overlay_open_heirs(const struct message *payload, struct wire_reader *reader)
{
    struct frame frame = {.payload = (struct message *)(uintptr_t)payload};

    overlay_wire_open(&frame, reader);
    return (uint32_t)wire_get_varint_max(reader, OVERLAY_HEIRS_MAX);
}

void overlay_encode_lost(const struct overlay_lost *lost, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_varint(&out, lost->count);
    for (uint32_t i = 0; i < lost->count; i++) {
        put_death(&lost->items[i], &out);
        wire_put_u8(&out, lost->items[i].loss);
        wire_put_varint(&out, lost->items[i].silent_ns);
    }
    overlay_wire_frame_of(OVERLAY_LOST, FRAME_CONTROL, &out, ret_frame);
}

int overlay_decode_lost(const struct frame *frame, struct overlay_lost *ret_lost)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    ret_lost->count = (uint32_t)wire_get_varint_max(&reader, OVERLAY_LOST_MAX);
    if (ret_lost->count > wire_left(&reader) / 5) /* a loss takes at least five bytes */
        wire_fail(&reader);
    ret_lost->items = NULL;
    if (wire_status(&reader) < 0)
        return -EBADMSG;
    ret_lost->items = memory_allocate_zeroed(ret_lost->count * sizeof(*ret_lost->items));
    for (uint32_t i = 0; i < ret_lost->count; i++) {
        get_death(&reader, &ret_lost->items[i]);
        ret_lost->items[i].loss = (uint8_t)wire_get_varint_max(&reader, ENDPOINT_LOSS_COUNT - 1);
        ret_lost->items[i].silent_ns = wire_get_varint(&reader);
    }
    if (wire_finish(&reader) < 0)
        overlay_lost_fini(ret_lost);
    return wire_finish(&reader);
}

void overlay_lost_fini(struct overlay_lost *lost)
{
    free(lost->items);
    lost->items = NULL;
    lost->count = 0;
}

void overlay_encode_lease(const struct overlay_lease *lease, struct frame *ret_frame)
{
    struct buffer out = {0};

    put_lease(lease, &out);
    overlay_wire_frame_of(OVERLAY_LEASE, FRAME_CONTROL, &out, ret_frame);
}

int overlay_decode_lease(const struct frame *frame, struct overlay_lease *ret_lease)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    get_lease(&reader, ret_lease);
    return wire_finish(&reader);
}

void overlay_encode_lease_echo(const struct overlay_lease_echo *echo, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_varint(&out, echo->stamp_ns);
    wire_put_u8(&out, (uint8_t)echo->measured.trip);
    wire_put_u8(&out, (uint8_t)echo->measured.rate);
    overlay_wire_frame_of(OVERLAY_LEASE_ECHO, FRAME_CONTROL, &out, ret_frame);
}

int overlay_decode_lease_echo(const struct frame *frame, struct overlay_lease_echo *ret_echo)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    ret_echo->stamp_ns = wire_get_varint(&reader);
    ret_echo->measured.trip = wire_get_u8(&reader);
    ret_echo->measured.rate = wire_get_u8(&reader);
    return wire_finish(&reader);
}

void overlay_encode_entry(const struct overlay_entry *entry, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_varint(&out, entry->sequence);
    wire_put_u8(&out, entry->kind);
    ranges_encode(&entry->set, &out);
    buffer_append(&out, entry->payload.data, entry->payload.length_bytes);
    overlay_wire_frame_of(OVERLAY_ENTRY, FRAME_COLLECTIVE, &out, ret_frame);
}

int overlay_decode_entry(const struct frame *frame, struct overlay_entry *ret_entry)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_entry, 0, sizeof(*ret_entry));
    ret_entry->sequence = wire_get_varint(&reader);
    ret_entry->kind = wire_get_u8(&reader);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_entry->set);
    ret_entry->payload = overlay_wire_get_rest(&reader);
    if (ret_entry->kind >= OVERLAY_ENTRY_KIND_COUNT || ret_entry->sequence == 0)
        wire_fail(&reader);
    if (wire_finish(&reader) < 0)
        overlay_entry_fini(ret_entry);
    return wire_finish(&reader);
}

void overlay_entry_fini(struct overlay_entry *entry)
{
    ranges_fini(&entry->set);
}

void overlay_encode_ack(uint64_t sequence, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_varint(&out, sequence);
    overlay_wire_frame_of(OVERLAY_ACK, FRAME_COLLECTIVE, &out, ret_frame);
    ret_frame->may_wait = 1; /* it only releases what has long arrived */
}

int overlay_decode_ack(const struct frame *frame, uint64_t *ret_sequence)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    *ret_sequence = wire_get_varint(&reader);
    return wire_finish(&reader);
}

void overlay_wire_put_key(const struct operation_name *key, struct buffer *out)
{
    wire_put_u64(out, key->set_id);
    wire_put_varint(out, key->generation);
    wire_put_varint(out, key->owner);
    wire_put_u8(out, key->kind);
    wire_put_u8(out, key->merge);
    wire_put_u8(out, key->target);
}

void overlay_wire_get_key(struct wire_reader *reader, struct operation_name *ret_key)
{
    memset(ret_key, 0, sizeof(*ret_key));
    ret_key->set_id = wire_get_u64(reader);
    ret_key->generation = overlay_wire_get_varint32(reader);
    ret_key->owner = overlay_wire_get_varint32(reader);
    ret_key->kind = wire_get_u8(reader);
    ret_key->merge = wire_get_u8(reader);
    ret_key->target = wire_get_u8(reader);
    if (ret_key->target >= ENDPOINT_TARGET_COUNT)
        wire_fail(reader);
}

int overlay_status_errno(uint8_t status)
{
    static const int codes[OVERLAY_STATUS_COUNT] = {
        [OVERLAY_STATUS_LOST] = -EHOSTDOWN, [OVERLAY_STATUS_TOO_LARGE] = -EMSGSIZE,
        [OVERLAY_STATUS_BUSY] = -EAGAIN,    [OVERLAY_STATUS_TIMED_OUT] = -ETIMEDOUT,
        [OVERLAY_STATUS_GONE] = -ECANCELED,
    };

    return codes[status];
}

static uint8_t get_status(struct wire_reader *reader)
{
    uint8_t status = wire_get_u8(reader);

    if (status >= OVERLAY_STATUS_COUNT)
        wire_fail(reader);
    return status;
}

void overlay_encode_contribute(const struct overlay_contribute *contribute, uint32_t attempt,
                               struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&contribute->key, &out);
    ranges_encode(&contribute->set, &out);
    wire_put_u8(&out, contribute->state);
    wire_put_varint(&out, contribute->low);
    wire_put_u8(&out, contribute->status);
    ranges_encode(&contribute->lost, &out);
    buffer_append(&out, contribute->payload.data, contribute->payload.length_bytes);
    overlay_wire_frame_of(OVERLAY_CONTRIBUTE, FRAME_COLLECTIVE, &out, ret_frame);
    ret_frame->attempt = attempt;
}

int overlay_decode_contribute(const struct frame *frame, struct overlay_contribute *ret_contribute)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_contribute, 0, sizeof(*ret_contribute));
    overlay_wire_get_key(&reader, &ret_contribute->key);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_contribute->set);
    ret_contribute->state = wire_get_u8(&reader);
    ret_contribute->low = overlay_wire_get_varint32(&reader);
    ret_contribute->status = get_status(&reader);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_contribute->lost);
    ret_contribute->payload = overlay_wire_get_rest(&reader);
    if (ret_contribute->state == OVERLAY_PART_NONE ||
        ret_contribute->state >= OVERLAY_PART_STATE_COUNT)
        wire_fail(&reader);
    if (wire_finish(&reader) < 0)
        overlay_contribute_fini(ret_contribute);
    return wire_finish(&reader);
}

void overlay_contribute_fini(struct overlay_contribute *contribute)
{
    ranges_fini(&contribute->set);
    ranges_fini(&contribute->lost);
}

void overlay_encode_query(const struct overlay_query *query, uint32_t attempt,
                          struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&query->key, &out);
    ranges_encode(&query->set, &out);
    wire_put_u8(&out, query->want);
    put_range(query->within, &out);
    wire_put_u8(&out, query->lossy);
    overlay_wire_frame_of(OVERLAY_QUERY, FRAME_COLLECTIVE, &out, ret_frame);
    ret_frame->attempt = attempt;
}

int overlay_decode_query(const struct frame *frame, struct overlay_query *ret_query)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_query, 0, sizeof(*ret_query));
    overlay_wire_get_key(&reader, &ret_query->key);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_query->set);
    ret_query->want = wire_get_u8(&reader);
    ret_query->within = get_range(&reader);
    ret_query->lossy = wire_get_u8(&reader);
    if (ret_query->want >= OVERLAY_WANT_COUNT || ret_query->lossy > 1)
        wire_fail(&reader);
    if (wire_finish(&reader) < 0)
        overlay_query_fini(ret_query);
    return wire_finish(&reader);
}

void overlay_query_fini(struct overlay_query *query)
{
    ranges_fini(&query->set);
}

void overlay_encode_release(const struct overlay_release *release, uint32_t attempt,
                            struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&release->key, &out);
    wire_put_u8(&out, release->status);
    wire_put_varint(&out, release->stable);
    ranges_encode(&release->lost, &out);
    buffer_append(&out, release->payload.data, release->payload.length_bytes);
    overlay_wire_frame_of(OVERLAY_RELEASE, FRAME_COLLECTIVE, &out, ret_frame);
    ret_frame->attempt = attempt;
}

int overlay_decode_release(const struct frame *frame, struct overlay_release *ret_release)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_release, 0, sizeof(*ret_release));
    overlay_wire_get_key(&reader, &ret_release->key);
    ret_release->status = get_status(&reader);
    ret_release->stable = overlay_wire_get_varint32(&reader);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_release->lost);
    ret_release->payload = overlay_wire_get_rest(&reader);
    if (wire_finish(&reader) < 0)
        overlay_release_fini(ret_release);
    return wire_finish(&reader);
}

void overlay_release_fini(struct overlay_release *release)
{
    ranges_fini(&release->lost);
}

void overlay_encode_data(enum overlay_message type, enum frame_class class,
                         const struct overlay_data *data, struct frame *ret_frame)
{
    struct buffer out = {0};

    wire_put_varint(&out, data->source);
    wire_put_varint(&out, data->destination);
    wire_put_varint(&out, data->id);
    wire_put_u8(&out, data->status);
    buffer_append(&out, data->payload.data, data->payload.length_bytes);
    overlay_wire_frame_of(type, class, &out, ret_frame);
}

int overlay_decode_data(const struct frame *frame, struct overlay_data *ret_data)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    ret_data->source = overlay_wire_get_varint32(&reader);
    ret_data->destination = overlay_wire_get_varint32(&reader);
    ret_data->id = overlay_wire_get_varint32(&reader);
    ret_data->status = get_status(&reader);
    ret_data->payload = overlay_wire_get_rest(&reader);
    return wire_finish(&reader);
}

void overlay_encode_roll_call(const struct overlay_roll_call *call, struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&call->key, &out);
    ranges_encode(&call->set, &out);
    wire_put_varint(&out, call->patience_ns);
    overlay_wire_frame_of(OVERLAY_ROLL_CALL, FRAME_COLLECTIVE, &out, ret_frame);
}

int overlay_decode_roll_call(const struct frame *frame, struct overlay_roll_call *ret_call)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_call, 0, sizeof(*ret_call));
    overlay_wire_get_key(&reader, &ret_call->key);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_call->set);
    ret_call->patience_ns = wire_get_varint(&reader);
    if (wire_finish(&reader) < 0)
        overlay_roll_call_fini(ret_call);
    return wire_finish(&reader);
}

void overlay_roll_call_fini(struct overlay_roll_call *call)
{
    ranges_fini(&call->set);
}

void overlay_encode_named(enum overlay_message type, const struct overlay_roll_call *call,
                          struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&call->key, &out);
    ranges_encode(&call->set, &out);
    overlay_wire_frame_of(type, FRAME_COLLECTIVE, &out, ret_frame);
}

int overlay_decode_named(const struct frame *frame, struct overlay_roll_call *ret_call)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_call, 0, sizeof(*ret_call));
    overlay_wire_get_key(&reader, &ret_call->key);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_call->set);
    if (wire_finish(&reader) < 0)
        overlay_roll_call_fini(ret_call);
    return wire_finish(&reader);
}

void overlay_encode_again(enum overlay_message type, const struct overlay_again *again,
                          uint32_t attempt, struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&again->key, &out);
    ranges_encode(&again->set, &out);
    wire_put_u64(&out, again->dead);
    wire_put_varint(&out, again->bytes);
    overlay_wire_frame_of(type, FRAME_COLLECTIVE, &out, ret_frame);
    ret_frame->attempt = attempt;
}

int overlay_decode_again(const struct frame *frame, struct overlay_again *ret_again)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_again, 0, sizeof(*ret_again));
    overlay_wire_get_key(&reader, &ret_again->key);
    ranges_decode(&reader, OVERLAY_RANGES_MAX, &ret_again->set);
    ret_again->dead = wire_get_u64(&reader);
    ret_again->bytes = wire_get_varint(&reader);
    if (wire_finish(&reader) < 0)
        overlay_again_fini(ret_again);
    return wire_finish(&reader);
}

void overlay_again_fini(struct overlay_again *again)
{
    ranges_fini(&again->set);
}

void overlay_encode_roll(const struct overlay_roll *roll, struct frame *ret_frame)
{
    struct buffer out = {0};

    overlay_wire_put_key(&roll->key, &out);
    ranges_encode(&roll->missing.absent, &out);
    ranges_encode(&roll->missing.unjoined, &out);
    ranges_encode(&roll->missing.silent, &out);
    wire_put_varint(&out, roll->missing.more);
    overlay_wire_frame_of(OVERLAY_ROLL, FRAME_COLLECTIVE, &out, ret_frame);
}

int overlay_decode_roll(const struct frame *frame, struct overlay_roll *ret_roll)
{
    struct wire_reader reader;

    overlay_wire_open(frame, &reader);
    memset(ret_roll, 0, sizeof(*ret_roll));
    overlay_wire_get_key(&reader, &ret_roll->key);
    ranges_decode(&reader, ENDPOINT_MISSING_RANGES_MAX, &ret_roll->missing.absent);
    ranges_decode(&reader, ENDPOINT_MISSING_RANGES_MAX, &ret_roll->missing.unjoined);
    ranges_decode(&reader, ENDPOINT_MISSING_RANGES_MAX, &ret_roll->missing.silent);
    ret_roll->missing.more = wire_get_varint_max(&reader, UINT32_MAX);
    if (wire_finish(&reader) < 0)
        overlay_roll_fini(ret_roll);
    return wire_finish(&reader);
}

void overlay_roll_fini(struct overlay_roll *roll)
{
    ranges_fini(&roll->missing.absent);
    ranges_fini(&roll->missing.unjoined);
    ranges_fini(&roll->missing.silent);
}
