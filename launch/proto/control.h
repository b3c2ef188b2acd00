/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a front end and a root say to each other over a channel.  The front end owns the terminal,
 * the files and the signals of the user; the root owns the instance.  In a one-shot run the front
 * end forks the root (root_fork in launch/daemon/root.h) and both end together.  If the front end goes away
 * the root ends everything.
 *
 * Encoders and decoders stand side by side in control_wire.c.
 */
#ifndef LAUNCH_PROTO_CONTROL_H
#define LAUNCH_PROTO_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"

enum control_message {
    /* front end -> root */
    CONTROL_RUN,        /* job_spec: run it as soon as the tree is complete */
    CONTROL_SIGNAL,     /* u32 number: to every rank's process group */
    CONTROL_END,        /* struct control_end: end the job and the instance */
    CONTROL_STDIN,      /* bytes for stdin_rank; empty = end of file */
    CONTROL_OUTPUT_ACK, /* u32 bytes of output written: credit for the daemons */
    CONTROL_DOCTOR,     /* string version, u8 has a program, its job_spec: examine the nodes */
    /* root -> front end */
    CONTROL_STARTED, /* struct control_started: all processes run */
    CONTROL_OUTPUT, /* u32 rank, u8 stream (1, 2), bytes: whole lines where there are any; none: the
                       stream has ended inside a line */
    CONTROL_STDIN_ACK, /* u32 bytes taken: at most CONTROL_STDIN_WINDOW may be under way */
    CONTROL_TEXT,      /* u8 log level, string: a line for the user's stderr, "banyan: " in front */
    CONTROL_JOB_END,   /* struct control_job_end; then the root ends the instance */
    CONTROL_DOCTOR_REPORT, /* doctor_report; then the root ends the instance */
    CONTROL_MESSAGE_COUNT
};

#define CONTROL_STDIN_WINDOW  (256u * 1024)
#define CONTROL_OUTPUT_WINDOW (4u * 1024 * 1024) /* all daemons together, at the root */
#define CONTROL_NODE_WINDOW   (256u * 1024)      /* of one of them, at most */

struct control_end {
    uint32_t status;  /* exit status to report: 130 for Ctrl-C, 143 SIGTERM, 129 SIGHUP, 124 */
    uint8_t at_once;  /* SIGKILL without grace */
    char reason[512]; /* "interrupted", "timed out after 10 s"; the root adds who is waited for */
};

struct control_started {
    uint32_t processes;
    uint32_t nodes;
};

struct control_job_end {
    uint32_t status;       /* exit status of `banyan run`, design.md "Errors" */
    uint8_t banyan_failed; /* 1: status is banyan's own (124, 125, 126, 127), not a program's */
    uint32_t processes;    /* that were to run, on so many nodes; 0 if none was launched */
    uint32_t nodes;
    uint32_t processes_ended;
    char text[1024]; /* one line: which rank on which node ended first and why; "" if all is well */
};

/* CONTROL_OUTPUT: bytes are the rest of the message. */
struct control_output {
    uint32_t rank;
    uint8_t stream;          /* 1 or 2 */
    struct wire_bytes bytes; /* inside the message */
};

#define CONTROL_TEXT_BYTES_MAX (64u * 1024)

/* CONTROL_TEXT: may have several lines (what a library says), each gets its "banyan: ". */
struct control_text {
    uint8_t level;          /* enum log_level */
    struct wire_bytes text; /* inside the message */
};

void control_end_encode(const struct control_end *message, struct buffer *out);
int control_end_decode(struct control_end *ret_message, struct wire_reader *reader);
void control_started_encode(const struct control_started *message, struct buffer *out);
int control_started_decode(struct control_started *ret_message, struct wire_reader *reader);
void control_job_end_encode(const struct control_job_end *message, struct buffer *out);
int control_job_end_decode(struct control_job_end *ret_message, struct wire_reader *reader);
void control_output_encode(uint32_t rank, uint8_t stream, const void *bytes, size_t bytes_count,
                           struct buffer *out);
int control_output_decode(struct control_output *ret_message, struct wire_reader *reader);
void control_text_encode(uint8_t level, const char *text, struct buffer *out);
int control_text_decode(struct control_text *ret_message, struct wire_reader *reader);

#endif
