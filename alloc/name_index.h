/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which host has a name, while an allocation is built: names one by one in a hash table, and long
 * runs as they are, by their prefix and number.  Cost: O(1) expected for a name, plus a hash and
 * O(log long runs of that prefix) for each digit in it if it is not in the table; more where such runs
 * overlap.
 */
#ifndef ALLOC_NAME_INDEX_H
#define ALLOC_NAME_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "alloc/hostlist.h"

/* Shorter runs are taken apart into names. */
#define NAME_INDEX_RUN_MIN 65u

struct name_index;

struct name_index *name_index_create(void);
/* Of all names of a list, each with its index there. */
struct name_index *name_index_of(const struct hostlist *list);
void name_index_destroy(struct name_index *index);
/* Index of the host of that name, or -1. */
int64_t name_index_find(const struct name_index *index, const char *name, size_t name_bytes);
/* Adds the names of a run, none of which is there yet; its first host has the index `host`.
 * O(prefix) if the run is long and comes after the others of its prefix, else O(its names), or a
 * move of the others. */
void name_index_add(struct name_index *index, const struct host_run *run, uint32_t host);
/* 0 if surely no name of the run is there.  O(long runs of its prefix + the lesser of single names
 * and run length). */
bool name_index_may_hold(const struct name_index *index, const struct host_run *run);

#endif
