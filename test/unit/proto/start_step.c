/* SPDX-License-Identifier: BSD-3-Clause */
/* Each step of a start has a name of its own. */
#include "config.h"

#include "launch/proto/start_step.h"

#include <string.h>

#include "test/support/tap.h"

int main(void)
{
    for (int i = 0; i < START_STEP_COUNT; i++) {
        const char *name = start_step_name((enum start_step)i);
        int same = 0;

        for (int j = 0; name != NULL && j < START_STEP_COUNT; j++)
            same += strcmp(name, start_step_name((enum start_step)j)) == 0;
        ok(name != NULL && name[0] != '\0' && same == 1, "step %d is %s", i, name);
    }
    return done_testing();
}
