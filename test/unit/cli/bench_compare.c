/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements against earlier ones, and drawn: launch/cli/verb/bench_compare.c, bench_plot.c. */
#include "config.h"

#include "launch/cli/verb/bench_compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/verb/bench_plot.h"
#include "launch/cli/verb/bench_row_pairs.h"
#include "test/support/tap.h"

static struct bench_row row_of(enum bench_operation operation, uint32_t bytes, uint32_t nodes,
                               uint64_t low_ns, uint64_t high_ns)
{
    struct bench_request what = {.operation = (uint8_t)operation, .size_bytes = bytes, .repeat = 9};
    struct bench_row row;

    bench_row_simulated(&row, bench_operation_name(operation), &what, nodes,
                        (low_ns + high_ns) / 2);
    row.low_ns = low_ns;
    row.high_ns = high_ns;
    return row;
}

static void test_verdict(void)
{
    struct bench_row before = row_of(BENCH_GATHER, 8, 4, 2000, 3000), now;
    struct bench_earlier earlier = {.rows = &before, .count = 1};
    const struct bench_row *found;

    now = row_of(BENCH_GATHER, 8, 4, 2900, 5000);
    is_int(bench_compare_row(&earlier, &now, &found), BENCH_VERDICT_SAME, "they overlap");
    ok(found == &before, "with that");
    now = row_of(BENCH_GATHER, 8, 4, 3001, 5000);
    is_int(bench_compare_row(&earlier, &now, &found), BENCH_VERDICT_SLOWER, "slower");
    now = row_of(BENCH_GATHER, 8, 4, 1000, 1999);
    is_int(bench_compare_row(&earlier, &now, &found), BENCH_VERDICT_FASTER, "faster");
    now = row_of(BENCH_GATHER, 8, 5, 1, 2);
    is_int(bench_compare_row(&earlier, &now, &found), BENCH_VERDICT_NEW, "other nodes");
    now = row_of(BENCH_GATHER, 16, 4, 1, 2);
    is_int(bench_compare_row(&earlier, &now, &found), BENCH_VERDICT_NEW, "another size");
    now = row_of(BENCH_EXCHANGE, 8, 4, 1, 2);
    is_int(bench_compare_row(&earlier, &now, &found), BENCH_VERDICT_NEW, "another operation");
    now = row_of(BENCH_GATHER, 8, 4, 1, 2);
    strcpy(now.variant, "radix=2");
    is_int(bench_compare_row(&earlier, &now, &found), BENCH_VERDICT_NEW, "another variant");
    ok(found == NULL, "there was none");
}

static void test_table(void)
{
    struct bench_row before = row_of(BENCH_GATHER, 8, 4, 2000, 3000);
    struct bench_row rows[] = {row_of(BENCH_GATHER, 8, 4, 4000, 6000),
                               row_of(BENCH_BARRIER, 0, 4, 1000, 1000)};
    struct bench_earlier earlier = {.rows = &before, .count = 1};
    struct buffer out = {0};

    is_uint(bench_compare_print(&earlier, rows, 2, &out), 1, "one is slower");
    is_string(buffer_string(&out),
              "\nCOMPARED            NODES      BYTES    MEDIAN us    BEFORE us    RATIO  VERDICT\n"
              "gather                  4          8          5.0          2.5     2.00  slower\n"
              "barrier                 4          0          1.0            -        -  new\n",
              "a table");
    buffer_fini(&out);
}

static void test_file(void)
{
    struct bench_earlier earlier;
    struct error error = ERROR_NONE;

    ok(bench_compare_read(&earlier, "/nowhere/x", &error) < 0, "no file");
    ok(strncmp(error.text, "option --compare: cannot read /nowhere/x: ", 42) == 0, "says so");
}

static void test_plot(void)
{
    struct bench_row rows[] = {row_of(BENCH_BARRIER, 0, 4, 1000, 1000),
                               row_of(BENCH_GATHER, 8, 2, 1000, 3000),
                               row_of(BENCH_GATHER, 8, 4, 2000, 4000)};
    struct buffer out = {0};
    const char *text;

    bench_plot_script(rows, 3, &out);
    text = buffer_string(&out);
    ok(strstr(text, "$time_0 << END\n8 3.000 2.000 4.000\nEND\n") != NULL,
       "over the size, with all nodes");
    ok(strstr(text, "plot $time_0 with yerrorlines title 'gather'\n") != NULL, "drawn");
    ok(strstr(text, "$nodes_1 << END\n2 2.000 1.000 3.000\n4 3.000 2.000 4.000\nEND\n") != NULL,
       "over the nodes");
    ok(strstr(text, "$time_1") == NULL, "a barrier has no size");
    buffer_clear(&out);
    strcpy(rows[1].variant, "radix=2");
    bench_plot_script(rows, 3, &out);
    has_string(buffer_string(&out), "$nodes_1 with yerrorlines title 'gather radix=2 8', $nodes_2 ",
               "each variant is a curve");
    strcpy(rows[1].variant, "");
    buffer_clear(&out);
    snprintf(rows[2].name, sizeof(rows[2].name), "my 'plan");
    bench_plot_script(rows, 3, &out);
    ok(strstr(buffer_string(&out), " title 'my ''plan'") != NULL, "whatever a plan is called");
    buffer_clear(&out);
    bench_plot_script(rows, 1, &out);
    ok(strstr(buffer_string(&out), "plot $") == NULL, "nor is it drawn over one number of nodes");
    buffer_fini(&out);
}

/* A map for each row of the most nodes, and those without bandwidth in no curve of it. */
static void test_maps(void)
{
    static const char two[] = "node 0 a'b\nnode 1 c_d\n0 1 1000 2000\n1 0 1000 3000\n";
    struct bench_request what = {.size_bytes = 64, .repeat = 9};
    struct error error = ERROR_NONE;
    struct bench_row rows[2];
    struct buffer out = {0};

    for (int i = 0; i < 2; i++) {
        struct pair_matrix matrix;

        is_int(pair_matrix_take(two, &matrix, &error), 0, "two nodes");
        bench_row_paired(&rows[i], &what, i == 0, &matrix);
    }
    bench_plot_script(rows, 2, &out);
    has_string(buffer_string(&out),
               "$pairs << END\n0.000 1.000 \n1.000 0.000 \nEND\n"
               "set xtics rotate ('a_b' 0, 'c_d' 1)\nset ytics ('a_b' 0, 'c_d' 1)\n"
               "set output 'pairs_latency.svg'\n",
               "latencies, with names that gnuplot can read");
    has_string(buffer_string(&out), "$pairs << END\n0.000 2.000 \n3.000 0.000 \nEND\n",
               "transfers");
    has_string(
        buffer_string(&out),
        "set output 'pairs_64.svg'\nset title 'pairs_transfer of 64 bytes'\nplot $pairs matrix ",
        "drawn");
    ok(strstr(buffer_string(&out), "$rate_pairs_latency") == NULL, "a latency has no bandwidth");
    buffer_clear(&out);
    strcpy(rows[1].variant, "fabric=ofi:tcp;ofi_rxm");
    bench_plot_script(rows, 2, &out);
    has_string(buffer_string(&out),
               "set output 'pairs_64_fabric_ofi_tcp_ofi_rxm.svg'\n"
               "set title 'pairs_transfer of 64 bytes, fabric=ofi:tcp;ofi_rxm'\n",
               "a map of each variant");
    bench_row_fini(&rows[0]);
    bench_row_fini(&rows[1]);
    buffer_fini(&out);
}

int main(void)
{
    test_verdict();
    test_table();
    test_file();
    test_plot();
    test_maps();
    return done_testing();
}
