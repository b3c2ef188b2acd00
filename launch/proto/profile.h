/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the nodes of a job have taken for each phase (--profile): measured by each node with its own clock, merged
 * on the way up the tree.  For each phase how many nodes, the shortest and longest time, the slowest nodes, and a
 * histogram, from which any quantile is known within 1/16 of its value.
 * Cost: about 1.5 kB for each phase, whatever the number of nodes; on the wire a few bytes for each bucket in use.
 */
#ifndef LAUNCH_PROTO_PROFILE_H
#define LAUNCH_PROTO_PROFILE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

enum profile_phase {
    PROFILE_JOIN,  /* from the start of the daemon's own work until it has joined the tree */
    PROFILE_WAIT,  /* until the job's launch arrives */
    PROFILE_START, /* until all processes of the node have been started, or have failed to */
    PROFILE_RUN,   /* until the last of them, and of their descendants, has ended */
    PROFILE_DRAIN, /* until their last output has been sent */
    PROFILE_PHASE_COUNT
};

/* 8 buckets for each power of two, up to 2^47 ns, which is 39 hours; what takes longer is in the last. */
#define PROFILE_BUCKETS     384u
#define PROFILE_SLOWEST_MAX 3u

struct profile_slowest {
    uint32_t place;
    uint64_t ns;
};

struct profile_times {
    uint64_t nodes;
    uint64_t min_ns; /* 0 without nodes */
    uint64_t max_ns;
    struct profile_slowest slowest[PROFILE_SLOWEST_MAX]; /* the slowest first */
    uint32_t slowest_count;
    uint32_t buckets[PROFILE_BUCKETS]; /* nodes */
};

/* A zeroed struct is empty. */
struct profile {
    struct profile_times phases[PROFILE_PHASE_COUNT];
};

const char *profile_phase_name(enum profile_phase phase);
void profile_add(struct profile *profile, enum profile_phase phase, uint32_t place, uint64_t ns);
void profile_merge(struct profile *profile, const struct profile *other);
/* The time that this share of the nodes (0..1) has not exceeded; 0 without nodes. */
uint64_t profile_quantile_ns(const struct profile_times *times, double share);

void profile_encode(const struct profile *profile, struct buffer *out);
/* -EBADMSG; ret_profile is untouched then. */
int profile_decode(struct profile *ret_profile, struct wire_reader *reader);

#endif
