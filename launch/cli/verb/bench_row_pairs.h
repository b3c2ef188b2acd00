/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measurement of all pairs of nodes as a row of `banyan bench`: its statistics are over the pairs, so the interval of
 * the median is that of a sample of pairs, not of repetitions.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_ROW_PAIRS_H
#define LAUNCH_CLI_VERB_BENCH_ROW_PAIRS_H

#include "launch/cli/verb/bench_row.h"

/* Of the latencies, or of transfers.  Takes the matrix. */
void bench_row_paired(struct bench_row *ret_row, const struct bench_request *what, bool is_latency,
                      struct pair_matrix *matrix);
/* Reports of a row that is of pairs: the slowest as text, or as two fields of CSV; all as members of a JSON
 * object. */
void bench_row_pairs_print(const struct bench_row *row, struct buffer *out);
void bench_row_pairs_csv(const struct bench_row *row, struct buffer *out);
void bench_row_pairs_json(const struct bench_row *row, json_t *object);

#endif
