/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The journal of a root that can be recovered (launch/daemon/journal.h): what its endpoint and its core were given,
 * in order.  Numbers as base/wire.h:
 *
 *     "BANYAN-JOURNAL 2" | u32 how long others survive it, in seconds | string version of banyan
 *     v length, boot record of place 0 | v length, u8 policy, optional string fabric topology, roster, addresses, u64 now_ns
 *     v length, record: u8 kind | u64 now_ns | what its kind has
 *     ...
 *
 * A record that was cut off by the death of the root is the last one: nobody has seen its effect.
 */
#ifndef LAUNCH_DAEMON_JOURNAL_WIRE_H
#define LAUNCH_DAEMON_JOURNAL_WIRE_H

#include "alloc/allocation.h"
#include "base/addresses.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/frame.h"
#include "base/wire.h"
#include "launch/core/daemon_core.h"
#include "launch/proto/boot.h"

#define JOURNAL_MAGIC       "BANYAN-JOURNAL 2"
#define JOURNAL_MAGIC_BYTES 16u

enum journal_kind {
    JOURNAL_UP,      /* place, number: incarnation */
    JOURNAL_DOWN,    /* place, number: error code, text */
    JOURNAL_FRAME,   /* place, frame */
    JOURNAL_TIMER,   /* of the transport */
    JOURNAL_REFUSED, /* the connect that the record before has caused failed at once */
    JOURNAL_EVENT,   /* event */
    JOURNAL_POSTED,  /* the same, posted from within the step before */
    JOURNAL_RECOVERED,
    JOURNAL_KIND_COUNT
};

/* Borrows from where it was read, but for the payload of its frame: journal_record_fini. */
struct journal_record {
    enum journal_kind kind;
    uint64_t now_ns;
    uint32_t place;
    int64_t number;
    char *text;
    struct frame frame;
    struct daemon_event event;
    struct job_event job_event;
};

struct journal_head {
    uint32_t survive_s;
    struct boot_record record;
    enum instance_policy policy;
    struct allocation roster;
    struct addresses own;
    uint64_t now_ns; /* the endpoint's first step */
};

void journal_head_encode(const struct journal_head *head, struct buffer *out);
/* From the beginning of the file; the reader stands after it.  -EBADMSG: it is something else. */
int journal_head_decode(struct journal_head *ret_head, struct wire_reader *reader);
void journal_head_fini(struct journal_head *head);

/* Appends it with its length.  -EOPNOTSUPP, without effect: an event that no root has. */
int journal_record_encode(const struct journal_record *record, struct buffer *out);
/* 1; 0 at the end, or before a record that was cut off; -EBADMSG. */
int journal_record_decode(struct journal_record *ret_record, struct wire_reader *reader);
void journal_record_fini(struct journal_record *record);

#endif
