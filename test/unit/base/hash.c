/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/hash.h"
#include "test/support/tap.h"

#include <string.h>

#include "base/random.h"

static int bits_set(uint64_t word)
{
    return __builtin_popcountll(word);
}

/* Each flipped input bit flips about half of the output's: the mean over many words. */
static void test_avalanche(void)
{
    struct random_state random;
    double flipped = 0;
    int rounds = 0;

    random_init(&random, 1);
    for (int round = 0; round < 1000; round++) {
        unsigned char bytes[24];
        uint64_t before;

        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (unsigned char)random_next(&random);
        before = hash_bytes(bytes, sizeof(bytes), 0);
        for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            flipped += bits_set(before ^ hash_bytes(bytes, sizeof(bytes), 0));
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            rounds++;
        }
    }
    flipped /= rounds;
    ok(flipped > 31.5 && flipped < 32.5, "a flipped bit flips half of the hash (%.2f)", flipped);
}

/* Names of a machine fall evenly into the slots of a table. */
static void test_spread(void)
{
    unsigned int slots[1024] = {0};
    unsigned int most = 0;

    for (uint64_t i = 0; i < 1024u * 16; i++) {
        unsigned int *slot = &slots[hash_bytes(&i, sizeof(i), 0) % 1024];

        (*slot)++;
        most = *slot > most ? *slot : most;
    }
    ok(most < 48, "16 words a slot on average, %u at most", most);
}

int main(void)
{
    static const unsigned char zeros[17];
    int distinct = 1;

    /* These go over the wire: they must never change, on any machine. */
    is_uint(hash_mix(1), 0x5692161d100b05e5u, "hash_mix of 1");
    is_uint(hash_mix(0), 0, "hash_mix of 0");
    is_uint(hash_string(""), 5197578548964807871u, "hash of no bytes");
    is_uint(hash_string("banyan"), 16965927431496773661u, "hash of a name");
    is_uint(hash_bytes("0123456789abcdef!", 17, 7), 6703606761986253565u,
            "hash of three words with a seed");

    for (size_t i = 0; i < sizeof(zeros); i++)
        distinct = distinct && hash_bytes(zeros, i, 0) != hash_bytes(zeros, i + 1, 0);
    ok(distinct, "runs of zeros of other lengths have other hashes");
    ok(hash_bytes("a", 1, 1) != hash_bytes("a", 1, 2), "another seed, another hash");
    ok(hash_bytes("abcdefgh01234567", 16, 0) != hash_bytes("01234567abcdefgh", 16, 0),
       "the order of words counts");
    test_avalanche();
    test_spread();
    return done_testing();
}
