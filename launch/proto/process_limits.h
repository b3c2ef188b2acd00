/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of an application are given beside program, environment and directory: limits of
 * resources, a file mode mask and a nice value.  All zero changes nothing.  Kinds have numbers of ours,
 * since those of the system differ between architectures.
 */
#ifndef LAUNCH_PROTO_PROCESS_LIMITS_H
#define LAUNCH_PROTO_PROCESS_LIMITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

enum process_limit_kind {
    PROCESS_LIMIT_AS,
    PROCESS_LIMIT_CORE,
    PROCESS_LIMIT_CPU,
    PROCESS_LIMIT_DATA,
    PROCESS_LIMIT_FSIZE,
    PROCESS_LIMIT_LOCKS,
    PROCESS_LIMIT_MEMLOCK,
    PROCESS_LIMIT_MSGQUEUE,
    PROCESS_LIMIT_NICE,
    PROCESS_LIMIT_NOFILE,
    PROCESS_LIMIT_NPROC,
    PROCESS_LIMIT_RSS,
    PROCESS_LIMIT_RTPRIO,
    PROCESS_LIMIT_RTTIME,
    PROCESS_LIMIT_SIGPENDING,
    PROCESS_LIMIT_STACK,
    PROCESS_LIMIT_KIND_COUNT
};

#define PROCESS_LIMIT_NONE UINT64_MAX /* unlimited, also for the kernel */
#define PROCESS_UMASK_MAX  0777u
#define PROCESS_NICE_MAX   20 /* up or down */

/* How a limit is set, with the limits that a process has on its node. */
enum process_limit_rule {
    PROCESS_LIMIT_KEEP, /* not at all */
    PROCESS_LIMIT_SOFT, /* the soft one */
    PROCESS_LIMIT_BOTH,
    PROCESS_LIMIT_RAISE, /* the soft one, to the hard one */
    PROCESS_LIMIT_RULE_COUNT
};

struct process_limit {
    enum process_limit_rule rule;
    uint64_t soft; /* 0 with KEEP and RAISE, likewise hard with SOFT */
    uint64_t hard;
};

struct process_limits {
    struct process_limit items[PROCESS_LIMIT_KIND_COUNT];
    uint16_t umask;
    uint8_t umask_is_set;
    int8_t nice; /* added to that of the daemon */
};

/* As in --rlimit, "nofile". */
const char *process_limits_name(enum process_limit_kind kind);
/* PROCESS_LIMIT_KIND_COUNT if there is none of that name. */
enum process_limit_kind process_limits_find(const char *name, size_t name_bytes);
void process_limits_encode(const struct process_limits *limits, struct buffer *out);
/* Fails the reader if they are invalid; all zero then. */
void process_limits_decode(struct wire_reader *reader, struct process_limits *ret_limits);

#endif
