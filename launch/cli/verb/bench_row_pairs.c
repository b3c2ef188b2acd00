/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/verb/bench_row_pairs.h"

#include <assert.h>
#include <stdlib.h>

#include "launch/cli/option/json_text.h"
#include "launch/exec/pair_worker.h"

void bench_row_paired(struct bench_row *ret_row, const struct bench_request *what, bool is_latency,
                      struct pair_matrix *matrix)
{
    struct bench_request sample = *what;
    uint64_t *times = pair_matrix_times(matrix, is_latency, &sample.repeat);
    struct bench_row row;

    bench_row_timed(&row, is_latency ? "pairs_latency" : "pairs_transfer", &sample, matrix->nodes,
                    times);
    free(times);
    row.what.repeat = what->repeat;
    if (!is_latency && what->repeat > PAIR_WORKER_TRANSFERS_MAX)
        row.what.repeat = PAIR_WORKER_TRANSFERS_MAX;
    /* For the bandwidth: of what one sends, and none of messages of which only the latency counts. */
    row.what.operation = is_latency ? BENCH_BARRIER : BENCH_BROADCAST;
    row.is_latency = is_latency;
    row.pairs = *matrix;
    *matrix = (struct pair_matrix){.nodes = 0};
    *ret_row = row;
}

void bench_row_pairs_print(const struct bench_row *row, struct buffer *out)
{
    struct pair_matrix_pair pairs[BENCH_SLOWEST_MAX];
    uint32_t count = pair_matrix_slowest(&row->pairs, row->is_latency, BENCH_SLOWEST_MAX, pairs);

    buffer_printf(out, "\n%s of %u bytes, %u nodes%s%s:\n  slowest pairs:", row->name,
                  row->what.size_bytes, row->nodes, row->variant[0] != '\0' ? ", " : "",
                  row->variant);
    for (uint32_t i = 0; i < count; i++)
        buffer_printf(out, "%s %s to %s %.1f us", i > 0 ? "," : "", row->pairs.names[pairs[i].from],
                      row->pairs.names[pairs[i].to], (double)pairs[i].ns / 1e3);
    buffer_append_string(out, "\n");
}

void bench_row_pairs_csv(const struct bench_row *row, struct buffer *out)
{
    struct pair_matrix_pair pair;
    uint32_t count = pair_matrix_slowest(&row->pairs, row->is_latency, 1, &pair);

    assert(count == 1);
    buffer_printf(out, ",%s,%s", row->pairs.names[pair.from], row->pairs.names[pair.to]);
}

static json_t *slowest_pairs(const struct bench_row *row)
{
    struct pair_matrix_pair pairs[BENCH_SLOWEST_MAX];
    uint32_t count = pair_matrix_slowest(&row->pairs, row->is_latency, BENCH_SLOWEST_MAX, pairs);
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:o, s:o, s:I}", "from",
                                              json_text(row->pairs.names[pairs[i].from]), "to",
                                              json_text(row->pairs.names[pairs[i].to]), "ns",
                                              (json_int_t)pairs[i].ns));
    return list;
}

void bench_row_pairs_json(const struct bench_row *row, json_t *object)
{
    json_t *names = json_array(), *square = json_array();

    assert(row->pairs.nodes > 0);
    for (uint32_t from = 0; from < row->pairs.nodes; from++) {
        json_t *line = json_array();

        json_array_append_new(names, json_text(row->pairs.names[from]));
        for (uint32_t to = 0; to < row->pairs.nodes; to++)
            json_array_append_new(line, json_integer((json_int_t)pair_matrix_ns(
                                            &row->pairs, row->is_latency, from, to)));
        json_array_append_new(square, line);
    }
    json_object_set_new(object, "slowest_pairs", slowest_pairs(row));
    json_object_set_new(object, "pairs", json_pack("{s:o, s:o}", "nodes", names, "ns", square));
}
