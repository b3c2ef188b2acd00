/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/time.h"
#include "launch/exec/helper_state.h"

#define BLOCK_BYTES 512u /* of getrusage(2) */

static enum helper_end end_of(struct helper_state *state, const struct worker *worker, int status)
{
    if (worker->ended_by_us)
        return HELPER_END_US;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return helper_group_killer(state, worker->group);
    return HELPER_END_OTHERS;
}

static uint64_t microseconds(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * (NS_PER_S / NS_PER_US) + (uint64_t)time->tv_usec;
}

static struct usage_rank usage_of(const struct rusage *usage)
{
    struct usage_rank what;

    what.values[USAGE_USER_US] = microseconds(&usage->ru_utime);
    what.values[USAGE_SYSTEM_US] = microseconds(&usage->ru_stime);
    what.values[USAGE_MEMORY_BYTES] = (uint64_t)usage->ru_maxrss * 1024;
    what.values[USAGE_READ_BYTES] = (uint64_t)usage->ru_inblock * BLOCK_BYTES;
    what.values[USAGE_WRITTEN_BYTES] = (uint64_t)usage->ru_oublock * BLOCK_BYTES;
    return what;
}

void helper_exit_tell(struct helper_state *state, const struct worker *worker, int wait_status,
                      const struct rusage *usage)
{
    struct helper_event event = {.type = HELPER_EXITED,
                                 .id = worker->id,
                                 .value = wait_status,
                                 .detail = (uint32_t)end_of(state, worker, wait_status),
                                 .usage = usage_of(usage)};

    assert(!worker->failed);
    helper_event_encode(&event, &state->events);
}
