/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/unwritten.h"

#include "test/support/tap.h"

static struct unwritten unwritten;

static void add(uint32_t job, uint32_t place, uint32_t bytes)
{
    unwritten_add(&unwritten, &(struct unwritten_part){job, place, bytes});
}

static uint32_t take(uint32_t job, uint32_t place, uint32_t bytes)
{
    return unwritten_take(&unwritten, &(struct unwritten_part){job, place, bytes});
}

int main(void)
{
    struct unwritten_part part;
    size_t cursor = 0;

    ok(unwritten_is_empty(&unwritten), "nothing at first");
    is_int(unwritten_take_next(&unwritten, &cursor, 1, &part), 0, "so nothing can be taken");
    is_uint(take(1, 1, 5), 0, "of anybody");
    add(1, 1, 0);
    ok(unwritten_is_empty(&unwritten), "no bytes are nothing");
    add(1, 2, 10);
    add(1, 2, 5);
    add(2, 2, 7);
    is_uint(take(1, 2, 12), 12, "a part of what was added twice");
    is_uint(take(2, 1, 12), 0, "another place has none");
    is_uint(take(2, 2, UINT32_MAX), 7, "no more than there is of another job");
    add(3, UINT32_MAX, UINT32_MAX);
    add(3, UINT32_MAX, UINT32_MAX);
    is_int(unwritten_take_next(&unwritten, &cursor, 2, &part), 1, "any");
    ok(part.job == 1 && part.place == 2 && part.bytes == 2, "at most what is wanted");
    is_int(unwritten_take_next(&unwritten, &cursor, UINT64_MAX, &part), 1, "the rest");
    is_uint(part.bytes, 1, "of it");
    is_int(unwritten_take_next(&unwritten, &cursor, UINT64_MAX, &part), 1,
           "more than fits in one part");
    ok(part.job == 3 && part.place == UINT32_MAX && part.bytes == UINT32_MAX, "is taken in two");
    is_int(unwritten_take_next(&unwritten, &cursor, UINT64_MAX, &part), 1, "the second");
    is_uint(part.bytes, UINT32_MAX, "is as large");
    ok(unwritten_is_empty(&unwritten), "then there is nothing");
    add(1, 1, 1);
    unwritten_fini(&unwritten);
    ok(unwritten_is_empty(&unwritten), "or it is forgotten");
    return done_testing();
}
