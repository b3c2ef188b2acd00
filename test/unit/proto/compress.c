/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks come back as they were, small ones as they are, and no sender can make us allocate more. */
#include "config.h"

#include "launch/proto/compress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

#define BLOCK_BYTES 100000u

static int get(const struct buffer *packed, size_t bytes, size_t maximum_bytes,
               struct buffer *ret_block)
{
    struct wire_reader reader;

    wire_reader_init(&reader, packed->data, bytes);
    compress_get(&reader, maximum_bytes, ret_block);
    return wire_finish(&reader);
}

static void fill(uint8_t *block, size_t bytes, int is_regular)
{
    uint32_t state = 1;

    for (size_t i = 0; i < bytes; i++) {
        state = state * 1664525u + 1013904223u;
        block[i] = (uint8_t)(is_regular ? i % 7 : state >> 24);
    }
}

static void test_sizes(int is_regular)
{
    static const size_t sizes[] = {0, 1, COMPRESS_BYTES_MIN - 1, COMPRESS_BYTES_MIN, BLOCK_BYTES};
    uint8_t *block = memory_allocate(BLOCK_BYTES);

    fill(block, BLOCK_BYTES, is_regular);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct buffer packed = {0}, back = {0};

        compress_put(&packed, block, sizes[i]);
        ok(packed.length_bytes <= sizes[i] + 8, "%zu bytes never become much more", sizes[i]);
        is_int(sizes[i] >= COMPRESS_BYTES_MIN && packed.length_bytes < sizes[i] / 2,
               is_regular && sizes[i] >= COMPRESS_BYTES_MIN, "what is regular becomes less");
        ok(get(&packed, packed.length_bytes, BLOCK_BYTES, &back) == 0 &&
               back.length_bytes == sizes[i] &&
               (sizes[i] == 0 || memcmp(back.data, block, sizes[i]) == 0),
           "and come back");
        if (sizes[i] > 0) {
            buffer_clear(&back);
            is_int(get(&packed, packed.length_bytes, sizes[i] - 1, &back), -EBADMSG,
                   "unless they are more than is allowed");
        }
        buffer_fini(&packed);
        buffer_fini(&back);
    }
    free(block);
}

static void test_refused(void)
{
    uint8_t *block = memory_allocate(BLOCK_BYTES);
    struct buffer packed = {0}, back = {0};
    int refused = 1;

    fill(block, BLOCK_BYTES, 1);
    compress_put(&packed, block, BLOCK_BYTES);
    is_int(get(&packed, packed.length_bytes, BLOCK_BYTES - 1, &back), -EBADMSG,
           "more than is allowed is refused");
    is_uint(back.length_bytes, 0, "and leaves nothing");
    for (size_t cut = 0; cut < packed.length_bytes; cut++) {
        buffer_clear(&back);
        refused &= get(&packed, cut, BLOCK_BYTES, &back) == -EBADMSG;
    }
    ok(refused, "so is a block that is cut anywhere");
    buffer_clear(&back);
    packed.data[1]++;
    is_int(get(&packed, packed.length_bytes, BLOCK_BYTES, &back), -EBADMSG,
           "a size that the frame does not have");
    packed.data[1]--;
    packed.data[0] = 2;
    is_int(get(&packed, packed.length_bytes, BLOCK_BYTES, &back), -EBADMSG,
           "a form that does not exist");
    buffer_fini(&packed);
    buffer_fini(&back);
    free(block);
}

int main(void)
{
    test_sizes(0);
    test_sizes(1);
    test_refused();
    return done_testing();
}
