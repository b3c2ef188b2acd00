/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/helper_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"

/* With its final NUL, so that the reader can use it where it lies. */
static void put_text(struct buffer *out, const char *text)
{
    wire_put_bytes(out, text, text != NULL ? strlen(text) + 1 : 0);
}

static char *get_text(struct wire_reader *reader)
{
    struct wire_bytes bytes = wire_get_bytes(reader, HELPER_REQUEST_BYTES_MAX);

    if (bytes.length_bytes == 0)
        return NULL;
    if (strnlen((const char *)bytes.data, bytes.length_bytes) + 1 != bytes.length_bytes)
        wire_fail(reader);
    return (char *)bytes.data;
}

static void put_texts(struct buffer *out, char *const *texts)
{
    size_t count = 0;

    while (texts != NULL && texts[count] != NULL)
        count++;
    wire_put_varint(out, count);
    for (size_t i = 0; i < count; i++)
        put_text(out, texts[i]);
}

/* The index of the first text in the block of arrays, after one spare place. */
static size_t get_texts(struct wire_reader *reader, struct helper_order *order, size_t *used)
{
    size_t count = (size_t)wire_get_varint_max(reader, wire_left(reader));
    size_t first = *used + 1;
    char **texts = memory_resize(order->arrays, (first + count + 1) * sizeof(*texts));

    order->arrays = texts;
    texts[*used] = NULL;
    for (size_t i = 0; i < count; i++) {
        texts[first + i] = get_text(reader);
        if (texts[first + i] == NULL)
            wire_fail(reader);
    }
    texts[first + count] = NULL;
    *used = first + count + 1;
    return first;
}

static const unsigned char *get_mask(struct wire_reader *reader, uint32_t *ret_bytes)
{
    struct wire_bytes bytes = wire_get_bytes(reader, HELPER_MASK_BYTES_MAX);

    *ret_bytes = (uint32_t)bytes.length_bytes;
    return bytes.length_bytes > 0 ? bytes.data : NULL;
}

void helper_request_encode(const struct helper_request *request, struct buffer *out)
{
    assert(request->type < HELPER_REQUEST_COUNT && request->targets_count <= HELPER_FDS_MAX);
    wire_put_u8(out, request->type);
    wire_put_varint(out, request->id);
    wire_put_varint(out, request->group);
    wire_put_varint(out, request->value);
    wire_put_varint(out, request->targets_count);
    for (uint32_t i = 0; i < request->targets_count; i++)
        wire_put_varint(out, request->targets[i]);
    put_text(out, request->path);
    put_text(out, request->name);
    put_texts(out, request->argv);
    put_texts(out, request->environment);
    wire_put_bytes(out, request->cpus, request->cpus_bytes);
    wire_put_bytes(out, request->memory, request->memory_bytes);
    wire_put_varint(out, request->memory_mode);
    process_limits_encode(&request->limits, out);
}

int helper_order_decode(struct helper_order *ret_order, void *data, size_t bytes)
{
    struct helper_order order = {0};
    struct helper_request *request = &order.request;
    struct wire_reader reader;
    size_t used = 0;
    size_t argv_at, environment_at;

    wire_reader_init(&reader, data, bytes);
    request->type =
        (enum helper_request_type)wire_get_varint_max(&reader, HELPER_REQUEST_COUNT - 1);
    request->id = wire_get_varint_max(&reader, UINT64_MAX);
    request->group = (uint32_t)wire_get_varint_max(&reader, UINT32_MAX);
    request->value = (uint32_t)wire_get_varint_max(&reader, UINT32_MAX);
    request->targets_count = (uint32_t)wire_get_varint_max(&reader, HELPER_FDS_MAX);
    for (uint32_t i = 0; i < request->targets_count; i++)
        request->targets[i] = (uint32_t)wire_get_varint_max(&reader, HELPER_TARGET_MAX);
    request->path = get_text(&reader);
    request->name = get_text(&reader);
    argv_at = get_texts(&reader, &order, &used);
    environment_at = get_texts(&reader, &order, &used);
    request->cpus = get_mask(&reader, &request->cpus_bytes);
    request->memory = get_mask(&reader, &request->memory_bytes);
    request->memory_mode = (uint32_t)wire_get_varint_max(&reader, UINT32_MAX);
    process_limits_decode(&reader, &request->limits);
    if (wire_finish(&reader) < 0) {
        free(order.arrays);
        *ret_order = (struct helper_order){0};
        return -EBADMSG;
    }
    order.argv = (char **)order.arrays + argv_at;
    order.environment = (char **)order.arrays + environment_at;
    request->argv = order.argv;
    request->environment = order.environment;
    *ret_order = order;
    return 0;
}

void helper_event_encode(const struct helper_event *event, struct buffer *out)
{
    assert(event->type < HELPER_EVENT_COUNT);
    assert(event->type != HELPER_FAILED || event->detail < START_STEP_COUNT);
    wire_put_u8(out, event->type);
    wire_put_u64(out, event->id);
    wire_put_u32(out, (uint32_t)event->value);
    wire_put_u8(out, (uint8_t)event->detail);
    wire_put_u8(out, (uint8_t)strnlen(event->text, sizeof(event->text) - 1));
    buffer_append(out, event->text, strnlen(event->text, sizeof(event->text) - 1));
    if (event->type == HELPER_EXITED)
        usage_rank_encode(&event->usage, out);
}

int helper_event_decode(struct helper_event *ret_event, struct wire_reader *reader)
{
    struct helper_event event = {0};
    uint32_t text_bytes;

    event.type = (enum helper_event_type)wire_get_u8(reader);
    event.id = wire_get_u64(reader);
    event.value = (int32_t)wire_get_u32(reader);
    event.detail = wire_get_u8(reader);
    text_bytes = wire_get_u8(reader);
    if (text_bytes >= sizeof(event.text) || text_bytes > wire_left(reader))
        wire_fail(reader);
    else
        memcpy(event.text, reader->position, text_bytes);
    if (strlen(event.text) != text_bytes)
        wire_fail(reader);
    else
        reader->position += text_bytes;
    if (event.type == HELPER_EXITED)
        usage_rank_decode(reader, &event.usage);
    if (event.type >= HELPER_EVENT_COUNT ||
        (event.type == HELPER_FAILED && event.detail >= START_STEP_COUNT))
        wire_fail(reader);
    if (wire_status(reader) < 0)
        return -EBADMSG;
    *ret_event = event;
    return 0;
}

size_t helper_events_fit(const void *data, size_t bytes, size_t max)
{
    struct helper_event event;
    struct wire_reader reader;
    size_t fit = 0;

    if (bytes <= max)
        return bytes;
    wire_reader_init(&reader, data, max);
    while (wire_left(&reader) > 0 && helper_event_decode(&event, &reader) == 0)
        fit = max - wire_left(&reader);
    assert(fit > 0); /* the longest event is shorter than a packet */
    return fit;
}
