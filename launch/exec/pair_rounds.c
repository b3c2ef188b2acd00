/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/pair_rounds.h"

#include <assert.h>

/* An odd number is made even: who meets the process that does not exist is free in that round. */
static uint32_t even(uint32_t processes)
{
    return processes + (processes & 1);
}

uint32_t pair_rounds_count(uint32_t processes)
{
    return processes > 1 ? even(processes) - 1 : 0;
}

/* The circle method: the last process stays, the others turn around it.  In round r those meet whose sum is r modulo
 * their number, and who would meet itself meets the last one. */
uint32_t pair_rounds_peer(uint32_t processes, uint32_t round, uint32_t process)
{
    uint32_t last = even(processes) - 1, peer;

    assert(process < processes && round < pair_rounds_count(processes));
    if (process == last) {
        /* 2 x = r modulo an odd number has one solution. */
        peer = (uint32_t)((uint64_t)round * ((last + 1) / 2) % last);
    } else {
        peer = (uint32_t)(((uint64_t)round + last - process) % last);
        if (peer == process)
            peer = last;
    }
    assert(peer != process);
    return peer < processes ? peer : PAIR_NONE;
}
