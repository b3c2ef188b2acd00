/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole daemons in random worlds with several clients and jobs (test/support/daemon_world.h).  SEED=n runs
 * one of them and tells what happens, SEEDS=n that many.
 */
#include "config.h"

#include <stdlib.h>

#include "test/support/daemon_world.h"
#include "test/support/tap.h"

#define SEEDS 1200u /* 1.4 s of a core */

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

static void judge_totals(const struct daemon_totals *totals)
{
    diag(
        "%u jobs in %u worlds: %u ended well, in %u a rank failed, %u were ended by their users, %u "
        "refused, %u lost a node",
        totals->jobs, totals->worlds, totals->well, totals->failed, totals->wished, totals->refused,
        totals->lost);
    diag("%u fences called, %u lines about who is waited for; %u clients hung up, %u jobs were "
         "detached; %u daemons died, %u were stopped; %u worlds grew, %u shrank",
         totals->fences, totals->stall_lines, totals->gone, totals->detached, totals->hurt,
         totals->stopped, totals->grown, totals->shrunk);
    ok(totals->well > 0 && totals->failed > 0 && totals->wished > 0 && totals->refused > 0 &&
           totals->lost > 0 && totals->gone > 0 && totals->detached > 0 &&
           totals->stall_lines > 0 && totals->fences > 0 && totals->hurt > 0 &&
           totals->stopped > 0 && totals->grown > 0 && totals->shrunk > 0,
       "everything happened in some world");
}

int main(void)
{
    bool is_one = getenv("SEED") != NULL;
    uint64_t first = setting("SEED", 1), seeds = is_one ? 1 : setting("SEEDS", SEEDS);
    struct daemon_totals totals = {0};
    uint32_t bad = 0;

    for (uint64_t seed = first; seed < first + seeds; seed++) {
        char wrong[512];

        daemon_world_run(seed, is_one, &totals, wrong);
        if (wrong[0] == '\0')
            continue;
        fail("seed %llu: %s; again: SEED=%llu test/soak/daemon_soak.t", (unsigned long long)seed,
             wrong, (unsigned long long)seed);
        if (++bad == 20)
            break;
    }
    ok(bad == 0, "%llu worlds with several clients and jobs", (unsigned long long)seeds);
    if (seeds >= SEEDS)
        judge_totals(&totals);
    return done_testing();
}
