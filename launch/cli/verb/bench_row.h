/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistics of one measurement of `banyan bench`: of an operation of a size.  Where the root has timed each
 * repetition they are exact; those of links, of which the nodes report histograms, are within 1/16.  Simulated ones take
 * the same time whenever they are repeated.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_ROW_H
#define LAUNCH_CLI_VERB_BENCH_ROW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "launch/cli/verb/pair_matrix.h"
#include "launch/proto/bench.h"

#define BENCH_ROW_NAME_BYTES    32
#define BENCH_ROW_VARIANT_BYTES 128

struct bench_row {
    char name[BENCH_ROW_NAME_BYTES]; /* of the operation, or of a plan of an exchange */
    char variant
        [BENCH_ROW_VARIANT_BYTES]; /* of the instance (bench_variants.h), "" if there is only one */
    struct bench_request what;
    bool is_of_ranks; /* PMIx clients have measured, not daemons */
    uint32_t nodes;   /* or ranks */
    uint32_t places;  /* that contribute: the nodes and the root, or as many as are simulated */
    uint64_t min_ns;
    uint64_t median_ns;
    uint64_t p99_ns;
    uint64_t max_ns;
    /* In between the median lies with a probability of 95 %, if repetitions do not depend on each other. */
    uint64_t low_ns;
    uint64_t high_ns;
    /* Of ranks: the greatest median, and whose. */
    uint64_t slowest_ns;
    uint32_t slowest_rank;
    struct bench_times times; /* owned */
    struct pair_matrix pairs; /* owned; no nodes: it is not of pairs */
    bool is_latency;          /* of pairs: the latencies are meant, not the transfers */
};

/* Takes the answer. */
void bench_row_make(struct bench_row *ret_row, const struct bench_request *what,
                    struct bench_answer *answer);
/* Of an exchange by a plan: likewise; the name is cut to what fits. */
void bench_row_planned(struct bench_row *ret_row, const char *name,
                       const struct bench_request *what, struct bench_answer *answer);
/* Of what->repeat times, which are sorted; the name is cut to what fits. */
void bench_row_timed(struct bench_row *ret_row, const char *name, const struct bench_request *what,
                     uint32_t nodes, uint64_t *times);
/* The same of one of many ranks, each of which has all data in the end. */
void bench_row_ranks(struct bench_row *ret_row, const char *name, const struct bench_request *what,
                     uint32_t ranks, uint64_t *times);
/* Simulated; the name is cut to what fits. */
void bench_row_simulated(struct bench_row *ret_row, const char *name,
                         const struct bench_request *what, uint32_t places, uint64_t time_ns);
void bench_row_fini(struct bench_row *row);
/* MB/s of the median; 0: no data are moved. */
double bench_row_bandwidth(const struct bench_row *row);

/* Reports: what stands above the rows, then each row, then the levels of the tree and the slowest nodes,
 * or the slowest ranks. */
void bench_row_print_heading(const struct bench_row *first, struct buffer *out);
void bench_row_print(const struct bench_row *row, struct buffer *out);
void bench_row_print_levels(const struct bench_row *row, const struct allocation *roster,
                            struct buffer *out);
void bench_row_print_slowest(const struct bench_row *rows, uint32_t count, struct buffer *out);
void bench_row_csv_heading(bool is_of_ranks, struct buffer *out);
void bench_row_csv(const struct bench_row *row, const struct allocation *roster,
                   struct buffer *out);
json_t *bench_row_json(const struct bench_row *row, const struct allocation *roster);
/* Do both belong to the same measurement of the same variant, but for size and nodes? */
bool bench_row_is_alike(const struct bench_row *row, const struct bench_row *other);
/* What bench_row_json has made, but for levels, nodes and pairs; -EBADMSG. */
int bench_row_from_json(struct bench_row *ret_row, json_t *object);

#endif
