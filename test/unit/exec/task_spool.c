/* SPDX-License-Identifier: BSD-3-Clause */
/* What a task writes, until it is printed (launch/exec/task_spool.c): in memory, and beyond it. */
#include "config.h"

#include "launch/exec/task_spool.h"

#include <stdlib.h>
#include <string.h>

#include "test/support/tap.h"

static void fill(unsigned char *data, size_t bytes, unsigned int seed)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (unsigned char)(seed + i * 7 + i / 251);
}

/* Both streams come back in pieces, whole and in order. */
static void test_round(size_t first, size_t second, int in_file)
{
    struct task_spool *spool = task_spool_create(9);
    unsigned char *data = memory_allocate(first + second + 1), piece[10000];
    size_t seen = 0, bytes, of_first = 0;
    uint8_t stream;
    int is_same = 1;

    fill(data, first + second, 3);
    for (size_t at = 0; at < first; at += 7000)
        is_same &= task_spool_add(spool, 1, data + at, first - at < 7000 ? first - at : 7000) == 0;
    if (second > 0)
        is_same &= task_spool_add(spool, 2, data + first, second) == 0;
    ok(is_same, "%zu and %zu bytes are kept", first, second);
    ok((spool->fd >= 0) == in_file, "in %s", in_file ? "a file" : "memory");
    ok(spool->bytes[0] == first && spool->bytes[1] == second, "and counted");
    if (first + second >= 100) {
        is_uint(task_spool_read(spool, 50, piece, 50), 50, "a part of it");
        is_bytes(piece, 50, data + 50, 50, "is right");
    }
    while ((bytes = task_spool_take(spool, piece, sizeof(piece), &stream)) > 0) {
        is_same &= memcmp(piece, data + seen, bytes) == 0;
        of_first += stream == 1 ? bytes : 0;
        seen += bytes;
    }
    ok(is_same && seen == first + second, "all of it comes back");
    is_uint(of_first, first, "with its stream");
    task_spool_destroy(spool);
    free(data);
}

int main(void)
{
    test_round(0, 0, 0);
    test_round(5, 0, 0);
    test_round(0, 5, 0);
    test_round(1000, 20000, 0);
    test_round(TASK_SPOOL_MEMORY_BYTES, 0, 0);
    test_round(TASK_SPOOL_MEMORY_BYTES, 1, 1);
    test_round(3 * TASK_SPOOL_MEMORY_BYTES + 17, 100000, 1);
    test_round(0, 2 * TASK_SPOOL_MEMORY_BYTES, 1);
    task_spool_destroy(NULL);
    return done_testing();
}
