/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `banyan run --tasks` and its workers, one process for each slot (launch/exec/task_worker.h), say
 * to each other over a worker's standard input and output: frames, each a u32 length of what follows,
 * u8 kind, the payload, and a newline, so that output with whole lines passes it on at once.
 * Encoders and decoders of payloads stand side by side in task_frame_wire.c.
 */
#ifndef LAUNCH_PROTO_TASK_FRAME_H
#define LAUNCH_PROTO_TASK_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

#define TASK_FRAME_BYTES_MAX (1024u * 1024) /* of one frame */
#define TASK_NODE_BYTES      256
#define TASK_OUTPUT_BYTES    (16u * 1024) /* of one TASK_FRAME_OUTPUT, at most */

enum task_frame_kind {
    /* to a worker */
    TASK_FRAME_RUN,    /* struct task_order: run it after those before it */
    TASK_FRAME_RECALL, /* nothing: give back what has not been started */
    /* from a worker */
    TASK_FRAME_HELLO,    /* struct task_hello; the first */
    TASK_FRAME_OUTPUT,   /* struct task_output: of a task that has ended; its ENDED follows */
    TASK_FRAME_ENDED,    /* struct task_ended */
    TASK_FRAME_RETURNED, /* v count, u32 tasks that were not started: answers RECALL */
    TASK_FRAME_KIND_COUNT
};

struct task_frame {
    enum task_frame_kind kind;
    struct wire_bytes payload; /* inside the bytes that it was found in */
};

/* Words and variables are the caller's to encode; of a decoded order they lie in one block. */
struct task_order {
    uint32_t task;
    const char *directory; /* NULL: the worker's */
    char **argv;           /* NULL at its end, at least one word */
    char **set;            /* "NAME=value", NULL at its end */
    void *block;           /* of a decoded one: free() */
};

struct task_hello {
    uint32_t place;
    char node[TASK_NODE_BYTES];
};

struct task_output {
    uint32_t task;
    uint8_t stream; /* 1 or 2 */
    struct wire_bytes data;
};

struct task_ended {
    uint32_t task;
    int32_t wait_status; /* as of waitpid */
    uint64_t started_us; /* since the epoch, by the node's clock */
    uint64_t run_us;
    uint64_t output_bytes;
};

/* Appends a whole frame. */
void task_frame_put_order(const struct task_order *order, struct buffer *out);
void task_frame_put_recall(struct buffer *out);
void task_frame_put_hello(const struct task_hello *hello, struct buffer *out);
void task_frame_put_output(const struct task_output *output, struct buffer *out);
void task_frame_put_ended(const struct task_ended *ended, struct buffer *out);
void task_frame_put_returned(const uint32_t *tasks, uint32_t count, struct buffer *out);

/* The first frame of some bytes: its length, 0 if it is not complete, or -EBADMSG. */
long task_frame_next(const void *data, size_t bytes, struct task_frame *ret_frame);

/* 0 or -EBADMSG, with nothing to free. */
int task_frame_get_order(const struct task_frame *frame, struct task_order *ret_order);
int task_frame_get_hello(const struct task_frame *frame, struct task_hello *ret_hello);
int task_frame_get_output(const struct task_frame *frame, struct task_output *ret_output);
int task_frame_get_ended(const struct task_frame *frame, struct task_ended *ret_ended);
/* Calls it for each; the context is handed on. */
int task_frame_each_returned(const struct task_frame *frame,
                             void (*function)(void *context, uint32_t task), void *context);

#endif
