/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/hash.h"

#include <endian.h>
#include <string.h>

#define GOLDEN_RATIO 0x9e3779b97f4a7c15u

uint64_t hash_mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* Up to eight bytes, the first one lowest, on every machine. */
static uint64_t load_word(const unsigned char *bytes, size_t count)
{
    uint64_t word = 0;

    memcpy(&word, bytes, count);
    return le64toh(word);
}

/* The length goes in first, so that a short last word needs no padding mark. */
uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *position = data;
    uint64_t hash = hash_mix(seed + GOLDEN_RATIO) ^ bytes;

    for (; bytes >= 8; bytes -= 8, position += 8)
        hash = hash_mix((hash ^ load_word(position, 8)) + GOLDEN_RATIO);
    if (bytes > 0)
        hash = hash_mix((hash ^ load_word(position, bytes)) + GOLDEN_RATIO);
    return hash_mix(hash);
}

uint64_t hash_string(const char *text)
{
    return hash_bytes(text, strlen(text), 0);
}
