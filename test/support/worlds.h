/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of soaks whose worlds are made of a seed each.
 */
#ifndef TEST_SUPPORT_WORLDS_H
#define TEST_SUPPORT_WORLDS_H

#include <stdbool.h>
#include <stdint.h>

#define WORLDS_RESULTS 3

/* Runs the world of the seed in argv, which must not be wrong, and returns false; without one those of seeds
 * 1..worlds, counts their results (0 .. WORLDS_RESULTS - 1; negative: wrong), and returns true. */
bool worlds_run(int argc, char **argv, int (*run_world)(uint64_t seed), uint64_t worlds,
                uint32_t ret_counts[WORLDS_RESULTS], uint32_t *ret_wrong);

#endif
