/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/worlds.h"

#include <assert.h>
#include <stdlib.h>

#include "test/support/tap.h"

bool worlds_run(int argc, char **argv, int (*run_world)(uint64_t seed), uint64_t worlds,
                uint32_t ret_counts[WORLDS_RESULTS], uint32_t *ret_wrong)
{
    if (argc > 1) {
        ok(run_world(strtoull(argv[1], NULL, 10)) >= 0, "seed %s", argv[1]);
        return false;
    }
    for (uint64_t seed = 1; seed <= worlds; seed++) {
        int result = run_world(seed);

        assert(result < WORLDS_RESULTS);
        if (result < 0)
            (*ret_wrong)++;
        else
            ret_counts[result]++;
    }
    return true;
}
