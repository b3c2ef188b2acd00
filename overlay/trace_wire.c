/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "overlay/trace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/address_wire.h"
#include "base/hash.h"
#include "overlay/overlay_wire.h"
#include "overlay/tree.h"

#define ENTRY_LIMIT 0
#define ENTRY_STEP  1
#define RANGES_MAX  (16u * 1024 * 1024)

/* ---- parts ---- */

static void put_message(struct buffer *out, const struct message *message)
{
    wire_put_u8(out, message != NULL);
    if (message != NULL)
        wire_put_bytes(out, message->data, message->length_bytes);
}

static struct message *get_message(struct wire_reader *reader)
{
    struct wire_bytes bytes;

    if (wire_get_varint_max(reader, 1) == 0)
        return NULL;
    bytes = wire_get_bytes(reader, RECORD_ENTRY_BYTES_MAX);
    return wire_status(reader) == 0 ? message_create(bytes.data, bytes.length_bytes) : NULL;
}

static void put_key(struct buffer *out, const struct operation_name *key)
{
    wire_put_u64(out, key->set_id);
    wire_put_u32(out, key->generation);
    wire_put_u32(out, key->owner);
    wire_put_u8(out, key->kind);
    wire_put_u8(out, key->merge);
    wire_put_u8(out, key->target);
}

static void get_key(struct wire_reader *reader, struct operation_name *ret_key)
{
    ret_key->set_id = wire_get_u64(reader);
    ret_key->generation = wire_get_u32(reader);
    ret_key->owner = wire_get_u32(reader);
    ret_key->kind = wire_get_u8(reader);
    ret_key->merge = wire_get_u8(reader);
    ret_key->target = wire_get_u8(reader);
}

static void put_frame(struct buffer *out, const struct frame *frame)
{
    wire_put_u8(out, frame->type);
    wire_put_u8(out, frame->class);
    wire_put_u16(out, frame->flags);
    wire_put_u32(out, frame->stream);
    wire_put_u32(out, frame->incarnation);
    wire_put_u32(out, frame->attempt);
    wire_put_u8(out, frame->may_wait);
    put_message(out, frame->payload);
}

static void get_frame(struct wire_reader *reader, struct frame *ret_frame)
{
    ret_frame->type = wire_get_u8(reader);
    ret_frame->class = (uint8_t)wire_get_varint_max(reader, FRAME_CLASS_COUNT - 1);
    ret_frame->flags = wire_get_u16(reader);
    ret_frame->stream = wire_get_u32(reader);
    ret_frame->incarnation = wire_get_u32(reader);
    ret_frame->attempt = wire_get_u32(reader);
    ret_frame->may_wait = wire_get_u8(reader);
    ret_frame->payload = get_message(reader);
}

/* ---- configuration ---- */

void trace_encode_config(const struct endpoint_config *config, struct buffer *out)
{
    struct buffer text = {0};

    wire_put_u32(&text, config->place);
    wire_put_u32(&text, config->places);
    wire_put_u32(&text, config->radix);
    wire_put_u32(&text, config->incarnation);
    wire_put_u64(&text, config->heartbeat_ns);
    wire_put_u64(&text, config->lease_ns);
    wire_put_u64(&text, config->rejoin_ns);
    wire_put_u64(&text, config->first_join_ns);
    wire_put_u64(&text, config->survive_ns);
    wire_put_u64(&text, config->stall_ns);
    wire_put_u32(&text, config->inline_bytes);
    wire_put_u32(&text, config->costs.hop_ns);
    wire_put_u32(&text, config->costs.message_ns);
    wire_put_u32(&text, config->costs.byte_ps);
    wire_put_u8(&text, config->trees);
    address_wire_put(&config->own, &text);
    wire_put_u32(&text, config->ancestors_count);
    for (uint32_t i = 0; i < config->ancestors_count; i++)
        overlay_put_ancestor(&config->ancestors[i], &text);
    buffer_append_string(out, RECORD_MAGIC);
    wire_put_u32(out, (uint32_t)text.length_bytes);
    buffer_append(out, text.data, text.length_bytes);
    buffer_fini(&text);
}

int trace_decode_config(struct wire_reader *reader, struct endpoint_config *ret_config,
                        struct endpoint_ancestor **ret_ancestors)
{
    struct endpoint_config config = *ret_config;
    struct endpoint_ancestor *ancestors;

    config.place = (uint32_t)wire_get_u32(reader);
    config.places = wire_get_u32(reader);
    config.radix = wire_get_u32(reader);
    config.incarnation = wire_get_u32(reader);
    config.heartbeat_ns = wire_get_u64(reader);
    config.lease_ns = wire_get_u64(reader);
    config.rejoin_ns = wire_get_u64(reader);
    config.first_join_ns = wire_get_u64(reader);
    config.survive_ns = wire_get_u64(reader);
    config.stall_ns = wire_get_u64(reader);
    config.inline_bytes = wire_get_u32(reader);
    config.costs.hop_ns = wire_get_u32(reader);
    config.costs.message_ns = wire_get_u32(reader);
    config.costs.byte_ps = wire_get_u32(reader);
    config.trees = wire_get_u8(reader);
    address_wire_get(reader, &config.own);
    config.ancestors_count = wire_get_u32(reader);
    if (config.ancestors_count > TREE_DEPTH_MAX || config.places == 0 ||
        config.places > TREE_PLACES_MAX || config.place >= TREE_PLACES_MAX || config.radix < 1 ||
        config.radix > TREE_RADIX_MAX || config.trees >= ENDPOINT_TREES_COUNT)
        wire_fail(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    ancestors = memory_allocate_zeroed((config.ancestors_count + 1) * sizeof *ancestors);
    for (uint32_t i = 0; i < config.ancestors_count; i++) {
        overlay_get_ancestor(reader, &ancestors[i]);
        if (ancestors[i].place >= TREE_PLACES_MAX)
            wire_fail(reader);
    }
    if (wire_finish(reader) < 0) {
        free(ancestors);
        return -EBADMSG;
    }
    config.ancestors = ancestors;
    *ret_config = config;
    *ret_ancestors = ancestors;
    return 0;
}

/* ---- steps ---- */

static void put_event(struct buffer *out, const struct overlay_event *event)
{
    wire_put_u8(out, (uint8_t)event->kind);
    wire_put_u64(out, event->now_ns);
    wire_put_u32(out, event->place);
    wire_put_u32(out, event->incarnation);
    wire_put_u32(out, event->id);
    wire_put_u8(out, (uint8_t)event->class);
    wire_put_u8(out, (uint8_t)event->loss);
    put_key(out, &event->key);
    wire_put_u8(out, event->frame != NULL);
    if (event->frame != NULL)
        put_frame(out, event->frame);
    wire_put_u8(out, event->own != NULL);
    if (event->own != NULL)
        address_wire_put(event->own, out);
    wire_put_u8(out, event->set != NULL);
    if (event->set != NULL)
        ranges_encode(event->set, out);
    put_message(out, event->payload);
}

static void get_event(struct wire_reader *reader, struct trace_step *step)
{
    struct overlay_event *event = &step->event;

    event->kind =
        (enum overlay_event_kind)wire_get_varint_max(reader, OVERLAY_EVENT_KIND_COUNT - 1);
    event->now_ns = wire_get_u64(reader);
    event->place = wire_get_u32(reader);
    event->incarnation = wire_get_u32(reader);
    event->id = wire_get_u32(reader);
    event->class = (enum frame_class)wire_get_varint_max(reader, FRAME_CLASS_COUNT - 1);
    event->loss = (enum endpoint_loss)wire_get_varint_max(reader, ENDPOINT_LOSS_COUNT - 1);
    get_key(reader, &event->key);
    if (wire_get_varint_max(reader, 1)) {
        get_frame(reader, &step->frame);
        event->frame = &step->frame;
    }
    if (wire_get_varint_max(reader, 1)) {
        address_wire_get(reader, &step->own);
        event->own = &step->own;
    }
    if (wire_get_varint_max(reader, 1)) {
        ranges_decode(reader, RANGES_MAX, &step->set);
        event->set = &step->set;
    }
    event->payload = get_message(reader);
    if ((event->kind == OVERLAY_EVENT_FRAME) != (event->frame != NULL) ||
        ((event->kind == OVERLAY_EVENT_CONTRIBUTE || event->kind == OVERLAY_EVENT_SHRINK ||
          event->kind == OVERLAY_EVENT_FORGET) &&
         event->set == NULL))
        wire_fail(reader);
}

static void put_entry(struct buffer *out, const struct buffer *text)
{
    wire_put_u32(out, (uint32_t)text->length_bytes);
    buffer_append(out, text->data, text->length_bytes);
}

void trace_encode_step(const struct overlay_event *event, const struct overlay_actions *actions,
                       struct buffer *out)
{
    struct buffer text = {0};
    struct buffer words = {0};

    wire_put_u8(&text, ENTRY_STEP);
    put_event(&text, event);
    wire_put_u64(&text, trace_hash_actions(actions));
    wire_put_u32(&text, actions->count);
    trace_print_actions(actions, &words);
    wire_put_string(&text, buffer_string(&words));
    put_entry(out, &text);
    buffer_fini(&words);
    buffer_fini(&text);
}

void trace_encode_limit(struct buffer *out)
{
    wire_put_u32(out, 1);
    wire_put_u8(out, ENTRY_LIMIT);
}

int trace_decode_step(const void *data, size_t bytes, struct trace_step *ret_step)
{
    struct wire_reader reader;

    *ret_step = (struct trace_step){0};
    wire_reader_init(&reader, data, bytes);
    if (wire_get_varint_max(&reader, ENTRY_STEP) == ENTRY_LIMIT)
        return wire_finish(&reader);
    get_event(&reader, ret_step);
    ret_step->actions_hash = wire_get_u64(&reader);
    ret_step->actions_count = wire_get_u32(&reader);
    ret_step->actions_text = wire_get_string(&reader, RECORD_TEXT_BYTES_MAX + 64);
    if (wire_finish(&reader) == 0)
        return 1;
    trace_step_fini(ret_step);
    return -EBADMSG;
}

/* ---- actions ---- */

static void put_action(struct buffer *out, const struct overlay_action *action)
{
    wire_put_u8(out, (uint8_t)action->kind);
    wire_put_u32(out, action->place);
    wire_put_u32(out, action->id);
    wire_put_u32(out, (uint32_t)action->status);
    wire_put_u8(out, (uint8_t)action->class);
    wire_put_u8(out, (uint8_t)action->end);
    wire_put_u64(out, action->deadline_ns);
    put_key(out, &action->key);
    put_frame(out, &action->frame);
    put_message(out, action->payload);
    ranges_encode(&action->places, out);
    wire_put_u8(out, action->addresses != NULL);
    if (action->addresses != NULL)
        address_wire_put(action->addresses, out);
    wire_put_string(out, action->text != NULL ? action->text : "");
}

uint64_t trace_hash_actions(const struct overlay_actions *actions)
{
    struct buffer text = {0};
    uint64_t hash = actions->count;

    for (uint32_t i = 0; i < actions->count; i++) {
        buffer_clear(&text);
        put_action(&text, &actions->items[i]);
        hash = hash_bytes(text.data, text.length_bytes, hash);
    }
    buffer_fini(&text);
    return hash;
}
