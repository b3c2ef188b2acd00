/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What daemon and helper say to each other over their SOCK_SEQPACKET pair.  Both are the same
 * program, so there is no version.  A request may be longer than a packet: each packet begins with
 * one byte, 1 if more of the same request follows; descriptors travel with the first packet.
 * Events have a fixed size and a packet holds as many as there are.
 */
#ifndef LAUNCH_EXEC_HELPER_WIRE_H
#define LAUNCH_EXEC_HELPER_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"
#include "launch/exec/helper.h"
#include "launch/proto/usage.h"

/* The system splits records of such a pair above about 48 KiB. */
#define HELPER_PACKET_BYTES_MAX  (32u * 1024)
#define HELPER_REQUEST_BYTES_MAX (64u * 1024 * 1024)
#define HELPER_TEXT_BYTES        64
#define HELPER_MASK_BYTES_MAX    (128u * 1024) /* of as many processors as base/topology.h has */

enum helper_request_type {
    HELPER_START,
    HELPER_START_DAEMON,
    HELPER_SURVEY,
    HELPER_STAGE,
    HELPER_STACKS,
    HELPER_SIGNAL_GROUP,
    HELPER_SIGNAL,
    HELPER_END_GROUP,
    HELPER_SEAL_GROUP, /* no more processes of the group will come for now */
    HELPER_OWN_DIRECTORY,
    HELPER_LEASE,
    HELPER_DETACH, /* its standard error is /dev/null from now on */
    HELPER_REQUEST_COUNT
};

/* Bits of a START's value. */
#define HELPER_START_STOPPED    1u
#define HELPER_START_ENDS_GROUP 2u
#define HELPER_START_TERMINAL   4u /* its descriptor 0 is one, and becomes that of a new session */

struct helper_request {
    enum helper_request_type type;
    uint64_t id;
    uint32_t group;
    uint32_t
        value; /* bits of survey_want, signal number, grace, limit or lease in milliseconds, 1: remove it now, too, or: a
                          daemon that outlives us, or HELPER_START_* */
    const char *
        path; /* working directory, owned directory, virtual base or directory of staged files; may be NULL */
    const char *
        name; /* of the virtual node, what is required of this one, or the cache of staged files; may be NULL */
    char *const *
        argv; /* of a survey: the node's number; of STAGE: its place; of STACKS: INDEX:PID; may be NULL */
    char *const *environment;
    const unsigned char *cpus;   /* to run on, a mask as the kernel has it; NULL: as the helper */
    const unsigned char *memory; /* NUMA nodes, likewise */
    uint32_t cpus_bytes;
    uint32_t memory_bytes;
    uint32_t memory_mode; /* of set_mempolicy */
    struct process_limits limits;
    uint32_t targets[HELPER_FDS_MAX];
    uint32_t targets_count;
};

/* A decoded request: the strings lie in the decoded bytes, the arrays in one block. */
struct helper_order {
    struct helper_request request;
    char **argv;        /* argv[-1] may be written, too */
    char **environment; /* environment[-1] may be written, too */
    void *arrays;       /* free() */
};

void helper_request_encode(const struct helper_request *request, struct buffer *out);
/* -EBADMSG if the bytes are no request; the order is then empty. */
int helper_order_decode(struct helper_order *ret_order, void *data, size_t bytes);

enum helper_event_type {
    HELPER_STARTED, /* value: pid */
    HELPER_FAILED,  /* value: negative errno, detail: enum start_step */
    HELPER_EXITED,  /* value: wait status, detail: enum helper_end */
    HELPER_GROUP_EMPTY,
    HELPER_EVENT_COUNT
};

struct helper_event {
    enum helper_event_type type;
    uint64_t id; /* or group */
    int32_t value;
    uint32_t detail;
    char text[HELPER_TEXT_BYTES]; /* of FAILED: the interpreter's name; else "" */
    struct usage_rank usage;      /* of EXITED */
};

void helper_event_encode(const struct helper_event *event, struct buffer *out);
int helper_event_decode(struct helper_event *ret_event, struct wire_reader *reader);
/* How many of the first bytes are whole events and at most max; the bytes are of helper_event_encode. */
size_t helper_events_fit(const void *data, size_t bytes, size_t max);

#endif
