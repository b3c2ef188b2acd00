/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the plan of a collective (fabric/banyan/collective.h), and computes how long it takes: what is sent is
 * received, nobody sends what it does not have, and at the end every place has all blocks.  Times are those of a model:
 * each message costs its sender and its receiver CPU time, its bytes the ports of both, at the same
 * time, and in between there is a latency; each place has its own CPU and port.
 * Cost: O(messages * log of the messages of a step); memory: the blocks of each place as ranges.
 */
#ifndef LAUNCH_CLI_VERB_COLLECTIVE_PLAN_H
#define LAUNCH_CLI_VERB_COLLECTIVE_PLAN_H

#include <stdint.h>

#include "base/error.h"
#include "fabric/banyan/collective.h"

struct collective_result {
    uint32_t steps;
    uint64_t messages;
    uint64_t bytes;
    uint64_t most_bytes; /* sent by one place */
    uint64_t time_ns;    /* until the last place has all blocks */
};

/* The error names step and places of what is wrong. */
int collective_plan_run(const struct banyan_collective *collective,
                        const struct banyan_collective_topology *topology,
                        struct collective_result *ret_result, struct error *error);

#endif
