/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages about jobs between the daemons of an instance, inside overlay payloads.  The first byte
 * is enum job_message.  Encode and decode of each stand side by side in job_wire.c; the rows are in
 * doc/job.rst.
 */
#ifndef LAUNCH_PROTO_JOB_WIRE_H
#define LAUNCH_PROTO_JOB_WIRE_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "base/message.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "launch/proto/start_step.h"
#include "launch/proto/usage.h"
#include "overlay/endpoint_types.h"

enum job_message {
    JOB_MESSAGE_NONE,
    /* broadcasts */
    JOB_MESSAGE_ROSTER, /* allocation */
    JOB_MESSAGE_LAUNCH, /* u32 number, job_spec */
    JOB_MESSAGE_END,    /* struct job_end_message */
    JOB_MESSAGE_SIGNAL, /* u32 number, u32 signal, ranges: its ranks, none: all */
    /* to the root */
    JOB_MESSAGE_PLACE_FAILED, /* u32 place, string */
    JOB_MESSAGE_RANK_FAILED,  /* struct job_failure */
    JOB_MESSAGE_OUTPUT, /* u32 number, u32 rank, u8 stream, u64 when it was read (ns since 1970, UTC,
                         * by the clock of its node), u32 place, bytes to the end; none: the stream
                         * has ended inside a line */
    JOB_MESSAGE_STDIN_ACK, /* u32 number, u32 bytes */
    JOB_MESSAGE_TEXT,      /* u32 number (0: of the instance), u8 level, string */
    /* from the root */
    JOB_MESSAGE_CREDIT, /* u32 number, u32 bytes of output consumed */
    JOB_MESSAGE_STDIN,  /* u32 number, bytes to the end; none = end of file */
    /* request: u32 number, u32 rank; its reply: i32 status, blob to the end */
    JOB_MESSAGE_MODEX,
    /* to the root */
    JOB_MESSAGE_STALLED, /* struct job_stalled */
    /* request of the root: struct job_roll_request; its reply: i32 status, struct job_roll */
    JOB_MESSAGE_ROLL,
    /* to the root, when the combined placement does not match its own */
    JOB_MESSAGE_PLACED, /* u32 number, u32 place, u64 hash of its part */
    /* broadcast */
    JOB_MESSAGE_SURVEY, /* u32 number, u8 survey_want, string: required, ranges: the nodes asked */
    /* of an instance of `banyan doctor`; a broadcast: u32 generation, ranges, and CONTROL_DOCTOR's
     * payload; a request without more: its reply is doctor_daemon.c's */
    JOB_MESSAGE_DOCTOR,
    JOB_MESSAGE_CLOCK,
    /* to the root: this daemon was sent a signal that ends the job */
    JOB_MESSAGE_CANCEL, /* u32 signal, string: its sender, "" if not known */
    /* request: struct job_blob_request; its reply: i32 status, the node's last data of that set */
    JOB_MESSAGE_BLOB,
    /* request: a question about the root or a node, pmi_query.h; its reply: i32 status, the answer */
    JOB_MESSAGE_QUERY,
    /* requests to the root: job_spec, with its parent; its reply: i32 status, struct
     * job_spawned.  u32 number; its reply: i32 status, and what follows the
     * roster's version in LAUNCH, but for environment and preput */
    JOB_MESSAGE_SPAWN,
    JOB_MESSAGE_MAP,
    /* request to the root, whose reply is an i32 status, and then its broadcast: struct job_notice */
    JOB_MESSAGE_NOTICE,
    /* request to the root: struct job_control; its reply: i32 status */
    JOB_MESSAGE_CONTROL,
    /* requests of launch/core/names.h, with the forms of launch/proto/name.h */
    JOB_MESSAGE_NAMES,      /* of a local process, to this daemon */
    JOB_MESSAGE_NAME,       /* one key, to its holder */
    JOB_MESSAGE_NAME_COPY,  /* to the holder of the copies */
    JOB_MESSAGE_NAME_WATCH, /* to the root: answered when the job has ended */
    /* request: struct job_abort_request; its reply, when they have ended: i32 status */
    JOB_MESSAGE_ABORT,
    /* request to the root: struct job_pull; its reply: i32 status */
    JOB_MESSAGE_PULL,
    JOB_MESSAGE_PULLED, /* from the root: struct job_pulled */
    JOB_MESSAGE_PULL_GONE, /* to the root: u32 number: nobody is left here to whom its output could go */
    /* request to the root: struct job_push; its reply, when that has been taken: i32 status */
    JOB_MESSAGE_PUSH,
    /* of a client, to the root: struct node_list_request; its answer: struct node_list */
    JOB_MESSAGE_NODES,
    /* launch/proto/feed.h */
    JOB_MESSAGE_FEED,     /* to a node: input of one of its processes */
    JOB_MESSAGE_FEED_END, /* to the root: that process has ended */
    /* request of the root, and of a client to it: u32 number; its reply: i32 status, struct activity */
    JOB_MESSAGE_ACTIVITY,
    /* broadcast: struct stage_order; of a client: struct stage_request (stage.h) */
    JOB_MESSAGE_STAGE,
    /* request of a place that is asked itself, and of a client to the root: struct load_request; its reply: i32
     * status, struct load */
    JOB_MESSAGE_LOAD,
    /* broadcast: input for all processes of a job (launch/proto/input_piece.h) */
    JOB_MESSAGE_STDIN_ALL,
    /* broadcast: u32 number, u32 generation of the gather; of a client: u32 number (progress.h) */
    JOB_MESSAGE_PROGRESS,
    JOB_MESSAGE_RESTARTED, /* to the root: struct job_restarted */
    JOB_MESSAGE_WINDOW,    /* to a node: the size of a rank's terminal (launch/proto/window.h) */
    /* broadcast, request of a place to the one above, and of a client to the root: launch/proto/bench.h */
    JOB_MESSAGE_BENCH,
    /* request of a place that is asked itself, and of a client to the root: struct stack_fold_request; its reply: i32
     * status, struct stack_fold */
    JOB_MESSAGE_STACKS,
    /* launch/proto/job_moved.h; broadcasts: struct job_moved; and the same, then LAUNCH from the roster's version on */
    JOB_MESSAGE_MOVED,
    JOB_MESSAGE_RELAUNCH,
    JOB_MESSAGE_SPOKEN, /* to the root, in an instance with spares: u32 number: a rank has connected to PMI */
    /* launch/proto/run_trace.h */
    JOB_MESSAGE_TRACE, /* to the root: u32 number, struct run_trace: of a node at the end of its part */
    JOB_MESSAGE_TRACE_CLOCK, /* request to the parent: what the root's clock shows */
    /* Where the nodes survive the root (launch/core/daemon_core_resend.c): to the root: u8 stream, u64 number, another
     * message to the end; to a node: u8 stream, u64 number of the first that has not been taken. */
    JOB_MESSAGE_NUMBERED,
    JOB_MESSAGE_TAKEN,
    JOB_MESSAGE_COUNT
};

/* Why a job that a process asked for does not run. */
enum job_spawn_failure {
    JOB_SPAWN_OK,
    JOB_SPAWN_REFUSED,    /* the request is invalid */
    JOB_SPAWN_MAP,        /* there is no room for it */
    JOB_SPAWN_EXECUTABLE, /* a program was not found, or cannot be executed */
    JOB_SPAWN_DIRECTORY,
    JOB_SPAWN_START, /* for another reason a process could not be started */
    JOB_SPAWN_ENDED, /* before all processes had been started */
    JOB_SPAWN_TIME,  /* they have not been in time */
    JOB_SPAWN_FAILURE_COUNT
};

#define JOB_SPAWN_REASON_BYTES 1024

struct job_spawned {
    uint8_t failure; /* enum job_spawn_failure */
    uint32_t number; /* of the new job; 0 if it was refused */
    uint32_t processes;
    char reason[JOB_SPAWN_REASON_BYTES]; /* one line, "" without a failure */
};

enum job_failure_kind {
    JOB_FAILURE_NONE,
    JOB_FAILURE_START,    /* code: -errno of step, detail: the name of an interpreter */
    JOB_FAILURE_EXIT,     /* code: exit status, detail: what follows it in the message, or "" */
    JOB_FAILURE_SIGNAL,   /* code: signal number, detail: what follows "killed by", or "" */
    JOB_FAILURE_ABNORMAL, /* exit 0 without finalize */
    JOB_FAILURE_ABORT,    /* code: status given to abort, detail: its message */
    JOB_FAILURE_SERVICES, /* the node cannot serve PMIx: code: -errno, detail: why */
    JOB_FAILURE_MISSED,   /* ended normally, but others wait for it; detail: in what */
    JOB_FAILURE_COUNT
};

struct job_failure {
    uint32_t number;
    uint8_t kind; /* enum job_failure_kind */
    uint32_t rank;
    uint32_t place;
    int32_t code;
    uint8_t step; /* enum start_step, of JOB_FAILURE_START; else 0 */
    char detail[160];
};

/* Ranks of a node have failed within a moment, and are started again. */
struct job_restarted {
    struct job_failure failure; /* of the first */
    uint32_t count;             /* of that rank's restarts, this one included */
    uint32_t delay_ms;          /* until then */
    struct ranges ranks;        /* all of them */
};

/* Payload of the LAUNCHED gather. */
struct job_launched {
    uint32_t processes;
    uint64_t hash;              /* wrapping sum of h(rank, place) */
    struct job_failure failure; /* kind NONE if all started */
};

/* Payload of the ENDED gather. */
struct job_ended {
    uint32_t processes;
    uint32_t status;            /* highest among ranks that ended by themselves */
    uint64_t output_bytes;      /* forwarded to the root */
    struct job_failure failure; /* the most significant one, of ranks that ended by themselves */
    struct job_failure highest; /* whose status it is */
    struct wire_bytes
        profile; /* profile.h, of a job that wants one; inside the message, or the sender's */
    struct usage *usage; /* free(), or NULL: it is not asked for */
};

void job_ended_fini(struct job_ended *message);

struct job_end_message {
    uint32_t number;
    uint32_t generation; /* of the ENDED gather from now on */
    uint32_t grace_ms;
    uint8_t discard;      /* the remaining output is not waited for */
    uint8_t goes_on;      /* nothing is ended: only the participants have changed */
    uint8_t tell;         /* each node reports its placement: they do not agree */
    struct ranges places; /* the participants */
};

enum job_stalled_kind {
    JOB_STALLED_MISSING, /* from its meeting point (endpoint_events.missing): exactly these are waited for */
    JOB_STALLED_OVER, /* it has completed after all: the rest is empty */
    JOB_STALLED_LOCAL, /* from a node whose ranks wait for others of the same node: what is missing elsewhere
                               is not known */
    JOB_STALLED_LOCAL_OVER, /* they no longer do */
    JOB_STALLED_KIND_COUNT
};

/* An operation of the ranks has had no progress for a while. */
struct job_stalled {
    struct operation_name key;
    uint8_t kind; /* enum job_stalled_kind */
    struct ranges set;
    struct ranges ranks; /* that take part; none: all, or it is not known */
    struct endpoint_missing missing;
};

/* What a process orders for a job (pmix/pmi_control.h has the same kinds). */
enum job_control_kind {
    JOB_CONTROL_SIGNAL,
    JOB_CONTROL_TERMINATE,
    JOB_CONTROL_KILL,
    JOB_CONTROL_COUNT
};

struct job_control {
    uint32_t number;
    uint8_t kind;        /* enum job_control_kind */
    uint32_t signal;     /* of JOB_CONTROL_SIGNAL */
    struct ranges ranks; /* none: the whole job */
    char by[64];         /* for the report: who has ordered it */
};

/* Asks for the state of a node's ranks with respect to this operation. */
struct job_roll_request {
    uint32_t number;
    struct operation_name key;
    struct ranges set;
    struct ranges ranks; /* that take part; none: all */
};

enum job_stall_state {
    JOB_ROLL_ARRIVED,
    JOB_ROLL_RUNNING,   /* may have called or not: the library does not report it */
    JOB_ROLL_NEW,       /* has not initialised */
    JOB_ROLL_FINALIZED, /* has finalized, still running */
    JOB_ROLL_ENDED,
    JOB_ROLL_STATE_COUNT
};

#define JOB_ROLL_ENTRIES_MAX 64

/* Consecutive ranks of a node in the same state. */
struct job_roll_entry {
    uint32_t first;
    uint32_t last;
    uint8_t state;   /* enum job_stall_state */
    uint8_t process; /* as in /proc/PID/stat: R, S, D, T ...; 0: not known */
};

struct job_roll {
    uint32_t count;
    struct job_roll_entry entries[JOB_ROLL_ENTRIES_MAX];
};

/* A node's part of a fence that carries no data (JOB_MODEX_LAZY): what the data would have been. */
struct job_stamp {
    uint32_t place;
    uint64_t hash;
};

struct job_blob_request {
    uint32_t number;
    uint64_t set_id;
};

/* A reply to MODEX, BLOB and their like: a status (0 or a negative errno), and data. */
void job_reply_encode(int status, const void *data, size_t data_bytes, struct buffer *out);
/* The status, which is that of the request itself if there is no reply; what is left are the data. */
int job_reply_decode(int status, struct wire_reader *reader);
void job_stamp_encode(const struct job_stamp *stamp, struct buffer *out);
/* Many follow each other: the reader need not be at its end after one. */
void job_stamp_decode(struct wire_reader *reader, struct job_stamp *ret_stamp);
/* With the message's kind, which has been read before the rest is decoded. */
void job_blob_request_encode(const struct job_blob_request *request, struct buffer *out);
int job_blob_request_decode(struct job_blob_request *ret_request, struct wire_reader *reader);
/* Some ranks of a job are to end, since a process has called abort for them. */
struct job_abort_request {
    uint32_t number;
    int32_t status; /* given to abort */
    struct ranges ranks;
};

/* With the message's kind, which has been read before the rest is decoded. */
void job_abort_request_encode(const struct job_abort_request *request, struct buffer *out);
int job_abort_request_decode(struct job_abort_request *ret_request, struct wire_reader *reader);

/* Requests a copy of a job's output (pmix/pmi_pull.h has the same). */
#define JOB_PULL_WINDOW  (4u * 1024 * 1024)
#define JOB_PULL_WINDOWS (16u * JOB_PULL_WINDOW) /* of all: a link must never have more waiting */

enum job_pull_kind { JOB_PULL_SET, JOB_PULL_TAKEN, JOB_PULL_KIND_COUNT };

struct job_pull {
    uint8_t kind; /* enum job_pull_kind */
    uint32_t number;
    uint64_t version;
    uint32_t bytes;
    uint8_t channels;    /* 1: stream 1, 2: stream 2; 0: nothing */
    struct ranges ranks; /* none: all */
};

/* What lies between the job's number and the bytes of JOB_MESSAGE_OUTPUT. */
#define JOB_OUTPUT_HEADER_BYTES (4u + 1u + 8u + 4u)

/* A piece of it, in the form of JOB_MESSAGE_OUTPUT. */
struct job_pulled {
    uint32_t number;
    uint32_t rank;
    uint8_t stream; /* 0: the job's end */
    uint64_t time_ns;
    uint32_t place;
    const void *data; /* inside the message */
    size_t data_bytes;
};

/* Without the kind. */
void job_pull_encode(const struct job_pull *message, struct buffer *out);
int job_pull_decode(struct job_pull *ret_message, struct wire_reader *reader);
int job_pulled_decode(struct job_pulled *ret_message, struct wire_reader *reader);
struct message *job_pulled_end_message(uint32_t number);
struct message *job_pull_gone_message(uint32_t number);
/* Input for the rank that reads standard input. */
struct job_push {
    uint32_t number;
    uint32_t rank;     /* or JOB_RANK_ALL: the one that reads */
    const void *data;  /* inside the message */
    size_t data_bytes; /* 0: the end of input */
};

/* Without the kind. */
void job_push_encode(const struct job_push *message, struct buffer *out);
int job_push_decode(struct job_push *ret_message, struct wire_reader *reader);
/* JOB_MESSAGE_STDIN */
struct message *job_stdin_message(uint32_t number, const void *data, size_t bytes);
uint32_t job_pull_gone_decode(struct wire_reader *reader); /* 0: it is invalid */

#define JOB_TARGETS_MAX (1u << 20)
#define JOB_RANK_ALL    UINT32_MAX

/* An event for processes (PMIx_Notify_event).  Only their PMI servers understand its data. */
struct job_notice {
    uint32_t number; /* the job that it comes from */
    uint32_t told;   /* a place whose processes have it already; 0: none */
    /* For who has spawned that job, which has ended with this status, or has stopped; 0: not given.  A target of no job (0)
     * is a tool, whose namespace is the data; else there is no data. */
    uint32_t child;
    uint32_t status;
    uint32_t stop; /* enum pmi_stop; 0: it has ended */
    struct job_target {
        uint32_t number;
        uint32_t rank; /* or JOB_RANK_ALL */
    } * targets;       /* none: every process of the instance */
    uint32_t targets_count;
    const void *data;
    size_t data_bytes;
};

/* With the message's kind.  data points into what is decoded. */
void job_notice_encode(const struct job_notice *notice, struct buffer *out);
int job_notice_decode(struct job_notice *ret_notice, const struct message *message);
void job_notice_fini(struct job_notice *notice);

void job_stalled_encode(const struct job_stalled *message, struct buffer *out);
int job_stalled_decode(struct job_stalled *ret_message, struct wire_reader *reader);
void job_stalled_fini(struct job_stalled *message);
void job_roll_request_encode(const struct job_roll_request *message, struct buffer *out);
int job_roll_request_decode(struct job_roll_request *ret_message, struct wire_reader *reader);
void job_roll_request_fini(struct job_roll_request *message);
void job_roll_encode(const struct job_roll *message, struct buffer *out);
int job_roll_decode(struct job_roll *ret_message, struct wire_reader *reader);

void job_failure_encode(const struct job_failure *failure, struct buffer *out);
void job_failure_decode(struct wire_reader *reader, struct job_failure *ret_failure);
/* JOB_MESSAGE_RESTARTED, with its kind. */
void job_restarted_encode(const struct job_restarted *message, struct buffer *out);
/* reader stands after the kind.  -EBADMSG; ret_message need not be initialised, its ranks are the caller's,
 * and empty on failure. */
int job_restarted_decode(struct job_restarted *ret_message, struct wire_reader *reader);
void job_launched_encode(const struct job_launched *message, struct buffer *out);
int job_launched_decode(struct job_launched *ret_message, const void *data, size_t bytes);
void job_ended_encode(const struct job_ended *message, struct buffer *out);
int job_ended_decode(struct job_ended *ret_message, const void *data, size_t bytes);
/* With the message's kind, which has been read before the rest is decoded. */
void job_end_message_encode(const struct job_end_message *message, struct buffer *out);
int job_end_message_decode(struct job_end_message *ret_message, struct wire_reader *reader);
struct message *job_map_message(uint32_t number); /* JOB_MESSAGE_MAP */
/* The reply to JOB_MESSAGE_SPAWN, after its status. */
void job_spawned_encode(const struct job_spawned *message, struct buffer *out);
int job_spawned_decode(struct job_spawned *ret_message, const void *data, size_t bytes);
/* JOB_MESSAGE_TEXT, likewise.  *ret_text is the caller's to free, also on failure. */
void job_text_encode(uint32_t number, uint8_t level, const char *text, struct buffer *out);
int job_text_decode(struct wire_reader *reader, uint32_t *ret_number, uint8_t *ret_level,
                    char **ret_text);

/* Without the kind, as the next. */
void job_control_encode(const struct job_control *message, struct buffer *out);
int job_control_decode(struct job_control *ret_message, struct wire_reader *reader);
/* JOB_MESSAGE_ROSTER, with its kind. */
void job_roster_encode(uint32_t version, const struct allocation *roster, struct buffer *out);
/* JOB_MESSAGE_SIGNAL, encoded with its kind.  ret_ranks is the caller's, empty on failure. */
void job_signal_encode(uint32_t number, uint32_t signal, const struct ranges *ranks,
                       struct buffer *out);
int job_signal_decode(struct wire_reader *reader, uint32_t *ret_number, uint32_t *ret_signal,
                      struct ranges *ret_ranks);

/* A request to another daemon, which begins with its kind, and its reply, which begins with the status. */
struct message *job_request_message(enum job_message kind, const void *data, size_t bytes);
struct message *job_reply_message(int status, const void *data, size_t bytes);

/* Keeps the more significant failure: first a process that could not be started, which explains the
 * rest, then an abort, then the lowest rank. */
void job_failure_merge(struct job_failure *failure, const struct job_failure *other);
/* 1 if failure is of a more significant kind than other. */
int job_failure_outweighs(const struct job_failure *failure, const struct job_failure *other);

/* merged := merged + other (job_merges). */
void job_launched_merge(struct buffer *merged, const void *other, size_t other_bytes);
void job_ended_merge(struct buffer *merged, const void *other, size_t other_bytes);

#endif
