/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/random.h"

#include <assert.h>

#include "base/hash.h"

static uint64_t rotate_left(uint64_t word, int bits)
{
    return (word << bits) | (word >> (64 - bits));
}

/* splitmix64 spreads the seed; it never gives four zero words, which xoshiro could not leave. */
void random_init(struct random_state *state, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        state->words[i] = hash_mix(seed);
    }
}

/* xoshiro256** of Blackman and Vigna, 2018. */
uint64_t random_next(struct random_state *state)
{
    uint64_t *s = state->words;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t random_below(struct random_state *state, uint64_t bound)
{
    uint64_t rejected; /* 2^64 mod bound: that many low values would bias the result */
    uint64_t value;

    assert(bound > 0);
    rejected = -bound % bound;
    do
        value = random_next(state);
    while (value < rejected);
    return value % bound;
}

double random_unit(struct random_state *state)
{
    return (double)(random_next(state) >> 11) * 0x1.0p-53;
}

bool random_chance(struct random_state *state, double probability)
{
    return random_unit(state) < probability;
}
