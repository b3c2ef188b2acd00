/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/message.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

/* From here on malloc() asks the kernel for fresh pages. */
#define TAKE_BYTES_MIN (64u * 1024)

struct message *message_create_blank(size_t bytes)
{
    struct message *message;

    assert(bytes <= SIZE_MAX - sizeof(*message));
    message = memory_allocate(sizeof(*message) + bytes);
    message->references = 1;
    message->length_bytes = bytes;
    return message;
}

struct message *message_create(const void *data, size_t bytes)
{
    struct message *message = message_create_blank(bytes);

    assert(bytes == 0 || data != NULL);
    if (bytes > 0)
        memcpy(message->data, data, bytes);
    return message;
}

static struct message *take_memory(struct buffer *buffer)
{
    size_t bytes;
    void *data = buffer_take(buffer, &bytes);
    struct message *message = memory_resize(data, sizeof(*message) + bytes);

    memmove(message->data, message, bytes);
    message->references = 1;
    message->length_bytes = bytes;
    return message;
}

struct message *message_from_buffer(struct buffer *buffer)
{
    struct message *message;

    if (buffer->length_bytes >= TAKE_BYTES_MIN)
        return take_memory(buffer);
    message = message_create(buffer->data, buffer->length_bytes);
    buffer_clear(buffer);
    return message;
}

struct message *message_reference(struct message *message)
{
    if (message != NULL) {
        assert(message->references > 0 && message->references < UINT_MAX);
        message->references++;
    }
    return message;
}

void message_release(struct message *message)
{
    if (message == NULL)
        return;
    assert(message->references > 0);
    message->references--;
    if (message->references == 0)
        free(message);
}
