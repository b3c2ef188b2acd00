/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of pmi.h as messages between the daemon and the process that hosts libpmix.  Both are
 * the same program, so there is no version.  A message is a frame: u32 length of what follows the
 * header, u8 kind; then those fields of struct pmi_message that its kind has (pmi_wire.c has the
 * table; doc/pmix.rst lists them).  The descriptor of an ADMIT travels with the first byte of its
 * frame.
 *
 * Cost: data is copied once on each side.
 */
#ifndef PMIX_PMI_WIRE_H
#define PMIX_PMI_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/wire.h"
#include "pmix/host.h"
#include "pmix/pmi.h"

#define PMI_FRAME_HEADER_BYTES 5u
#define PMI_FRAME_BYTES_MAX    (1u << 30) /* longer data is not sent; its request fails */
#define PMI_MEMBERS_MAX        (1u << 24)
#define PMI_TEXT_BYTES_MAX     (1u << 20)

enum pmi_message_kind {
    /* From the daemon. */
    PMI_MESSAGE_START, /* the first: data is pmi_start_encode's */
    PMI_MESSAGE_OPEN,  /* data is pmi_job_encode's */
    PMI_MESSAGE_CLOSE,
    PMI_MESSAGE_ADMIT,
    PMI_MESSAGE_DONE,
    PMI_MESSAGE_PROVIDE,
    PMI_MESSAGE_GONE,
    PMI_MESSAGE_CHECK,
    PMI_MESSAGE_NOTICE, /* number: enum pmi_notice_kind */
    /* From the server. */
    PMI_MESSAGE_OPENED, /* number: the server's pid */
    PMI_MESSAGE_CLOSED, /* answers CLOSE, when libpmix has forgotten the job; number: the server's memory in KiB */
    PMI_MESSAGE_CONNECTED,
    PMI_MESSAGE_REJECTED,
    PMI_MESSAGE_FINALIZED,
    PMI_MESSAGE_COLLECTIVE, /* number: enum pmi_kind; status < 0: its data was too long */
    PMI_MESSAGE_FETCH,
    PMI_MESSAGE_PROVIDED,
    PMI_MESSAGE_ABORT, /* number: the exit status, members: the targets */
    PMI_MESSAGE_TEXT,
    PMI_MESSAGE_CHECKED,
    PMI_MESSAGE_REQUEST, /* number: enum pmi_request_kind; status < 0: its data was too long */
    PMI_MESSAGE_KIND_COUNT
};

struct pmi_message {
    enum pmi_message_kind kind;
    uint64_t id;
    struct pmi_process process; /* for some kinds only the job */
    int32_t status;
    uint32_t number;
    uint32_t timeout_ms;
    const struct pmi_process *members;
    size_t members_count;
    const char *text; /* NULL is written as "" */
    const void *data;
    size_t data_bytes;
};

/* Appends the frame.  -EMSGSIZE, and nothing, if it would be too long. */
int pmi_message_encode(const struct pmi_message *message, struct buffer *out);
/* From the header of a frame: the length of what follows it; -EPROTO if the kind or the length is
 * invalid. */
int pmi_frame_length(const unsigned char *header, size_t *ret_bytes);
/* A whole frame.  data points into it; text and members are copies, which pmi_message_fini frees.
 * -EPROTO if it is invalid. */
int pmi_message_decode(struct pmi_message *ret_message, const void *frame, size_t bytes);
void pmi_message_fini(struct pmi_message *message);

/* The number of bytes to read next: the rest of the current frame, at least min_bytes. */
size_t pmi_frame_wanted(const struct buffer *in, size_t min_bytes);
/* Hands out the complete frames received, until one is refused (-errno), and drops them. */
typedef int pmi_frame_function(void *context, const struct pmi_message *message);
int pmi_frames_take(struct buffer *in, pmi_frame_function *function, void *context);

/* The configuration of a host, without ops. */
void pmi_start_encode(const struct host_config *config, struct buffer *out);
int pmi_start_decode(struct host_config *ret_config, const void *data, size_t bytes);
void pmi_start_fini(struct host_config *config);

void pmi_job_encode(const struct pmi_job *job, struct buffer *out);
/* It owns all that it points to until pmi_job_fini. */
int pmi_job_decode(struct pmi_job *ret_job, const void *data, size_t bytes);
void pmi_job_fini(struct pmi_job *job);

#endif
