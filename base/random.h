/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deterministic pseudo-random numbers (xoshiro256**) from a seed: for simulation and tests, never
 * for secrets.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct random_state {
    uint64_t words[4];
};

void random_init(struct random_state *state, uint64_t seed);
uint64_t random_next(struct random_state *state);
uint64_t random_below(struct random_state *state, uint64_t bound); /* 0..bound-1, unbiased */
double random_unit(struct random_state *state);                    /* [0, 1) */
bool random_chance(struct random_state *state, double probability);

#endif
