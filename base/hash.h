/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-cryptographic 64-bit hashing: for tables, for the placement's sum and for names of sets.
 * Stable over versions and machines: the placement's hash goes over the wire.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Bijective mixing of one word (the finaliser of splitmix64). */
uint64_t hash_mix(uint64_t value);
uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed);
uint64_t hash_string(const char *text);

#endif
