/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The instances that `banyan bench` starts and measures, one at a time: one for each combination of the values of
 * --radix, --fabric, --trees and --shape.  Without these options there is one variant, which says nothing.
 */
#ifndef LAUNCH_CLI_VERB_BENCH_VARIANTS_H
#define LAUNCH_CLI_VERB_BENCH_VARIANTS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "launch/cli/verb/bench_plan.h"
#include "launch/cli/verb/bench_row.h"

#define BENCH_VARIANTS_MAX  256u
#define BENCH_VARIANT_WORDS 7 /* of one, at most */

enum bench_variant_option {
    BENCH_VARIANT_RADIX,
    BENCH_VARIANT_FABRIC,
    BENCH_VARIANT_TREES,
    BENCH_VARIANT_SHAPE,
    BENCH_VARIANT_OPTIONS
};

struct bench_variants {
    struct {
        char **items;   /* owned */
        uint32_t count; /* 0: the option is not given */
    } values[BENCH_VARIANT_OPTIONS];
    uint32_t count; /* of combinations */
};

/* -EINVAL of a value that no instance can have. */
int bench_variants_make(struct bench_variants *ret_variants, const struct bench_settings *settings,
                        struct error *error);
void bench_variants_fini(struct bench_variants *variants);
/* The first of the options that is given, as "--radix", or NULL. */
const char *bench_variants_given(const struct bench_settings *settings);
/* One with more children than there are nodes cannot be measured: -EINVAL. */
int bench_variants_check_radix(const struct bench_variants *variants, uint32_t nodes,
                               struct error *error);
/* The options of `banyan start` for one of them; they belong to the variants.  Returns how many words. */
uint32_t bench_variants_words(const struct bench_variants *variants, uint32_t number,
                              const char *ret_words[BENCH_VARIANT_WORDS]);
/* Shapes that are chosen here are not those of a configuration: in the environment of what is started from now on. */
void bench_variants_export(const struct bench_variants *variants);
/* "radix=2 trees=1": the options that have several values; "": none has. */
void bench_variants_name(const struct bench_variants *variants, uint32_t number,
                         char ret_name[BENCH_ROW_VARIANT_BYTES]);
/* Of libfabric, which the pairs of nodes are measured over, "" for its first; NULL: they are over TCP. */
const char *bench_variants_provider(const struct bench_variants *variants, uint32_t number);

/* Rows of all variants, as many of each, in the same order: for each measurement the variant with the least median, and
 * which others are as fast (bench_compare.h). */
void bench_variants_print_fastest(const struct bench_variants *variants,
                                  const struct bench_row *rows, uint32_t rows_count,
                                  struct buffer *out);

#endif
