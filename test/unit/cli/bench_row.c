/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of a measurement, and how they are shown: launch/cli/verb/bench_row.c. */
#include "config.h"

#include "launch/cli/verb/bench_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "test/support/tap.h"

static struct allocation roster;

/* count times of the root: first, first + 1000 ... in no order. */
static void make(struct bench_row *ret_row, enum bench_operation operation, uint32_t count,
                 uint64_t first_ns)
{
    struct bench_request what = {
        .operation = (uint8_t)operation, .size_bytes = 1000, .repeat = count};
    struct bench_answer answer = {.radix = 2, .places = 3, .root_count = count};
    struct bench_level *level = bench_level_create();

    answer.root_ns = memory_allocate_zeroed((count + 1) * sizeof(*answer.root_ns));
    for (uint32_t i = 0; i < count; i++)
        answer.root_ns[(i * 7) % count] = first_ns + 1000 * (uint64_t)i;
    for (uint32_t i = 0; i < 100; i++)
        bench_level_add(level, 2, first_ns);
    bench_times_put(&answer.times, 1, 0, level);
    bench_row_make(ret_row, &what, &answer);
    ok(answer.root_ns == NULL, "the answer is taken");
}

static void test_exact(void)
{
    struct bench_row row;

    make(&row, BENCH_EXCHANGE, 100, 1000);
    is_uint(row.nodes, 2, "nodes");
    is_uint(row.min_ns, 1000, "min");
    is_uint(row.median_ns, 50000, "median");
    is_uint(row.p99_ns, 99000, "p99");
    is_uint(row.max_ns, 100000, "max");
    is_uint(row.low_ns, 41000, "the median is above that");
    is_uint(row.high_ns, 60000, "and below that");
    ok(bench_row_bandwidth(&row) > 59.9 && bench_row_bandwidth(&row) < 60.1,
       "3 x 1000 bytes in 50 us");
    bench_row_fini(&row);
    make(&row, BENCH_BARRIER, 1, 5000);
    ok(row.low_ns == 5000 && row.high_ns == 5000 && row.p99_ns == 5000, "of one time it is that");
    ok(bench_row_bandwidth(&row) == 0, "a barrier has no bandwidth");
    bench_row_fini(&row);
}

static void test_folded(void)
{
    struct bench_row row;
    struct buffer out = {0};

    make(&row, BENCH_LINKS, 0, 3000);
    is_uint(row.median_ns, 3000, "what the nodes have said");
    bench_row_print_levels(&row, &roster, &out);
    is_string(buffer_string(&out),
              "\nlinks of 1000 bytes, 2 nodes, by level of the tree:\n"
              "  LEVEL   PLACES       MIN us    MEDIAN us       P99 us       MAX us  AT\n"
              "      1        1          3.0          3.0          3.0          3.0  n2\n"
              "  slowest links: n2 to (root) 3.0 us\n",
              "levels and links");
    buffer_fini(&out);
    bench_row_fini(&row);
}

static void test_text(void)
{
    struct buffer out = {0};
    struct bench_row row;

    make(&row, BENCH_GATHER, 100, 1000);
    bench_row_print_heading(&row, &out);
    bench_row_print(&row, &out);
    is_string(
        buffer_string(&out),
        "OPERATION           NODES      BYTES    TIMES       MIN us    MEDIAN us       P99 us "
        "      MAX us         MB/s\n"
        "gather                  2       1000      100          1.0         50.0         99.0 "
        "       100.0         60.0\n",
        "a table");
    buffer_clear(&out);
    bench_row_csv_heading(false, &out);
    bench_row_csv(&row, &roster, &out);
    is_string(buffer_string(&out),
              "operation,nodes,bytes,times,min_ns,median_ns,p99_ns,max_ns,median_low_ns,"
              "median_high_ns,mb_s,slowest_from,slowest_to,variant\n"
              "gather,2,1000,100,1000,50000,99000,100000,41000,60000,60.000,,,\n",
              "CSV");
    buffer_clear(&out);
    strcpy(row.variant, "radix=2");
    bench_row_print_heading(&row, &out);
    bench_row_print(&row, &out);
    bench_row_csv(&row, &roster, &out);
    is_string(
        buffer_string(&out),
        "OPERATION           NODES      BYTES    TIMES       MIN us    MEDIAN us       P99 us "
        "      MAX us         MB/s  VARIANT\n"
        "gather                  2       1000      100          1.0         50.0         99.0 "
        "       100.0         60.0  radix=2\n"
        "gather,2,1000,100,1000,50000,99000,100000,41000,60000,60.000,,,radix=2\n",
        "of one of several instances");
    buffer_fini(&out);
    bench_row_fini(&row);
}

static void test_json(void)
{
    struct bench_row row, again;
    json_t *object;

    make(&row, BENCH_GATHER, 100, 1000);
    object = bench_row_json(&row, &roster);
    ok(object != NULL, "JSON");
    is_int(bench_row_from_json(&again, object), 0, "and back");
    ok(again.what.operation == BENCH_GATHER && again.what.size_bytes == 1000 && again.nodes == 2,
       "what it was");
    is_string(again.variant, "", "of the only instance");
    ok(again.median_ns == 50000 && again.low_ns == 41000 && again.high_ns == 60000, "its times");
    json_object_set_new(object, "median_low_ns", json_integer(50001));
    is_int(bench_row_from_json(&again, object), -EBADMSG, "a median that is too low");
    json_object_set_new(object, "median_low_ns", json_integer(1));
    json_object_set_new(object, "operation", json_string("my plan"));
    is_int(bench_row_from_json(&again, object), 0, "a plan of one's own");
    is_string(again.name, "my_plan", "by its name");
    json_object_set_new(object, "variant", json_string("trees=2"));
    ok(bench_row_from_json(&again, object) == 0 && strcmp(again.variant, "trees=2") == 0,
       "of one of several instances");
    json_object_del(object, "operation");
    is_int(bench_row_from_json(&again, object), -EBADMSG, "or none");
    json_decref(object);
    bench_row_fini(&row);
}

int main(void)
{
    allocation_init(&roster);
    allocation_generate(&roster, "n", 2, 1);
    test_exact();
    test_folded();
    test_text();
    test_json();
    allocation_fini(&roster);
    return done_testing();
}
