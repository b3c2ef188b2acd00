/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ranks of a job are doing at a moment: ranks that do the same are one group.  A node says it of local ranks
 * (JOB_MESSAGE_ACTIVITY), the root makes one of what its nodes have said.
 * Cost: O(ACTIVITY_GROUPS_MAX), and the runs of ranks and places in each group.
 */
#ifndef LAUNCH_PROTO_ACTIVITY_H
#define LAUNCH_PROTO_ACTIVITY_H

#include <stdint.h>

#include "base/ranges.h"

#define ACTIVITY_CHANNEL_BYTES 32
#define ACTIVITY_GROUPS_MAX    256u

enum activity_pmi {
    ACTIVITY_PMI_NONE, /* never connected */
    ACTIVITY_PMI_CONNECTED,
    ACTIVITY_PMI_WAITS, /* in a fence, barrier or the like, as far as its daemon knows */
    ACTIVITY_PMI_FINALIZED,
    ACTIVITY_PMI_COUNT
};

struct activity_rank {
    uint8_t state; /* as in /proc/PID/stat; 0: it is being started, or has ended */
    uint8_t pmi;   /* enum activity_pmi */
    char channel[ACTIVITY_CHANNEL_BYTES]; /* /proc/PID/wchan; "": not known, or it runs */
};

struct activity_group {
    struct activity_rank what;
    struct ranges ranks;
    struct ranges places;
};

/* A zeroed struct is empty. */
struct activity {
    struct activity_group *groups;
    uint32_t count;
    uint64_t more;        /* ranks for whose group there was no room */
    struct ranges silent; /* places that have not answered */
};

void activity_fini(struct activity *activity);
/* Controls of a channel's name are replaced. */
void activity_add(struct activity *activity, const struct activity_rank *what, uint32_t rank,
                  uint32_t place);
void activity_merge(struct activity *activity, const struct activity *other);
void activity_encode(const struct activity *activity, struct buffer *out);
/* -EBADMSG; ret_activity is untouched then. */
int activity_decode(struct activity *ret_activity, struct wire_reader *reader);

/* The request: of which job.  0: it cannot be read. */
void activity_encode_request(uint32_t job, struct buffer *out);
uint32_t activity_decode_request(struct wire_reader *reader);

#endif
