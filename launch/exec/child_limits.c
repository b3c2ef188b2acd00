/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/exec/child_limits.h"

#include <assert.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "launch/exec/raw_syscall.h"

#define NICE_LOWEST 19
#define NICE_BIAS   20 /* getpriority of the kernel answers 20 - nice */

static const int limit_resources[PROCESS_LIMIT_KIND_COUNT] = {
    [PROCESS_LIMIT_AS] = RLIMIT_AS,
    [PROCESS_LIMIT_CORE] = RLIMIT_CORE,
    [PROCESS_LIMIT_CPU] = RLIMIT_CPU,
    [PROCESS_LIMIT_DATA] = RLIMIT_DATA,
    [PROCESS_LIMIT_FSIZE] = RLIMIT_FSIZE,
    [PROCESS_LIMIT_LOCKS] = RLIMIT_LOCKS,
    [PROCESS_LIMIT_MEMLOCK] = RLIMIT_MEMLOCK,
    [PROCESS_LIMIT_MSGQUEUE] = RLIMIT_MSGQUEUE,
    [PROCESS_LIMIT_NICE] = RLIMIT_NICE,
    [PROCESS_LIMIT_NOFILE] = RLIMIT_NOFILE,
    [PROCESS_LIMIT_NPROC] = RLIMIT_NPROC,
    [PROCESS_LIMIT_RSS] = RLIMIT_RSS,
    [PROCESS_LIMIT_RTPRIO] = RLIMIT_RTPRIO,
    [PROCESS_LIMIT_RTTIME] = RLIMIT_RTTIME,
    [PROCESS_LIMIT_SIGPENDING] = RLIMIT_SIGPENDING,
    [PROCESS_LIMIT_STACK] = RLIMIT_STACK,
};

/* The kernel's struct: 64 bits everywhere. */
struct limit_pair {
    uint64_t soft;
    uint64_t hard;
};

static long limit_set(int resource, const struct process_limit *limit)
{
    struct limit_pair pair = {0};
    long rc = raw_syscall(SYS_prlimit64, 0, resource, 0, (long)&pair, 0);

    if (rc < 0)
        return rc;
    assert(limit->rule < PROCESS_LIMIT_RULE_COUNT);
    pair.soft = limit->rule == PROCESS_LIMIT_RAISE ? pair.hard : limit->soft;
    if (limit->rule == PROCESS_LIMIT_BOTH)
        pair.hard = limit->hard;
    return raw_syscall(SYS_prlimit64, 0, resource, (long)&pair, 0, 0);
}

static long nice_add(int increment)
{
    long rc = raw_syscall(SYS_getpriority, PRIO_PROCESS, 0, 0, 0, 0);
    long value = NICE_BIAS - rc + increment;

    if (rc < 0)
        return rc;
    value = value > NICE_LOWEST ? NICE_LOWEST : value;
    return raw_syscall(SYS_setpriority, PRIO_PROCESS, 0, value, 0, 0);
}

long child_limits_set(const struct process_limits *limits, const char **ret_refused)
{
    long rc = limits->nice != 0 ? nice_add(limits->nice) : 0;

    *ret_refused = "nice value";
    for (unsigned int i = 0; rc >= 0 && i < PROCESS_LIMIT_KIND_COUNT; i++) {
        if (limits->items[i].rule == PROCESS_LIMIT_KEEP)
            continue;
        *ret_refused = process_limits_name((enum process_limit_kind)i);
        rc = limit_set(limit_resources[i], &limits->items[i]);
    }
    if (limits->umask_is_set)
        (void)raw_syscall(SYS_umask, limits->umask, 0, 0, 0, 0);
    return rc < 0 ? rc : 0;
}
