/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reader and writer of the wire's forms: little-endian fixed widths, LEB128 variable integers,
 * length-prefixed bytes.  The reader is sticky: after the first error every get returns 0 or empty,
 * and the decoder checks once at its end.  Nothing is read beyond the given bytes.
 */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct wire_reader {
    const unsigned char *position;
    const unsigned char *end;
    int failed; /* sticky */
};

/* Bytes inside the reader's input; valid as long as that is. */
struct wire_bytes {
    const unsigned char *data;
    size_t length_bytes;
};

void wire_put_u8(struct buffer *out, uint8_t value);
void wire_put_u16(struct buffer *out, uint16_t value);
void wire_put_u32(struct buffer *out, uint32_t value);
void wire_put_u64(struct buffer *out, uint64_t value);
void wire_put_varint(struct buffer *out, uint64_t value);                /* LEB128, 1..10 bytes */
void wire_put_bytes(struct buffer *out, const void *data, size_t bytes); /* varint length first */
void wire_put_string(struct buffer *out, const char *text);          /* as bytes without the NUL */
void wire_put_optional_string(struct buffer *out, const char *text); /* u8 whether it is there */

void wire_reader_init(struct wire_reader *reader, const void *data, size_t bytes);
uint8_t wire_get_u8(struct wire_reader *reader);
uint16_t wire_get_u16(struct wire_reader *reader);
uint32_t wire_get_u32(struct wire_reader *reader);
uint64_t wire_get_u64(struct wire_reader *reader);
/* Fails on more than 64 bits and on overlong forms, so that a number has one encoding. */
uint64_t wire_get_varint(struct wire_reader *reader);
/* As wire_get_varint, but fails on a value above maximum (a named limit). */
uint64_t wire_get_varint_max(struct wire_reader *reader, uint64_t maximum);
/* Fails if longer than maximum_bytes or than what is left. */
struct wire_bytes wire_get_bytes(struct wire_reader *reader, size_t maximum_bytes);
/* A copy with NUL at its end, owned by the caller; fails on an inner NUL; "" (allocated) on
 * failure. */
char *wire_get_string(struct wire_reader *reader, size_t maximum_bytes);
/* As wire_put_optional_string put it: NULL if there was none, else as wire_get_string. */
char *wire_get_optional_string(struct wire_reader *reader, size_t maximum_bytes);
/* Into a caller's array of array_bytes incl. NUL; fails if it does not fit. */
void wire_get_string_into(struct wire_reader *reader, char *array, size_t array_bytes);
size_t wire_left(const struct wire_reader *reader);
void wire_fail(struct wire_reader *reader);
/* 0 if nothing failed and all was read, else -EBADMSG. */
int wire_finish(const struct wire_reader *reader);
/* 0 if nothing failed so far (bytes may be left), else -EBADMSG. */
int wire_status(const struct wire_reader *reader);

#endif
