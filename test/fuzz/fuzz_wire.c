/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire reader: the first bytes of the input say which calls read the rest.
 */
#include "config.h"

#include "base/buffer.h"
#include "base/wire.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 8, BYTES_MAX = 100 };

static void call(struct wire_reader *reader, uint8_t what)
{
    char array[16] = "";
    struct wire_bytes bytes;

    switch (what % 8) {
    case 0:
        wire_get_u8(reader);
        break;
    case 1:
        wire_get_u16(reader);
        break;
    case 2:
        wire_get_u32(reader);
        break;
    case 3:
        wire_get_u64(reader);
        break;
    case 4:
        wire_get_varint(reader);
        break;
    case 5:
        assert(wire_get_varint_max(reader, BYTES_MAX) <= BYTES_MAX);
        break;
    case 6:
        bytes = wire_get_bytes(reader, BYTES_MAX);
        assert(bytes.length_bytes <= BYTES_MAX);
        break;
    case 7:
        wire_get_string_into(reader, array, sizeof array);
        assert(memchr(array, '\0', sizeof array) != NULL);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct wire_reader reader;
    char *text;

    if (data_bytes < CALLS)
        return 0;
    wire_reader_init(&reader, data + CALLS, data_bytes - CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        size_t left = wire_left(&reader);

        call(&reader, data[i]);
        assert(wire_left(&reader) <= left);
    }
    text = wire_get_string(&reader, BYTES_MAX);
    assert(strlen(text) <= BYTES_MAX);
    free(text);
    return 0;
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const uint8_t calls[CALLS] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct buffer out;
    size_t count;

    if (number > 0)
        return 0;
    buffer_init(&out);
    for (size_t i = 0; i < CALLS; i++)
        wire_put_u8(&out, calls[i]);
    wire_put_u8(&out, 1);
    wire_put_u16(&out, 2);
    wire_put_u32(&out, 3);
    wire_put_u64(&out, 4);
    wire_put_varint(&out, 500);
    wire_put_varint(&out, 99);
    wire_put_bytes(&out, "abc", 3);
    wire_put_string(&out, "def");
    wire_put_string(&out, "ghi");
    count = out.length_bytes;
    assert(count <= buffer_bytes);
    memcpy(buffer, out.data, count);
    buffer_fini(&out);
    return count;
}
