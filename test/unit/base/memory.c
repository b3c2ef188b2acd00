/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/memory.h"

#include <stdlib.h>

#include "test/support/tap.h"

static void test_memory(void)
{
    char *text = memory_copy_string("text");
    unsigned char *zeroed = memory_allocate_zeroed(64);
    int zeros = 1;

    is_string(text, "text", "a string is copied");
    free(text);
    for (int i = 0; i < 64; i++)
        zeros = zeros && zeroed[i] == 0;
    ok(zeros, "zeroed memory is zero");
    free(zeroed);
    text = memory_printf("%s-%d", "n", 12);
    is_string(text, "n-12", "a string is printed");
    text = memory_resize(text, 100);
    is_string(text, "n-12", "memory grows with its content");
    free(text);
    text = memory_copy(NULL, 0);
    ok(text != NULL, "no bytes are memory too");
    free(text);
}

int main(void)
{
    test_memory();
    return done_testing();
}
