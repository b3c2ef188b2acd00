/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of numbers as options of `banyan bench` have them: "0,8,1K..1M", where .. means each power of two times the
 * first. */
#ifndef LAUNCH_CLI_VERB_BENCH_NUMBERS_H
#define LAUNCH_CLI_VERB_BENCH_NUMBERS_H

#include <stdint.h>

#define BENCH_NUMBERS_MAX 256u

struct bench_numbers {
    uint32_t items[BENCH_NUMBERS_MAX];
    uint32_t count;
};

/* -EINVAL if it is not such a list, of at most BENCH_NUMBERS_MAX numbers up to maximum. */
int bench_numbers_parse(const char *text, uint32_t maximum, struct bench_numbers *ret_numbers);
/* Ascending, and each once. */
void bench_numbers_sort(struct bench_numbers *numbers);

#endif
