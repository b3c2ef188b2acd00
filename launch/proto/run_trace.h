/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When things happened on a node during a job (--trace), by the node's own clock, and how that clock is set against the
 * root's.  A node sends it once, at the end of its part; the root passes it on to the client and keeps nothing.
 * Cost: about 2.5 kB at a node while a job that wants a trace runs there; at most as much on the wire.
 */
#ifndef LAUNCH_PROTO_RUN_TRACE_H
#define LAUNCH_PROTO_RUN_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/message.h"
#include "base/wire.h"

#define RUN_TRACE_RANKS_MAX 64u
#define RUN_TRACE_SPANS_MAX 24u
/* The error of a clock that could not be compared. */
#define RUN_TRACE_ERROR_UNKNOWN UINT64_MAX

enum run_trace_time {
    RUN_TRACE_BEGUN,    /* the daemon began its own work */
    RUN_TRACE_JOINED,   /* it had joined the tree; root: all had */
    RUN_TRACE_LAUNCHED, /* the launch arrived; root: was sent */
    RUN_TRACE_STARTED,  /* all processes had been started, or had failed to */
    RUN_TRACE_GONE,     /* all, and their descendants, had ended; not of the root */
    RUN_TRACE_ENDED,    /* their last output was sent; root: the job had ended */
    RUN_TRACE_TIME_COUNT
};

enum run_trace_kind {
    RUN_TRACE_PMI1, /* by PMI-1 or PMI-2 */
    RUN_TRACE_PMIX,
    RUN_TRACE_KIND_COUNT
};

struct run_trace_rank {
    uint32_t rank;
    uint32_t wait_status; /* as of waitpid; of one that has ended */
    uint64_t begin_ns;
    uint64_t end_ns; /* 0: not known */
};

/* A collective operation of processes of the node. */
struct run_trace_span {
    uint8_t kind; /* enum run_trace_kind */
    uint64_t begin_ns;
    uint64_t end_ns; /* 0: it did not end */
};

struct run_trace {
    uint32_t place;
    int64_t offset_ns;                    /* to be added to times for the root's clock */
    uint64_t error_ns;                    /* that it is right within, or RUN_TRACE_ERROR_UNKNOWN */
    uint64_t times[RUN_TRACE_TIME_COUNT]; /* 0: not reached, or not of this job */
    uint32_t ranks_count;
    uint32_t ranks_more; /* for which there was no room; likewise below */
    struct run_trace_rank ranks[RUN_TRACE_RANKS_MAX];
    uint32_t spans_count;
    uint32_t spans_more;
    struct run_trace_span spans[RUN_TRACE_SPANS_MAX];
};

/* A clock against the root's: of several comparisons the best counts. */
struct run_trace_clock {
    bool is_known;
    int64_t offset_ns;
    uint64_t error_ns;
};

/* Asked at and answered at of our clock; in between another place, whose own error is given, has received the question and
 * sent the answer, by the root's clock as it knows it.  The error is that plus half the time on the way: where in it the
 * two clocks were read is not known.  false: the times cannot be. */
bool run_trace_clock_take(struct run_trace_clock *clock, uint64_t asked_ns, uint64_t received_ns,
                          uint64_t sent_ns, uint64_t answered_ns, uint64_t error_ns);

/* JOB_MESSAGE_TRACE; CONTROL_TRACE has what follows its kind. */
struct message *run_trace_message(uint32_t job, const struct run_trace *trace);
/* Reader stands after the job; -EBADMSG. */
int run_trace_decode(struct run_trace *ret_trace, struct wire_reader *reader);
void run_trace_encode(const struct run_trace *trace, struct buffer *out);

/* The answer to JOB_MESSAGE_TRACE_CLOCK. */
void run_trace_clock_encode(uint64_t received_ns, uint64_t sent_ns, uint64_t error_ns,
                            struct buffer *out);
int run_trace_clock_decode(struct wire_reader *reader, uint64_t *ret_received_ns,
                           uint64_t *ret_sent_ns, uint64_t *ret_error_ns);

#endif
