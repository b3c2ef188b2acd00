/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A block of bytes inside a message, compressed with zstd when that makes it shorter.  Small blocks
 * are written uncompressed: neither side then uses zstd, whose first use costs memory and time.
 */
#ifndef LAUNCH_PROTO_COMPRESS_H
#define LAUNCH_PROTO_COMPRESS_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/wire.h"

#define COMPRESS_BYTES_MIN 4096 /* smaller blocks are not compressed */

void compress_put(struct buffer *out, const void *data, size_t bytes);
/* Appends the block to ret_block; the reader fails on a block of more than maximum_bytes, before
 * memory is allocated for it, and on damaged data. */
void compress_get(struct wire_reader *reader, size_t maximum_bytes, struct buffer *ret_block);

#endif
