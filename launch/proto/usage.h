/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the processes of a job have used: CPU, memory and storage of each, folded over ranks.  Each node folds that of
 * its ranks, and the tree folds what nodes have.  Least and most are exact, with a rank that has it; the median is taken
 * from counts of equal values up to 7 and of eight ranges for each power of two above, so it is right within 7 %.
 * Cost: 10 KB in memory, whatever the number of ranks; on the wire as many entries as ranges are used.
 */
#ifndef LAUNCH_PROTO_USAGE_H
#define LAUNCH_PROTO_USAGE_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/log_buckets.h"
#include "base/wire.h"

#define USAGE_RANGES LOG_BUCKETS

enum usage_kind {
    USAGE_USER_US,      /* CPU time in user mode */
    USAGE_SYSTEM_US,    /* and in the kernel */
    USAGE_MEMORY_BYTES, /* the largest resident set */
    USAGE_READ_BYTES,   /* from storage */
    USAGE_WRITTEN_BYTES,
    USAGE_KIND_COUNT
};

/* Of one process and those that it has waited for. */
struct usage_rank {
    uint64_t values[USAGE_KIND_COUNT];
};

struct usage_fold {
    uint64_t least;
    uint64_t most;
    uint32_t least_rank; /* the lowest that has it */
    uint32_t most_rank;
    uint32_t counts[USAGE_RANGES];
};

/* A zeroed struct is empty. */
struct usage {
    uint32_t ranks;
    struct usage_fold folds[USAGE_KIND_COUNT];
};

void usage_add(struct usage *usage, uint32_t rank, const struct usage_rank *what);
void usage_merge(struct usage *usage, const struct usage *other);
/* Of a usage that is not empty. */
uint64_t usage_median(const struct usage *usage, enum usage_kind kind);
/* A table, its lines between "\n"; of a usage that is not empty. */
void usage_print(const struct usage *usage, struct buffer *out);

void usage_encode(const struct usage *usage, struct buffer *out);
/* Fails the reader on what usage_encode does not write; ret_usage is then not to be used. */
void usage_decode(struct wire_reader *reader, struct usage *ret_usage);
void usage_rank_encode(const struct usage_rank *what, struct buffer *out);
void usage_rank_decode(struct wire_reader *reader, struct usage_rank *ret_what);

#endif
