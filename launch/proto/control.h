/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between the clients of an instance and its root, over channels: the front end that
 * forked the root (root_fork in launch/daemon/root.h) over a socket pair, others of the same user
 * over a socket in the root's session directory.  A client owns the terminal, the files and the
 * signals of its user; the root owns the instance.  doc/control.rst has the protocol.
 *
 * Encoders and decoders stand side by side in control_wire.c; those of messages about a job are of what
 * follows its number.
 */
#ifndef LAUNCH_PROTO_CONTROL_H
#define LAUNCH_PROTO_CONTROL_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "alloc/allocation.h"
#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"
#include "launch/proto/instance_spec.h"
#include "launch/proto/job_spec.h"
#include "launch/proto/unwritten.h"

#define CONTROL_VERSION 11u

/* In the session directory of the root of a persistent instance. */
#define CONTROL_SOCKET "control"

enum control_message {
    /* client -> root */
    CONTROL_HELLO, /* struct control_hello; the first message */
    CONTROL_RUN, /* u32 request, u8 CONTROL_RUN_*, job_spec: run it as soon as the tree is complete */
    /* u32 job and: */
    CONTROL_SIGNAL, /* u32 number: to every rank's process group */
    CONTROL_END,    /* struct control_end: end the job */
    CONTROL_STDIN,  /* bytes for stdin_rank; empty = end of file; of the client's job only */
    CONTROL_OUTPUT_ACK, /* struct unwritten_part: output that has been written, or dropped: credit for the node; of
                         * the client's job or one that it has spawned */
    CONTROL_SUBSCRIBE, /* nothing: get its streams, texts and end as they come, without credit, and before them
                         * what is kept of it (launch/job/clients_kept.h), also after its end; REFUSED with the
                         * job as the request if there is none */
    CONTROL_DETACH, /* nothing: it continues without this client; job 0: the instance does */
    /* of the instance */
    CONTROL_LEAVE,  /* struct control_end: end all jobs and the instance */
    CONTROL_DOCTOR, /* string version, u8 has a program, its job_spec: examine the nodes */
    /* root -> client */
    CONTROL_WELCOME,  /* struct control_welcome */
    CONTROL_REFUSED,  /* u32 request (0: none), string why */
    CONTROL_ACCEPTED, /* u32 request, u32 job: the number of this RUN's job */
    /* u32 job and: */
    CONTROL_STARTED,   /* struct control_started: all processes run */
    CONTROL_OUTPUT,    /* struct control_output: whole lines if possible; no bytes: the stream has
                      * ended inside a line */
    CONTROL_STDIN_ACK, /* u32 bytes taken: at most CONTROL_STDIN_WINDOW may be under way */
    CONTROL_TEXT,      /* u8 log level, string: a line for the user's stderr, printed after "banyan:
                      * "; job 0: about the instance */
    CONTROL_SPAWNED, /* u32 child: a process of the job, or of one that it has spawned, has spawned that
                        * one: its STARTED, OUTPUT and TEXT follow.  SIGNAL and END of the job
                        * mean all of them, and JOB_END comes when they all have ended */
    CONTROL_JOB_END, /* struct control_job_end; the last of a job */
    /* of the instance */
    CONTROL_READY,         /* u32 nodes, string directory: it can run jobs */
    CONTROL_FAILED,        /* string: why it cannot start, or cannot continue */
    CONTROL_DOCTOR_REPORT, /* doctor_report; then the root ends the instance */
    CONTROL_ANSWER,        /* struct control_answer */
    /* client -> root; after all others, since versions that differ must understand REFUSED */
    CONTROL_REQUEST, /* struct control_request: answered by ANSWER */
    CONTROL_WAITS,   /* root -> client: u32 job, string: a job that may wait does, and for what */
    CONTROL_FEED, /* u32 job, u32 rank, bytes for it, or none: the end of its input; of the client's own
                      * JOB_STDIN_EACH */
    /* root -> client, of such a job: launch/proto/feed.h */
    CONTROL_FEED_END,  /* u32 job, u32 rank that has ended */
    CONTROL_FEED_LOST, /* u32 job, places of nodes that are lost */
    CONTROL_PROFILE, /* root -> client: u32 job, struct profile: of one that wants it, before its end */
    /* client -> root: u32 job, u16 rows, u16 columns of the terminal of its rank (launch/proto/window.h) */
    CONTROL_WINDOW,
    CONTROL_TRACE, /* root -> client: u32 job, struct run_trace: of one that wants them, of a node or the root, before its end */
    CONTROL_MESSAGE_COUNT
};

/* It goes from a client to the root. */
bool control_is_of_client(uint8_t type);

/* Messages that a client subscribes to in addition to answers. */
#define CONTROL_WANTS_TEXTS  1u /* about the instance, READY and FAILED */
#define CONTROL_WANTS_ROSTER 2u

/* Of RUN. */
#define CONTROL_RUN_MAY_WAIT 1u /* if other jobs have the slots that it needs; else that ends it */
#define CONTROL_RUN_DETACHED \
    2u /* it goes on without its client, which is a subscriber; its output is kept */
#define CONTROL_RUN_FLAGS 3u

struct control_hello {
    uint32_t version; /* CONTROL_VERSION */
    uint8_t wants;
};

struct control_welcome {
    uint32_t version;
    char session[SESSION_ID_BYTES];
    uint8_t has_roster;
    struct allocation roster; /* owned; initialised even if not known yet */
};

#define CONTROL_REASON_BYTES 512

/* CONTROL_REFUSED */
struct control_refused {
    uint32_t request;
    char why[CONTROL_REASON_BYTES];
};

/* CONTROL_READY */
struct control_ready {
    uint32_t nodes;
    char directory[108];
};

/* The queue limit of a subscriber that does not read; beyond it is dropped. */
#define CONTROL_SUBSCRIBER_BYTES_MAX (8u * 1024 * 1024)

#define CONTROL_STDIN_WINDOW  (256u * 1024)
#define CONTROL_OUTPUT_WINDOW (2560u * 1024) /* all daemons together, at the root */
#define CONTROL_NODE_WINDOW   (256u * 1024)  /* of one of them, at most */

struct control_end {
    uint32_t status;  /* exit status to report: 130 for Ctrl-C, 143 SIGTERM, 129 SIGHUP, 124 */
    uint8_t at_once;  /* SIGKILL without grace */
    char reason[512]; /* "interrupted", "timed out after 10 s"; the root adds what is waited for */
};

struct control_started {
    uint32_t processes;
    uint32_t nodes;
};

struct control_job_end {
    uint32_t status;       /* exit status of `banyan run` (banyan-run(1), "EXIT STATUS") */
    uint8_t banyan_failed; /* 1: status is banyan's own (124, 125, 126, 127), not a program's */
    uint32_t processes;    /* that were to run, on that many nodes; 0 if none was launched */
    uint32_t nodes;
    uint32_t processes_ended;
    char text[1024]; /* one line: which rank on which node ended first and why; "" if all is well */
};

/* CONTROL_OUTPUT: bytes are the rest of the message. */
struct control_output {
    uint32_t rank;
    uint8_t stream;          /* 1 or 2 */
    uint64_t time_ns;        /* when it was read, since 1970, UTC, by its node's clock */
    uint32_t place;          /* of its node */
    struct wire_bytes bytes; /* inside the message */
};

/* CONTROL_REQUEST: what a place may also request of the root (job_wire.h). */
struct control_request {
    uint32_t request;       /* the client's own number */
    uint8_t kind;           /* JOB_MESSAGE_QUERY, _CONTROL, _NODES, _ACTIVITY, _STAGE,
                             * _LOAD, _STACKS, _PROGRESS, _BENCH */
    struct ranges places;   /* to ask instead of the root: QUERY; owned */
    struct wire_bytes data; /* what follows the kind; inside the message */
};

#define CONTROL_QUESTION_BYTES_MAX (64u * 1024)        /* of a query */
#define CONTROL_ANSWER_BYTES_MAX   (32u * 1024 * 1024) /* else -EMSGSIZE */

struct control_answer {
    uint32_t request;
    int status;             /* 0, or a negative errno */
    struct wire_bytes data; /* inside the message */
};

#define CONTROL_TEXT_BYTES_MAX (64u * 1024)

/* CONTROL_TEXT: may have several lines (what a library says), each gets its "banyan: ". */
struct control_text {
    uint8_t level;          /* enum log_level */
    struct wire_bytes text; /* inside the message */
};

void control_hello_encode(const struct control_hello *message, struct buffer *out);
int control_hello_decode(struct control_hello *ret_message, struct wire_reader *reader);
void control_welcome_encode(const struct control_welcome *message, struct buffer *out);
int control_welcome_decode(struct control_welcome *ret_message, struct wire_reader *reader);
void control_run_encode(uint32_t request, uint8_t flags, const struct job_spec *spec,
                        struct buffer *out);
/* *ret_request is also set if the job cannot be read. */
int control_run_decode(uint32_t *ret_request, uint8_t *ret_flags, struct job_spec *ret_spec,
                       struct wire_reader *reader);
void control_accepted_encode(uint32_t request, uint32_t job, struct buffer *out);
int control_accepted_decode(uint32_t *ret_request, uint32_t *ret_job, struct wire_reader *reader);
/* The caller owns the text, "" if it cannot be read. */
void control_failed_encode(const char *why, struct buffer *out);
int control_failed_decode(char **ret_why, struct wire_reader *reader);
void control_refused_encode(uint32_t request, const char *why, struct buffer *out);
int control_refused_decode(struct control_refused *ret_message, struct wire_reader *reader);
void control_ready_encode(const struct control_ready *message, struct buffer *out);
int control_ready_decode(struct control_ready *ret_message, struct wire_reader *reader);
void control_end_encode(const struct control_end *message, struct buffer *out);
int control_end_decode(struct control_end *ret_message, struct wire_reader *reader);
void control_started_encode(const struct control_started *message, struct buffer *out);
int control_started_decode(struct control_started *ret_message, struct wire_reader *reader);
void control_job_end_encode(const struct control_job_end *message, struct buffer *out);
int control_job_end_decode(struct control_job_end *ret_message, struct wire_reader *reader);
void control_output_encode(const struct control_output *message, struct buffer *out);
int control_output_decode(struct control_output *ret_message, struct wire_reader *reader);
void control_request_encode(const struct control_request *message, struct buffer *out);
int control_request_decode(struct control_request *ret_message, struct wire_reader *reader);
void control_answer_encode(const struct control_answer *message, struct buffer *out);
int control_answer_decode(struct control_answer *ret_message, struct wire_reader *reader);
/* What follows the job in CONTROL_WAITS; likewise. */
void control_waits_encode(const char *why, struct buffer *out);
int control_waits_decode(char **ret_why, struct wire_reader *reader);
/* What messages about a job begin with; 0: of no job. */
void control_put_job(uint32_t job, struct buffer *out);
uint32_t control_get_job(struct wire_reader *reader);
/* What follows it in CONTROL_OUTPUT_ACK. */
void control_put_written(const struct unwritten_part *part, struct buffer *out);
void control_get_written(struct wire_reader *reader, struct unwritten_part *ret_part);
/* What follows it in CONTROL_SIGNAL and _STDIN_ACK. */
void control_put_number(uint32_t number, struct buffer *out);
uint32_t control_get_number(struct wire_reader *reader);
void control_text_encode(uint8_t level, const char *text, struct buffer *out);
int control_text_decode(struct control_text *ret_message, struct wire_reader *reader);

#endif
