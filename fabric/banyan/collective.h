/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An all-to-all exchange as a plan, for `banyan bench --collective FILE`: a shared object that says for each place and
 * step what is sent and received.  banyan checks that every place ends up with the blocks of all, and computes how long
 * it takes (--simulate), or has the nodes of an instance carry it out.  Place p begins with block p; the places are
 * numbered from 0.
 *
 *     cc -shared -fPIC -o ring.so ring.c && banyan bench --simulate 64 --collective ./ring.so
 *
 * A place sends in a step what it had at the beginning of that step, and has what it receives at its end; it begins the
 * next step when all its messages of this one have been sent and received.  What one sends in a step the other
 * receives in the same step, in the same order if there are several.
 *
 * In an instance place 0 is the root, and the others are the nodes in their order.  Its daemons have the links of a tree
 * of radix `radix` only: a message between any two places goes along the tree, through the daemons in between.  latency_ns,
 * message_ns and byte_ps are those of the simulation there, too.  At most 256 places can take part.
 */
#ifndef FABRIC_BANYAN_COLLECTIVE_H
#define FABRIC_BANYAN_COLLECTIVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BANYAN_COLLECTIVE_INTERFACE 1u

/* What a plan may depend on. */
struct banyan_collective_topology {
    uint32_t places;
    uint32_t radix;       /* of banyan's tree */
    uint64_t block_bytes; /* of each place's block */
    uint64_t latency_ns;  /* of a message, one way */
    uint64_t message_ns;  /* of CPU, at each end of it */
    uint64_t byte_ps;     /* of a port, in each direction */
};

enum banyan_collective_kind {
    BANYAN_COLLECTIVE_SEND,
    BANYAN_COLLECTIVE_RECEIVE,
    BANYAN_COLLECTIVE_KIND_COUNT
};

/* One message: blocks first, first + 1 ... modulo places. */
struct banyan_collective_move {
    uint32_t kind; /* enum banyan_collective_kind */
    uint32_t peer;
    uint32_t first;
    uint32_t blocks; /* 1 .. places */
};

typedef void banyan_collective_add(void *context, const struct banyan_collective_move *move);

struct banyan_collective {
    uint32_t interface; /* BANYAN_COLLECTIVE_INTERFACE */
    const char *name;
    /* Calls add for each message of that place in that step, the first of which is 0.  1: it has one, or waits for a
     * later one; 0: its last one is over (nothing is added); or a negative errno: there is no plan for this topology.
     * Called often, and in any order: it keeps nothing. */
    int (*plan)(const struct banyan_collective_topology *topology, uint32_t place, uint32_t step,
                banyan_collective_add *add, void *context);
};

/* What the shared object defines. */
extern const struct banyan_collective banyan_collective;

#ifdef __cplusplus
}
#endif

#endif
