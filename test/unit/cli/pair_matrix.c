/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes print of all pairs, and what is asked of it: launch/cli/verb/pair_matrix.c. */
#include "config.h"

#include "launch/cli/verb/pair_matrix.h"

#include <errno.h>
#include <stdlib.h>

#include "test/support/tap.h"

static const char lines[] = "node 1 n2\nnode 0 n1\nnode 2 n3\n0 1 1000 9000\n1 0 1000 19000\n"
                            "0 2 500 4500\n2 0 500 4500\n1 2 3000 50000\n2 1 3000 10000\n";

static struct pair_matrix taken(void)
{
    struct pair_matrix matrix = {.nodes = 0};
    struct error error = ERROR_NONE;

    is_int(pair_matrix_take(lines, &matrix, &error), 0, "lines in any order");
    return matrix;
}

static void test_pairs(void)
{
    struct pair_matrix matrix = taken();
    struct pair_matrix_pair pairs[4];
    uint32_t count = 0;
    uint64_t *times;

    is_uint(pair_matrix_ns(&matrix, false, 1, 0), 19000, "a transfer");
    is_uint(pair_matrix_ns(&matrix, true, 2, 1), 3000, "a latency");
    is_uint(pair_matrix_ns(&matrix, false, 1, 1), 0, "none to itself");
    times = pair_matrix_times(&matrix, false, &count);
    is_uint(count, 6, "a transfer of each direction");
    free(times);
    times = pair_matrix_times(&matrix, true, &count);
    ok(count == 3 && times[0] == 1000 && times[1] == 500 && times[2] == 3000,
       "one latency of both directions");
    free(times);
    is_uint(pair_matrix_slowest(&matrix, false, 4, pairs), 4, "no more than asked");
    ok(pairs[0].from == 1 && pairs[0].to == 2 && pairs[0].ns == 50000, "the slowest first");
    ok(pairs[1].ns == 19000 && pairs[2].ns == 10000 && pairs[3].ns == 9000, "in their order");
    is_uint(pair_matrix_slowest(&matrix, false, 1, pairs), 1, "one");
    is_uint(pairs[0].ns, 50000, "that is the slowest, too");
    is_uint(pair_matrix_slowest(&matrix, true, 4, pairs), 3, "as many as there are");
    ok(pairs[0].from == 1 && pairs[0].to == 2 && pairs[2].ns == 500, "latencies");
    pair_matrix_fini(&matrix);
    is_uint(matrix.nodes, 0, "it is empty");
}

static void refuses(const char *text, int code, const char *message)
{
    struct pair_matrix matrix = {.nodes = 7};
    struct error error = ERROR_NONE;

    is_int(pair_matrix_take(text, &matrix, &error), code, "refused: %s", message);
    has_string(error.text, message, "it says why");
    is_uint(matrix.nodes, 7, "nothing is taken");
}

int main(void)
{
    test_pairs();
    refuses("", -EINVAL, "fewer than two nodes");
    refuses("node 0 a\nnode 1 b\n0 1 5 5\n", -EPROTO, "the way from b to a");
    refuses("node 0 a\nnode 1 b\n0 1 5 0\n", -EPROTO, "has printed '0 1 5 0'");
    return done_testing();
}
