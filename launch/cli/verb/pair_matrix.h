/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The paths between all nodes of a run, as a process on each has measured them in rounds of pairs
 * (launch/exec/pair_worker.h): for `banyan fabric --measure` and `banyan bench --operation pairs`.
 *
 * Invariant: once taken there are two nodes or more, each with a name, and each path between two has both times.
 * Memory: 16 bytes for each ordered pair.  Time of a run: O(nodes) rounds.
 */
#ifndef LAUNCH_CLI_VERB_PAIR_MATRIX_H
#define LAUNCH_CLI_VERB_PAIR_MATRIX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define PAIR_MATRIX_NODES_MAX 4096u /* what is kept is square */

struct pair_path {
    uint64_t latency_ns; /* 0: not measured */
    uint64_t transfer_ns;
};

struct pair_matrix {
    uint32_t nodes;
    char **names; /* by rank; NULL: not known */
    struct pair_path *paths;
};

struct pair_matrix_run {
    const char *const *options; /* of banyan run */
    int options_count;
    uint64_t bytes; /* of a transfer */
    uint32_t repeats;
    const char *provider; /* of libfabric, "" for the first; NULL: over TCP */
};

/* A pair, and what was measured of it. */
struct pair_matrix_pair {
    uint32_t from;
    uint32_t to;
    uint64_t ns;
};

/* Has `banyan run` measure it; the caller owns the matrix.  Returns the exit status of a run that has failed and said
 * why. */
int pair_matrix_measure(const struct pair_matrix_run *run, struct pair_matrix *ret_matrix,
                        struct error *error);
/* From what the processes have printed.  -EPROTO if a path is missing, -E2BIG, -EINVAL of fewer than two nodes. */
int pair_matrix_take(const char *lines, struct pair_matrix *ret_matrix, struct error *error);
void pair_matrix_fini(struct pair_matrix *matrix);
/* from and to below matrix->nodes; of a node to itself both times are 0. */
struct pair_path *pair_matrix_path(const struct pair_matrix *matrix, uint32_t from, uint32_t to);
/* The transfer, or the latency; 0 of a node to itself. */
uint64_t pair_matrix_ns(const struct pair_matrix *matrix, bool is_latency, uint32_t from,
                        uint32_t to);
/* Times of all ordered pairs, or their latencies, which both directions share, so that each pair counts once.  The caller
 * frees them. */
uint64_t *pair_matrix_times(const struct pair_matrix *matrix, bool is_latency, uint32_t *ret_count);
/* The slowest of these, at most maximum, the slowest first; how many.  O(pairs * maximum). */
uint32_t pair_matrix_slowest(const struct pair_matrix *matrix, bool is_latency, uint32_t maximum,
                             struct pair_matrix_pair *ret_pairs);

#endif
