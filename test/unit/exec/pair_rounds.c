/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/pair_rounds.h"

#include <stdlib.h>

#include "base/memory.h"
#include "test/support/tap.h"

/* Do all meet all others once, and is the peer of a peer the process itself? */
static int meets_all(uint32_t processes)
{
    uint8_t *met = memory_allocate_zeroed((size_t)processes * processes + 1);
    int good = 1;

    for (uint32_t round = 0; round < pair_rounds_count(processes); round++) {
        for (uint32_t own = 0; own < processes; own++) {
            uint32_t peer = pair_rounds_peer(processes, round, own);

            if (peer == PAIR_NONE)
                continue;
            good &=
                peer < processes && peer != own && pair_rounds_peer(processes, round, peer) == own;
            if (good)
                met[(size_t)own * processes + peer]++;
        }
    }
    for (uint32_t i = 0; i < processes; i++) {
        for (uint32_t j = 0; j < processes; j++)
            good &= met[(size_t)i * processes + j] == (i != j);
    }
    free(met);
    return good;
}

static uint32_t idle_in(uint32_t processes, uint32_t round)
{
    uint32_t idle = 0;

    for (uint32_t own = 0; own < processes; own++)
        idle += pair_rounds_peer(processes, round, own) == PAIR_NONE;
    return idle;
}

int main(void)
{
    int good = 1;

    is_int(pair_rounds_count(0), 0, "nobody: no round");
    is_int(pair_rounds_count(1), 0, "one: no round");
    is_int(pair_rounds_count(2), 1, "two: one round");
    is_int(pair_rounds_count(64), 63, "an even number");
    is_int(pair_rounds_count(65), 65, "an odd number");
    for (uint32_t processes = 1; processes <= 130; processes++)
        good &= meets_all(processes);
    ok(good, "all meet all others once, of 1 to 130");
    is_int(idle_in(64, 17), 0, "of an even number nobody is idle");
    is_int(idle_in(65, 17), 1, "of an odd number one is idle in a round");
    return done_testing();
}
