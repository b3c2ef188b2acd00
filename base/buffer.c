/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_BYTES_MIN 64

void buffer_init(struct buffer *buffer)
{
    *buffer = (struct buffer){0};
}

void buffer_fini(struct buffer *buffer)
{
    free(buffer->data);
    buffer_init(buffer);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length_bytes = 0;
}

void *buffer_reserve(struct buffer *buffer, size_t extra_bytes)
{
    size_t needed_bytes;
    size_t capacity_bytes = buffer->capacity_bytes;

    assert(extra_bytes <= SIZE_MAX / 4 - buffer->length_bytes);
    needed_bytes = buffer->length_bytes + extra_bytes;
    if (capacity_bytes < CAPACITY_BYTES_MIN)
        capacity_bytes = CAPACITY_BYTES_MIN;
    while (capacity_bytes < needed_bytes)
        capacity_bytes *= 2;
    if (capacity_bytes > buffer->capacity_bytes) {
        buffer->data = memory_resize(buffer->data, capacity_bytes);
        buffer->capacity_bytes = capacity_bytes;
    }
    assert(buffer->capacity_bytes - buffer->length_bytes >= extra_bytes);
    return buffer->data + buffer->length_bytes;
}

void buffer_commit(struct buffer *buffer, size_t bytes)
{
    assert(bytes <= buffer->capacity_bytes - buffer->length_bytes);
    buffer->length_bytes += bytes;
}

void buffer_append(struct buffer *buffer, const void *data, size_t bytes)
{
    if (bytes == 0)
        return;
    assert(data != NULL);
    memcpy(buffer_reserve(buffer, bytes), data, bytes);
    buffer_commit(buffer, bytes);
}

void buffer_append_string(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    int length;

    assert(format != NULL);
    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(length >= 0);
    va_start(arguments, format);
    vsnprintf(buffer_reserve(buffer, (size_t)length + 1), (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer_commit(buffer, (size_t)length);
}

void buffer_consume(struct buffer *buffer, size_t bytes)
{
    assert(bytes <= buffer->length_bytes);
    if (bytes == 0)
        return;
    buffer->length_bytes -= bytes;
    memmove(buffer->data, buffer->data + bytes, buffer->length_bytes);
}

const char *buffer_string(struct buffer *buffer)
{
    char *end = buffer_reserve(buffer, 1);

    *end = '\0';
    return (const char *)buffer->data;
}

void *buffer_take(struct buffer *buffer, size_t *ret_bytes)
{
    void *data = buffer->data;

    if (ret_bytes != NULL)
        *ret_bytes = buffer->length_bytes;
    buffer_init(buffer);
    return data;
}

void buffer_swap(struct buffer *a, struct buffer *b)
{
    struct buffer spare = *a;

    *a = *b;
    *b = spare;
}
