/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growing run of bytes with one owner.  A zeroed struct is a valid empty buffer.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stddef.h>

#include "base/memory.h"

struct buffer {
    unsigned char *data;
    size_t length_bytes;
    size_t capacity_bytes;
};

void buffer_init(struct buffer *buffer);
void buffer_fini(struct buffer *buffer);  /* frees; the struct is empty and usable after */
void buffer_clear(struct buffer *buffer); /* length 0, memory kept */

/* Makes room for extra_bytes more and returns where they go; length is not changed. */
void *buffer_reserve(struct buffer *buffer, size_t extra_bytes);
/* Counts bytes that were written into reserved room. */
void buffer_commit(struct buffer *buffer, size_t bytes);

/* data may be NULL when bytes is 0, and must not lie in the buffer itself. */
void buffer_append(struct buffer *buffer, const void *data, size_t bytes);
void buffer_append_string(struct buffer *buffer, const char *text); /* without the final NUL */
void buffer_printf(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Drops bytes from the front; O(rest). */
void buffer_consume(struct buffer *buffer, size_t bytes);
/* NUL-terminates (the NUL is not counted) and returns the data as a string. */
const char *buffer_string(struct buffer *buffer);
/* Hands the memory to the caller (free()); buffer is empty after. */
void *buffer_take(struct buffer *buffer, size_t *ret_bytes);
void buffer_swap(struct buffer *a, struct buffer *b);

#endif
