/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of uint32 numbers (places, ranks) as a sorted array of disjoint, non-adjacent closed
 * ranges.  Invariant: first <= last, and a gap of at least one number between neighbours.
 * Cost: O(log k) to ask, O(k) to change, k = number of ranges.  A zeroed struct is the empty set.
 * Everywhere first <= last.
 */
#ifndef BASE_RANGES_H
#define BASE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

struct range {
    uint32_t first;
    uint32_t last; /* inclusive */
};

struct ranges {
    struct range *items;
    uint32_t count;
    uint32_t capacity;
};

void ranges_init(struct ranges *set);
void ranges_fini(struct ranges *set);
void ranges_clear(struct ranges *set);
void ranges_copy(struct ranges *target, const struct ranges *source); /* replaces target */
void ranges_move(struct ranges *target, struct ranges *source);       /* source is empty after */
void ranges_add(struct ranges *set, uint32_t first, uint32_t last);
void ranges_remove(struct ranges *set, uint32_t first, uint32_t last);
void ranges_add_all(struct ranges *set, const struct ranges *other);
void ranges_remove_all(struct ranges *set, const struct ranges *other);
/* Keeps what lies in [first, last]. */
void ranges_clip(struct ranges *set, uint32_t first, uint32_t last);
/* ret_set := a and b; ret_set must not be a or b. */
void ranges_intersect(const struct ranges *a, const struct ranges *b, struct ranges *ret_set);

bool ranges_is_empty(const struct ranges *set);
bool ranges_contains(const struct ranges *set, uint32_t number);
bool ranges_contains_all(const struct ranges *set, const struct ranges *other);
bool ranges_overlap(const struct ranges *set, uint32_t first, uint32_t last);
bool ranges_overlap_set(const struct ranges *a, const struct ranges *b);
bool ranges_equal(const struct ranges *a, const struct ranges *b);
uint64_t ranges_count(const struct ranges *set); /* how many numbers; O(k) */
uint64_t ranges_count_within(const struct ranges *set, uint32_t first, uint32_t last);
/* Smallest number of [first, last] that is NOT in the set; 1 and *ret_number if there is one.
 * O(log k).  This is "the first living place of a range" when set holds the dead. */
bool ranges_first_gap(const struct ranges *set, uint32_t first, uint32_t last,
                      uint32_t *ret_number);
/* Smallest number >= from that is in the set; 1 and *ret_number if there is one. */
bool ranges_next(const struct ranges *set, uint32_t from, uint32_t *ret_number);
uint32_t ranges_min(const struct ranges *set); /* set must not be empty */
uint32_t ranges_max(const struct ranges *set);

/* Delta-encoded varints; a single contiguous set costs 3..11 bytes, 3 if its numbers are small. */
void ranges_encode(const struct ranges *set, struct buffer *out);
/* Replaces ret_set, which stays as it is when the reader fails: on more than ranges_maximum ranges
 * or on numbers beyond 32 bits.  The encoding has no form for disorder or for touching ranges. */
void ranges_decode(struct wire_reader *reader, uint32_t ranges_maximum, struct ranges *ret_set);
/* "1-3,7"; appended to out. */
void ranges_print(const struct ranges *set, struct buffer *out);

#endif
