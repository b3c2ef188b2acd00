/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/process_limits.h"

#include <assert.h>
#include <string.h>

static const char *const limit_names[PROCESS_LIMIT_KIND_COUNT] = {
    [PROCESS_LIMIT_AS] = "as",
    [PROCESS_LIMIT_CORE] = "core",
    [PROCESS_LIMIT_CPU] = "cpu",
    [PROCESS_LIMIT_DATA] = "data",
    [PROCESS_LIMIT_FSIZE] = "fsize",
    [PROCESS_LIMIT_LOCKS] = "locks",
    [PROCESS_LIMIT_MEMLOCK] = "memlock",
    [PROCESS_LIMIT_MSGQUEUE] = "msgqueue",
    [PROCESS_LIMIT_NICE] = "nice",
    [PROCESS_LIMIT_NOFILE] = "nofile",
    [PROCESS_LIMIT_NPROC] = "nproc",
    [PROCESS_LIMIT_RSS] = "rss",
    [PROCESS_LIMIT_RTPRIO] = "rtprio",
    [PROCESS_LIMIT_RTTIME] = "rttime",
    [PROCESS_LIMIT_SIGPENDING] = "sigpending",
    [PROCESS_LIMIT_STACK] = "stack",
};

const char *process_limits_name(enum process_limit_kind kind)
{
    assert(kind < PROCESS_LIMIT_KIND_COUNT && limit_names[kind] != NULL);
    return limit_names[kind];
}

enum process_limit_kind process_limits_find(const char *name, size_t name_bytes)
{
    unsigned int kind = 0;

    while (kind < PROCESS_LIMIT_KIND_COUNT && (strlen(limit_names[kind]) != name_bytes ||
                                               memcmp(limit_names[kind], name, name_bytes) != 0))
        kind++;
    return (enum process_limit_kind)kind;
}
