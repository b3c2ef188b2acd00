/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input of each process of a job by itself (JOB_STDIN_EACH), from the job's client: CONTROL_FEED to the
 * root, JOB_MESSAGE_FEED on to the process's node.  There is no credit: who feeds bounds what is under
 * way.  So the client is sent which processes no longer read: FEED_END of one that has ended, FEED_LOST of nodes.
 * Encoders and decoders stand side by side in feed_wire.c, without the kind of the message.
 */
#ifndef LAUNCH_PROTO_FEED_H
#define LAUNCH_PROTO_FEED_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/message.h"
#include "base/ranges.h"
#include "base/wire.h"

/* CONTROL_FEED, JOB_MESSAGE_FEED */
struct feed {
    uint32_t job;
    uint32_t rank;
    struct wire_bytes data; /* inside the message; none: its end */
};

void feed_encode(const struct feed *feed, struct buffer *out);
int feed_decode(struct feed *ret_feed, struct wire_reader *reader);
/* JOB_MESSAGE_FEED, with its kind. */
struct message *feed_message(const struct feed *feed);

/* CONTROL_FEED_END, JOB_MESSAGE_FEED_END */
struct feed_end {
    uint32_t job;
    uint32_t rank;
};

void feed_end_encode(const struct feed_end *end, struct buffer *out);
int feed_end_decode(struct feed_end *ret_end, struct wire_reader *reader);
/* JOB_MESSAGE_FEED_END, with its kind. */
struct message *feed_end_message(const struct feed_end *end);

/* CONTROL_FEED_LOST: u32 job and the places of the nodes. */
void feed_lost_encode(uint32_t job, const struct ranges *places, struct buffer *out);
/* ret_places is initialised, and empty on failure. */
int feed_lost_decode(uint32_t *ret_job, struct ranges *ret_places, struct wire_reader *reader);

#endif
