/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

/* Fail-stop: the death of a daemon is an event the tree survives. */
static void *memory_check(void *memory, size_t bytes)
{
    if (memory == NULL) {
        log_error("out of memory: cannot allocate %zu bytes", bytes);
        abort();
    }
    return memory;
}

void *memory_allocate(size_t bytes)
{
    return memory_check(malloc(bytes > 0 ? bytes : 1), bytes);
}

void *memory_allocate_zeroed(size_t bytes)
{
    return memory_check(calloc(bytes > 0 ? bytes : 1, 1), bytes);
}

void *memory_resize(void *memory, size_t bytes)
{
    return memory_check(realloc(memory, bytes > 0 ? bytes : 1), bytes);
}

void *memory_copy(const void *data, size_t bytes)
{
    void *copy = memory_allocate(bytes);

    if (bytes > 0)
        memcpy(copy, data, bytes);
    return copy;
}

char *memory_copy_string(const char *text)
{
    return memory_copy(text, strlen(text) + 1);
}

char *memory_printf(const char *format, ...)
{
    va_list arguments;
    char *text;
    int length;

    assert(format != NULL);
    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(length >= 0);
    text = memory_allocate((size_t)length + 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}
