/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of an exchange (fabric/banyan/collective.h) as an instance carries it out: for each of its places, numbered
 * from 0, what it sends and receives in each step.  A client of the root computes it, the root checks and broadcasts
 * it, and each place keeps its own part.
 *
 * Cost: some 5 bytes on the wire for each message at each of its ends; a check is O(messages), once, at the root.
 */
#ifndef LAUNCH_PROTO_EXCHANGE_PLAN_H
#define LAUNCH_PROTO_EXCHANGE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

#define EXCHANGE_PLAN_PLACES_MAX 256u
#define EXCHANGE_PLAN_STEPS_MAX  1024u
#define EXCHANGE_PLAN_BYTES_MAX  (1024u * 1024) /* encoded, of all places */

/* A message: blocks first, first + 1 ... modulo the number of places. */
struct exchange_plan_move {
    uint32_t step;
    uint32_t peer;
    uint32_t first;
    uint32_t blocks;
    bool is_send;
};

/* What one place does, in the order of the steps.  A zeroed struct is empty. */
struct exchange_plan_part {
    struct exchange_plan_move *moves; /* owned */
    uint32_t count;
    uint32_t capacity;
    uint32_t steps;
};

/* A set of blocks. */
struct exchange_plan_blocks {
    uint64_t words[EXCHANGE_PLAN_PLACES_MAX / 64];
};

void exchange_plan_part_add(struct exchange_plan_part *part, const struct exchange_plan_move *move);
void exchange_plan_part_fini(struct exchange_plan_part *part);

/* Of that many places; the move's blocks are among them. */
void exchange_plan_blocks_add(struct exchange_plan_blocks *set,
                              const struct exchange_plan_move *move, uint32_t places);
bool exchange_plan_blocks_contain(const struct exchange_plan_blocks *set,
                                  const struct exchange_plan_move *move, uint32_t places);
/* All blocks are there. */
bool exchange_plan_blocks_full(const struct exchange_plan_blocks *set, uint32_t places);

/* parts: one for each place. */
void exchange_plan_encode(const struct exchange_plan_part *parts, uint32_t places,
                          struct buffer *out);
/* The part of a place.  -EBADMSG, and nothing to free: it is not a plan of that many places. */
int exchange_plan_pick(struct wire_bytes plan, uint32_t places, uint32_t place,
                       struct exchange_plan_part *ret_part);
/* For how many places it is; 0: it is not a plan. */
uint32_t exchange_plan_places(struct wire_bytes plan);
/* Every place ends up with all blocks, sends what it has, and what is sent is received in the same step.  -ESTALE: it is for another number of places; -EBADMSG: it is wrong. */
int exchange_plan_check(struct wire_bytes plan, uint32_t places);

#endif
