/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of a job whose nodes were lost, and that are on others now (launch/job/job_move.c): what the
 * job's other nodes hear of it (JOB_MESSAGE_MOVED), and what its spare gets before the rest of a launch
 * (JOB_MESSAGE_RELAUNCH).  Cost: two numbers for each part that was moved, and one for each rank that is started again.
 */
#ifndef LAUNCH_PROTO_JOB_MOVED_H
#define LAUNCH_PROTO_JOB_MOVED_H

#include <stdint.h>

#include "alloc/placement_map.h"
#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "launch/proto/job_wire.h"

#define JOB_MOVES_MAX 65536u

struct job_moves {
    struct placement_move *items; /* owned */
    uint32_t count;
};

struct job_moved {
    uint32_t number;
    uint32_t generation;    /* of the ENDED gather from now on */
    struct ranges places;   /* its participants; owned */
    struct job_moves moves; /* all there have been */
    uint32_t *restarts; /* of each rank of the receiver, this one included; none in MOVED; owned */
    uint32_t restarts_count;
};

void job_moved_list_encode(const struct placement_move *moves, uint32_t count, struct buffer *out);
/* What is invalid fails the reader; free(ret_moves->items) in any case. */
void job_moved_list_decode(struct job_moves *ret_moves, struct wire_reader *reader);

void job_moved_fini(struct job_moved *message);
/* kind: MOVED or RELAUNCH, which has been read before the rest is decoded. */
void job_moved_encode(const struct job_moved *message, enum job_message kind, struct buffer *out);
/* More may follow.  -EBADMSG: nothing is left to free. */
int job_moved_decode(struct job_moved *ret_message, struct wire_reader *reader);

#endif
