/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes print of all pairs, and what is asked of it: launch/cli/verb/pair_matrix.c; as a row of bench:
 * launch/cli/verb/bench_row_pairs.c. */
#include "config.h"

#include "launch/cli/verb/pair_matrix.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/verb/bench_row_pairs.h"
#include "test/support/tap.h"

static const char lines[] = "node 1 n2\nnode 0 n1\nnode 2 n3\n0 1 1000 9000\n1 0 1000 19000\n"
                            "0 2 500 4500\n2 0 500 4500\n1 2 3000 50000\n2 1 3000 10000\n";

static struct allocation roster;

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

static struct bench_row row_of(bool is_latency, uint32_t bytes)
{
    struct bench_request what = {.size_bytes = bytes, .warm_up = 3, .repeat = 20};
    struct pair_matrix matrix = taken();
    struct bench_row row;

    bench_row_paired(&row, &what, is_latency, &matrix);
    ok(matrix.paths == NULL, "the matrix is taken");
    return row;
}

static void test_rows(void)
{
    struct bench_row latency = row_of(true, 8), transfer = row_of(false, 1000);
    struct buffer out = {0};

    bench_row_print(&latency, &out);
    bench_row_print(&transfer, &out);
    bench_row_pairs_print(&transfer, &out);
    is_string(
        buffer_string(&out),
        "pairs_latency           3          8       20          0.5          1.0          3.0 "
        "         3.0            -\n"
        "pairs_transfer          3       1000        5          4.5          9.0         50.0 "
        "        50.0        111.1\n"
        "\npairs_transfer of 1000 bytes, 3 nodes:\n"
        "  slowest pairs: n2 to n3 50.0 us, n2 to n1 19.0 us, n3 to n2 10.0 us, n1 to n2 9.0 us, "
        "n1 to n3 4.5 us, n3 to n1 4.5 us\n",
        "a table");
    buffer_clear(&out);
    bench_row_csv(&latency, &roster, &out);
    is_string(buffer_string(&out),
              "pairs_latency,3,8,20,500,1000,3000,3000,500,3000,0.000,n2,n3,\n",
              "CSV names the slowest pair");
    buffer_fini(&out);
    bench_row_fini(&latency);
    bench_row_fini(&transfer);
}

static void test_json(void)
{
    struct bench_row row = row_of(false, 1000), again;
    json_t *object = bench_row_json(&row, &roster);
    json_t *pairs = json_object_get(object, "pairs"), *slowest;
    json_t *square = json_object_get(pairs, "ns");

    is_uint(json_array_size(json_object_get(pairs, "nodes")), 3, "nodes");
    is_int(json_integer_value(json_array_get(json_array_get(square, 1), 0)), 19000,
           "from n2 to n1");
    is_int(json_integer_value(json_array_get(json_array_get(square, 2), 2)), 0, "to itself");
    slowest = json_array_get(json_object_get(object, "slowest_pairs"), 0);
    is_string(json_string_value(json_object_get(slowest, "to")), "n3", "the slowest");
    is_int(bench_row_from_json(&again, object), 0, "and back");
    ok(again.median_ns == 9000 && again.low_ns == 4500 && again.high_ns == 50000,
       "the median of the pairs, and its interval");
    ok(again.pairs.nodes == 0, "without the pairs");
    json_decref(object);
    bench_row_fini(&row);
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
    allocation_init(&roster);
    allocation_generate(&roster, "n", 3, 1);
    test_pairs();
    test_rows();
    test_json();
    refuses("", -EINVAL, "fewer than two nodes");
    refuses("node 0 a\nnode 1 b\n0 1 5 5\n", -EPROTO, "the path from b to a");
    refuses("node 0 a\nnode 1 b\n0 1 5 0\n", -EPROTO, "has printed '0 1 5 0'");
    allocation_fini(&roster);
    return done_testing();
}
