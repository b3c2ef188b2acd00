/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much output of which node's ranks of a job has been sent on and not been written yet.  Memory: an entry for each
 * of these nodes.
 */
#ifndef LAUNCH_PROTO_UNWRITTEN_H
#define LAUNCH_PROTO_UNWRITTEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_map.h"

/* Zeroed: none. */
struct unwritten {
    struct hash_map *bytes; /* job << 32 | place -> bytes (uintptr_t), never 0; NULL: nothing */
};

struct unwritten_part {
    uint32_t job;
    uint32_t place;
    uint32_t bytes;
};

void unwritten_fini(struct unwritten *unwritten);
int unwritten_is_empty(const struct unwritten *unwritten);
void unwritten_add(struct unwritten *unwritten, const struct unwritten_part *part);
/* Of that node and job at most part->bytes; how many. */
uint32_t unwritten_take(struct unwritten *unwritten, const struct unwritten_part *part);
/* Of the next of them, at most bytes_max, which is not 0: begin with *cursor = 0, and add nothing in between.  0: nothing
 * is left. */
int unwritten_take_next(struct unwritten *unwritten, size_t *cursor, uint64_t bytes_max,
                        struct unwritten_part *ret_part);

#endif
