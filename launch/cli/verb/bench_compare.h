/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements against those of an earlier run, which `banyan bench --json` has written.  Two medians differ if the
 * intervals in which they lie with a probability of 95 % do not overlap.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_COMPARE_H
#define LAUNCH_CLI_VERB_BENCH_COMPARE_H

#include "base/error.h"
#include "launch/cli/verb/bench_row.h"

enum bench_verdict {
    BENCH_VERDICT_NEW, /* the earlier run has no such measurement */
    BENCH_VERDICT_SAME,
    BENCH_VERDICT_FASTER,
    BENCH_VERDICT_SLOWER,
    BENCH_VERDICT_COUNT
};

struct bench_earlier {
    struct bench_row *rows; /* without levels */
    uint32_t count;
};

/* An error names the file. */
int bench_compare_read(struct bench_earlier *ret_earlier, const char *path, struct error *error);
void bench_compare_fini(struct bench_earlier *earlier);
/* *ret_before: the earlier one, or NULL. */
enum bench_verdict bench_compare_row(const struct bench_earlier *earlier,
                                     const struct bench_row *row,
                                     const struct bench_row **ret_before);
const char *bench_compare_word(enum bench_verdict verdict);
/* A table of all rows; how many are slower. */
uint32_t bench_compare_print(const struct bench_earlier *earlier, const struct bench_row *rows,
                             uint32_t count, struct buffer *out);

#endif
