/* SPDX-License-Identifier: BSD-3-Clause */
/* What a worker refuses; that it measures shows run_measure.sh. */
#include "config.h"

#include "launch/exec/pair_worker.h"

#include <stdlib.h>

#include "launch/proto/exit_status.h"
#include "test/support/tap.h"

static int worker(const char *bytes, const char *repeats, int count)
{
    char *argv[] = {(char *)(uintptr_t)bytes, (char *)(uintptr_t)repeats};

    return pair_worker_run(count, argv);
}

int main(void)
{
    unsetenv("PMI_FD");
    is_int(worker("8", "1", 2), EXIT_STATUS_FAILED, "without a launcher");
    is_int(worker("8", NULL, 1), EXIT_STATUS_FAILED, "without repetitions");
    is_int(worker("0", "1", 2), EXIT_STATUS_FAILED, "no bytes");
    is_int(worker("8x", "1", 2), EXIT_STATUS_FAILED, "what is no number");
    is_int(worker("1073741825", "1", 2), EXIT_STATUS_FAILED, "too many bytes");
    is_int(worker("8", "100001", 2), EXIT_STATUS_FAILED, "too many repetitions");
    is_uint(pair_worker_way_ns(10000, 2000), 8000, "a transfer without its answer");
    is_uint(pair_worker_way_ns(1024, 7000), 512, "a disturbed latency leaves half of the time");
    is_uint(pair_worker_way_ns(1, 7000), 1, "something at least");
    return done_testing();
}
