/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One key of a publish, lookup or unpublish, as it travels between daemons, and as it is kept: who asks
 * what of which key.  Its origin (place, serial) is unique in the instance, so that a request that is
 * repeated is known again.  Decoding copies nothing.
 */
#ifndef LAUNCH_PROTO_NAME_H
#define LAUNCH_PROTO_NAME_H

#include "pmix/pmi_names.h"

enum name_verb {
    NAME_PUBLISH,
    NAME_LOOKUP,
    NAME_WAIT,      /* a lookup that is answered once there is a value */
    NAME_UNPUBLISH, /* of this owner */
    NAME_FORGET,    /* the wait of this origin is over; between holders: the value of this origin */
    NAME_VERB_COUNT
};

struct name_record {
    enum name_verb verb;
    enum pmi_names_range range;
    enum pmi_names_persistence persistence;
    bool may_replace;
    uint32_t place; /* of the caller, as its job and rank */
    uint32_t job;
    uint32_t rank;
    uint64_t serial;
    struct wire_bytes namespace; /* of the caller */
    struct wire_bytes key;
    struct wire_bytes members;
    struct wire_bytes value;
};

/* A request of a process, before it is split by its keys. */
struct name_request {
    enum name_verb verb;
    uint32_t job;
    uint32_t rank;
    uint32_t timeout_ms; /* 0: none */
    struct wire_bytes namespace;
    struct pmi_names names;
};

void name_record_encode(const struct name_record *record, struct buffer *out);
/* wire_status shows whether it failed. */
void name_record_decode(struct name_record *ret_record, struct wire_reader *reader);

/* These three with the kind of the message, which has been read before the rest is decoded. */
void name_ask_encode(const struct name_record *record, struct buffer *out);
int name_ask_decode(struct name_record *ret_record, struct wire_reader *reader);
void name_watch_encode(uint32_t job, struct buffer *out);
int name_watch_decode(uint32_t *ret_job, struct wire_reader *reader);
/* A batch of records for the holder of the copies: NAME_PUBLISH and NAME_FORGET. */
void name_copy_encode(uint64_t batch, const void *records, size_t records_bytes,
                      struct buffer *out);
/* The records follow. */
uint64_t name_copy_decode(struct wire_reader *reader);
/* The speaker's request: data is what pmi_names_encode made. */
void name_request_encode(const struct name_request *request, const void *data, size_t data_bytes,
                         struct buffer *out);
int name_request_decode(struct name_request *ret_request, struct wire_reader *reader);

/* Answers: a status, and what follows it. */
void name_answer_encode(int status, const struct buffer *data, struct buffer *out);
/* status of the overlay; the rest follows if the result is 0. */
int name_answer_decode(int status, struct wire_reader *reader);
/* Of one key's lookup, and the number that unpublish has removed. */
void name_value_encode(const struct name_record *record, struct buffer *out);
int name_value_decode(struct pmi_names_found *ret_found, struct wire_reader *reader);

#endif
