/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/buffer.h"
#include "test/support/tap.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static void test_append(void)
{
    struct buffer buffer = {0};

    is_string(buffer_string(&buffer), "", "an empty buffer is an empty string");
    is_uint(buffer.length_bytes, 0, "its NUL is not counted");
    buffer_append(&buffer, NULL, 0);
    buffer_append_string(&buffer, "one ");
    buffer_printf(&buffer, "%d %s", 2, "three");
    is_string(buffer_string(&buffer), "one 2 three", "text is appended");
    is_uint(buffer.length_bytes, 11, "and counted");
    buffer_consume(&buffer, 4);
    is_string(buffer_string(&buffer), "2 three", "bytes are dropped from the front");
    buffer_consume(&buffer, 0);
    buffer_consume(&buffer, buffer.length_bytes);
    is_uint(buffer.length_bytes, 0, "all bytes are dropped");
    memcpy(buffer_reserve(&buffer, 1000), "reserved", 8);
    is_uint(buffer.length_bytes, 0, "reserved room is not counted");
    buffer_commit(&buffer, 8);
    is_string(buffer_string(&buffer), "reserved", "until it is committed");
    buffer_clear(&buffer);
    ok(buffer.length_bytes == 0 && buffer.capacity_bytes >= 1000, "clear keeps the memory");
    buffer_fini(&buffer);
    ok(buffer.data == NULL && buffer.capacity_bytes == 0, "fini gives it back");
}

static void test_hand_over(void)
{
    struct buffer a, b;
    size_t bytes;
    char *taken;

    buffer_init(&a);
    buffer_init(&b);
    buffer_append_string(&a, "first");
    buffer_append_string(&b, "second");
    buffer_swap(&a, &b);
    is_string(buffer_string(&a), "second", "buffers are swapped");
    taken = buffer_take(&a, &bytes);
    ok(bytes == 6 && memcmp(taken, "second", 6) == 0 && a.data == NULL, "memory is taken");
    free(taken);
    taken = buffer_take(&b, NULL);
    ok(memcmp(taken, "first", 5) == 0, "also without asking for the length");
    free(taken);
    buffer_fini(&a);
    buffer_fini(&b);
}

/* Appending and consuming at random is a queue of bytes. */
static void test_queue(void)
{
    struct random_state random;
    struct buffer buffer = {0};
    unsigned char put = 0, expected = 0;
    int held = 1;

    random_init(&random, 1);
    for (int round = 0; round < 5000; round++) {
        for (uint64_t i = random_below(&random, 300); i > 0; i--)
            buffer_append(&buffer, &(unsigned char){put++}, 1);
        size_t bytes = random_below(&random, buffer.length_bytes + 1);

        for (size_t i = 0; i < bytes; i++)
            held = held && buffer.data[i] == expected++;
        buffer_consume(&buffer, bytes);
    }
    ok(held, "bytes come out in the order in which they went in");
    buffer_fini(&buffer);
}

int main(void)
{
    test_append();
    test_hand_over();
    test_queue();
    return done_testing();
}
