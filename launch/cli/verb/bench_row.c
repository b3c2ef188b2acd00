/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_row.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "launch/cli/option/json_text.h"
#include "launch/cli/verb/bench_row_pairs.h"

#define SPREAD_95 \
    196u /* hundredths of a standard deviation, to each side of what has 95 % of a normal distribution */
#define NAME_ROOT "(root)"

/* ---- statistics ---- */

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The least of sorted times that this share of them does not exceed. */
static uint64_t quantile(const uint64_t *times, uint32_t count, double share)
{
    uint32_t at = (uint32_t)(share * (double)count);

    assert(count > 0 && share >= 0 && share <= 1);
    at += (double)at < share * (double)count;
    return times[at < 1 ? 0 : at - 1];
}

/* Newton's. */
static uint64_t root_of(uint64_t square)
{
    uint64_t root = square, next = (square + 1) / 2;

    while (next < root) {
        root = next;
        next = (root + square / root) / 2;
    }
    return root;
}

/* Of which order statistics the median lies in between: binomial, by its normal approximation. */
static void interval(uint64_t count, double *ret_low, double *ret_high)
{
    double width = SPREAD_95 / (2 * (double)root_of(10000 * count));

    *ret_low = width < 0.5 ? 0.5 - width : 0;
    *ret_high = width < 0.5 ? 0.5 + width : 1;
}

static void make_exact(struct bench_row *row, uint64_t *times, uint32_t count)
{
    double low, high;

    qsort(times, count, sizeof(*times), compare);
    interval(count, &low, &high);
    row->min_ns = times[0];
    row->median_ns = quantile(times, count, 0.5);
    row->p99_ns = quantile(times, count, 0.99);
    row->max_ns = times[count - 1];
    row->low_ns = quantile(times, count, low);
    row->high_ns = quantile(times, count, high);
}

static void make_folded(struct bench_row *row)
{
    struct bench_level *all = bench_level_create();
    double low, high;

    for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++) {
        if (row->times.levels[i] != NULL)
            bench_level_merge(all, row->times.levels[i]);
    }
    interval(all->times + (all->times == 0), &low, &high);
    row->min_ns = all->min_ns;
    row->median_ns = bench_level_quantile_ns(all, 0.5);
    row->p99_ns = bench_level_quantile_ns(all, 0.99);
    row->max_ns = all->max_ns;
    row->low_ns = bench_level_quantile_ns(all, low);
    row->high_ns = bench_level_quantile_ns(all, high);
    free(all);
}

/* Names end up in scripts of gnuplot and in CSV. */
static void name_row(struct bench_row *row, const char *name)
{
    size_t length = strnlen(name, BENCH_ROW_NAME_BYTES - 1);

    for (size_t i = 0; i < length; i++)
        row->name[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
    row->name[length] = '\0';
}

void bench_row_make(struct bench_row *ret_row, const struct bench_request *what,
                    struct bench_answer *answer)
{
    struct bench_row row = {.what = *what,
                            .nodes = answer->places - 1,
                            .places = answer->places,
                            .times = answer->times};

    assert(answer->places > 0);
    answer->times = (struct bench_times){.slowest_count = 0};
    if (answer->root_count > 0)
        make_exact(&row, answer->root_ns, answer->root_count);
    else
        make_folded(&row);
    bench_answer_fini(answer);
    name_row(&row, bench_operation_name((enum bench_operation)what->operation));
    *ret_row = row;
}

void bench_row_planned(struct bench_row *ret_row, const char *name,
                       const struct bench_request *what, struct bench_answer *answer)
{
    struct bench_request exchange = *what;

    assert(what->operation == BENCH_PLAN);
    exchange.operation = BENCH_EXCHANGE;
    exchange.plan = (struct wire_bytes){.length_bytes = 0};
    bench_row_make(ret_row, &exchange, answer);
    name_row(ret_row, name);
}

void bench_row_timed(struct bench_row *ret_row, const char *name, const struct bench_request *what,
                     uint32_t nodes, uint64_t *times)
{
    struct bench_row row = {.what = *what, .nodes = nodes, .places = nodes};

    assert(what->repeat > 0);
    /* For the bandwidth: what all write comes together, as in a gather. */
    row.what.operation = BENCH_GATHER;
    make_exact(&row, times, what->repeat);
    name_row(&row, name);
    *ret_row = row;
}

void bench_row_ranks(struct bench_row *ret_row, const char *name, const struct bench_request *what,
                     uint32_t ranks, uint64_t *times)
{
    struct bench_row row;

    assert(ranks > 0);
    bench_row_timed(&row, name, what, ranks, times);
    row.what.operation = BENCH_EXCHANGE;
    row.is_of_ranks = true;
    *ret_row = row;
}

void bench_row_simulated(struct bench_row *ret_row, const char *name,
                         const struct bench_request *what, uint32_t places, uint64_t time_ns)
{
    struct bench_row row = {.what = *what,
                            .nodes = places,
                            .places = places,
                            .min_ns = time_ns,
                            .median_ns = time_ns,
                            .p99_ns = time_ns,
                            .max_ns = time_ns,
                            .low_ns = time_ns,
                            .high_ns = time_ns};

    row.what.repeat = 1;
    name_row(&row, name);
    *ret_row = row;
}

void bench_row_fini(struct bench_row *row)
{
    bench_times_fini(&row->times);
    pair_matrix_fini(&row->pairs);
}

double bench_row_bandwidth(const struct bench_row *row)
{
    uint64_t bytes = bench_operation_bytes(&row->what, row->places);

    return row->median_ns > 0 ? (double)bytes * 1e3 / (double)row->median_ns : 0;
}

/* ---- as text ---- */

static double us(uint64_t ns)
{
    return (double)ns / 1e3;
}

static const char *name_of(const struct allocation *roster, uint32_t place, char *name)
{
    if (place == 0 || place > allocation_nodes(roster))
        snprintf(name, HOST_NAME_BYTES_MAX + 1, NAME_ROOT);
    else
        hostlist_name(roster->names, place - 1, name);
    return name;
}

void bench_row_print_heading(const struct bench_row *first, struct buffer *out)
{
    buffer_printf(out, "%-18s %6s %10s %8s %12s %12s %12s %12s %12s%s\n", "OPERATION",
                  first->is_of_ranks ? "RANKS" : "NODES", "BYTES", "TIMES", "MIN us", "MEDIAN us",
                  "P99 us", "MAX us", "MB/s", first->variant[0] != '\0' ? "  VARIANT" : "");
}

void bench_row_print(const struct bench_row *row, struct buffer *out)
{
    double bandwidth = bench_row_bandwidth(row);

    buffer_printf(out, "%-18s %6u %10u %8u %12.1f %12.1f %12.1f %12.1f ", row->name, row->nodes,
                  row->what.size_bytes, row->what.repeat, us(row->min_ns), us(row->median_ns),
                  us(row->p99_ns), us(row->max_ns));
    if (bandwidth > 0)
        buffer_printf(out, "%12.1f", bandwidth);
    else
        buffer_printf(out, "%12s", "-");
    buffer_printf(out, "%s%s\n", row->variant[0] != '\0' ? "  " : "", row->variant);
}

/* In a collective operation each place waits for all others, so no one is slower than another. */
static void print_links(const struct bench_row *row, const struct allocation *roster,
                        struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1], parent[HOST_NAME_BYTES_MAX + 1];

    buffer_append_string(out, "  slowest links:");
    for (uint32_t i = 0; i < row->times.slowest_count; i++) {
        const struct bench_slowest *slow = &row->times.slowest[i];

        buffer_printf(out, "%s %s to %s %.1f us", i > 0 ? "," : "",
                      name_of(roster, slow->place, name), name_of(roster, slow->parent, parent),
                      us(slow->median_ns));
    }
    buffer_append_string(out, "\n");
}

void bench_row_print_levels(const struct bench_row *row, const struct allocation *roster,
                            struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1];

    buffer_printf(out, "\n%s of %u bytes, %u nodes%s%s, by level of the tree:\n", row->name,
                  row->what.size_bytes, row->nodes, row->variant[0] != '\0' ? ", " : "",
                  row->variant);
    buffer_printf(out, "  %5s %8s %12s %12s %12s %12s  %s\n", "LEVEL", "PLACES", "MIN us",
                  "MEDIAN us", "P99 us", "MAX us", "AT");
    for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++) {
        const struct bench_level *level = row->times.levels[i];

        if (level == NULL || level->times == 0)
            continue;
        buffer_printf(out, "  %5u %8llu %12.1f %12.1f %12.1f %12.1f  %s\n", i,
                      (unsigned long long)level->places, us(level->min_ns),
                      us(bench_level_quantile_ns(level, 0.5)),
                      us(bench_level_quantile_ns(level, 0.99)), us(level->max_ns),
                      name_of(roster, level->max_place, name));
    }
    if (row->what.operation == BENCH_LINKS)
        print_links(row, roster, out);
}

void bench_row_print_slowest(const struct bench_row *rows, uint32_t count, struct buffer *out)
{
    buffer_printf(out, "\nslowest rank of each:\n  %10s %8s %12s\n", "BYTES", "RANK", "MEDIAN us");
    for (uint32_t i = 0; i < count; i++) {
        assert(rows[i].is_of_ranks);
        buffer_printf(out, "  %10u %8u %12.1f\n", rows[i].what.size_bytes, rows[i].slowest_rank,
                      us(rows[i].slowest_ns));
    }
}

void bench_row_csv_heading(bool is_of_ranks, struct buffer *out)
{
    buffer_printf(out,
                  "operation,%s,bytes,times,min_ns,median_ns,p99_ns,max_ns,"
                  "median_low_ns,median_high_ns,mb_s,slowest_from,slowest_to,variant\n",
                  is_of_ranks ? "ranks" : "nodes");
}

/* Which pair, or link, is the slowest. */
static void csv_slowest(const struct bench_row *row, const struct allocation *roster,
                        struct buffer *out)
{
    char name[HOST_NAME_BYTES_MAX + 1], parent[HOST_NAME_BYTES_MAX + 1];
    const struct bench_slowest *slow = &row->times.slowest[0];

    if (row->pairs.nodes > 0)
        bench_row_pairs_csv(row, out);
    else if (row->what.operation == BENCH_LINKS && row->times.slowest_count > 0)
        buffer_printf(out, ",%s,%s", name_of(roster, slow->place, name),
                      name_of(roster, slow->parent, parent));
    else
        buffer_append_string(out, ",,");
}

void bench_row_csv(const struct bench_row *row, const struct allocation *roster, struct buffer *out)
{
    buffer_printf(out, "%s,%u,%u,%u,%llu,%llu,%llu,%llu,%llu,%llu,%.3f", row->name, row->nodes,
                  row->what.size_bytes, row->what.repeat, (unsigned long long)row->min_ns,
                  (unsigned long long)row->median_ns, (unsigned long long)row->p99_ns,
                  (unsigned long long)row->max_ns, (unsigned long long)row->low_ns,
                  (unsigned long long)row->high_ns, bench_row_bandwidth(row));
    csv_slowest(row, roster, out);
    buffer_printf(out, ",%s\n", row->variant);
}

/* ---- as JSON ---- */

static json_t *levels_json(const struct bench_row *row, const struct allocation *roster)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    json_t *list = json_array();

    for (uint32_t i = 0; i < BENCH_LEVELS_MAX; i++) {
        const struct bench_level *level = row->times.levels[i];

        if (level == NULL || level->times == 0)
            continue;
        json_array_append_new(
            list, json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:o}", "level", (int)i, "places",
                            (json_int_t)level->places, "min_ns", (json_int_t)level->min_ns,
                            "median_ns", (json_int_t)bench_level_quantile_ns(level, 0.5), "p99_ns",
                            (json_int_t)bench_level_quantile_ns(level, 0.99), "max_ns",
                            (json_int_t)level->max_ns, "max_at",
                            json_text(name_of(roster, level->max_place, name))));
    }
    return list;
}

static json_t *slowest_json(const struct bench_row *row, const struct allocation *roster)
{
    char name[HOST_NAME_BYTES_MAX + 1], parent[HOST_NAME_BYTES_MAX + 1];
    json_t *list = json_array();

    for (uint32_t i = 0; row->what.operation == BENCH_LINKS && i < row->times.slowest_count; i++) {
        const struct bench_slowest *slow = &row->times.slowest[i];

        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:I, s:I}", "node", json_text(name_of(roster, slow->place, name)),
                      "parent", json_text(name_of(roster, slow->parent, parent)), "median_ns",
                      (json_int_t)slow->median_ns, "max_ns", (json_int_t)slow->max_ns));
    }
    return list;
}

json_t *bench_row_json(const struct bench_row *row, const struct allocation *roster)
{
    json_t *object =
        json_pack("{s:s, s:i, s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "operation",
                  row->name, row->is_of_ranks ? "ranks" : "nodes", (int)row->nodes, "bytes",
                  (int)row->what.size_bytes, "warm_up", (int)row->what.warm_up, "times",
                  (int)row->what.repeat, "min_ns", (json_int_t)row->min_ns, "median_ns",
                  (json_int_t)row->median_ns, "p99_ns", (json_int_t)row->p99_ns, "max_ns",
                  (json_int_t)row->max_ns, "median_low_ns", (json_int_t)row->low_ns,
                  "median_high_ns", (json_int_t)row->high_ns, "mb_s", bench_row_bandwidth(row));

    assert(object != NULL);
    if (row->variant[0] != '\0')
        json_object_set_new(object, "variant", json_text(row->variant));
    if (row->is_of_ranks) {
        json_object_set_new(object, "slowest_rank", json_integer(row->slowest_rank));
        json_object_set_new(object, "slowest_median_ns", json_integer((json_int_t)row->slowest_ns));
    } else {
        json_object_set_new(object, "levels", levels_json(row, roster));
        json_object_set_new(object, "slowest_links", slowest_json(row, roster));
    }
    if (row->pairs.nodes > 0)
        bench_row_pairs_json(row, object);
    return object;
}

bool bench_row_is_alike(const struct bench_row *row, const struct bench_row *other)
{
    return strcmp(row->name, other->name) == 0 && strcmp(row->variant, other->variant) == 0;
}

int bench_row_from_json(struct bench_row *ret_row, json_t *object)
{
    struct bench_row row = {.is_of_ranks = json_object_get(object, "ranks") != NULL};
    const char *name, *variant = "";
    json_int_t median, low, high;
    enum bench_operation operation;
    int nodes, bytes, times;

    if (json_unpack(object, "{s:s, s?s, s:i, s:i, s:i, s:I, s:I, s:I}", "operation", &name,
                    "variant", &variant, row.is_of_ranks ? "ranks" : "nodes", &nodes, "bytes",
                    &bytes, "times", &times, "median_ns", &median, "median_low_ns", &low,
                    "median_high_ns", &high) < 0 ||
        strlen(variant) >= sizeof(row.variant) || nodes < 0 || bytes < 0 || times < 0 || low < 0 ||
        median < low || high < median)
        return -EBADMSG;
    if (!bench_operation_find(name, strlen(name), &operation))
        operation = BENCH_EXCHANGE; /* a plan of one */
    name_row(&row, name);
    strcpy(row.variant, variant);
    row.what.operation = (uint8_t)operation;
    row.what.size_bytes = (uint32_t)bytes;
    row.what.repeat = (uint32_t)times;
    row.nodes = (uint32_t)nodes;
    row.median_ns = (uint64_t)median;
    row.low_ns = (uint64_t)low;
    row.high_ns = (uint64_t)high;
    *ret_row = row;
    return 0;
}
