/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far a job is on its way from the request to processes that run and have initialised: what a client asks the root
 * (CONTROL_REQUEST, JOB_MESSAGE_PROGRESS), and what the job's nodes contribute to the answer, summed up the tree.
 */
#ifndef LAUNCH_PROTO_PROGRESS_H
#define LAUNCH_PROTO_PROGRESS_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/message.h"
#include "base/wire.h"

enum progress_phase {
    PROGRESS_NODES,     /* daemons are being started */
    PROGRESS_WAITS,     /* for slots, files, or what the nodes say of themselves */
    PROGRESS_PROCESSES, /* they are being started, or run */
    PROGRESS_PHASE_COUNT
};

/* Processes of a node, or of several. */
struct progress_count {
    uint64_t started;
    uint64_t connected; /* of these, by PMI, now or before */
};

struct progress {
    uint8_t phase;     /* enum progress_phase */
    uint32_t nodes;    /* of the instance */
    uint32_t nodes_up; /* of these */
    uint64_t processes;
    struct progress_count count; /* in PROGRESS_PROCESSES; else 0 */
};

/* The question, and the order to the nodes: the gather of that generation. */
void progress_encode_request(uint32_t job, struct buffer *out);
uint32_t progress_decode_request(struct wire_reader *reader); /* 0: it cannot be read */
struct message *progress_order_message(uint32_t job, uint32_t generation);
/* -EBADMSG; reader stands after the kind. */
int progress_decode_order(struct wire_reader *reader, uint32_t *ret_job, uint32_t *ret_generation);

void progress_encode_count(const struct progress_count *count, struct buffer *out);
/* -EBADMSG, like the next; the result is untouched then. */
int progress_decode_count(struct progress_count *ret_count, const void *data, size_t bytes);
/* Of operations (endpoint_merge_function). */
void progress_merge(struct buffer *merged, const void *other, size_t other_bytes);

void progress_encode(const struct progress *progress, struct buffer *out);
int progress_decode(struct progress *ret_progress, struct wire_reader *reader);

#endif
