/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What nodes report about themselves before a launch: processors, facts, or why one of them cannot.
 * Equal answers are merged on the way to the root, so that it gets each kind once.
 */
#ifndef LAUNCH_PROTO_SURVEY_H
#define LAUNCH_PROTO_SURVEY_H

#include "alloc/placement.h"

#define SURVEY_WHY_BYTES         512
#define SURVEY_REQUIRE_BYTES_MAX 65536u

enum survey_want { SURVEY_TOPOLOGY = 1, SURVEY_DEVICES = 2, SURVEY_FACTS = 4 };

/* A zeroed struct is empty. */
struct survey {
    struct placement_machines machines;
    struct facts_table facts;
    struct ranges failed;       /* nodes (indexes) that could not be inspected */
    char why[SURVEY_WHY_BYTES]; /* the lowest of them */
};

/* What the root asks of these nodes' places. */
struct survey_request {
    uint32_t number;     /* of the job */
    uint32_t generation; /* of its surveys */
    uint8_t want;        /* bits of survey_want */
    char *require;       /* owned; what its applications require, "" for nothing */
    struct ranges places;
};

/* With the message's kind, which has been read before the rest is decoded. */
void survey_request_encode(const struct survey_request *request, struct buffer *out);
/* 0 or -EBADMSG; ret_request must be freed in both cases. */
int survey_request_decode(struct survey_request *ret_request, struct wire_reader *reader);
void survey_request_fini(struct survey_request *request);

void survey_fini(struct survey *survey);
void survey_encode(const struct survey *survey, struct buffer *out);
/* 0 or -EBADMSG; ret_survey is empty on failure. */
int survey_decode(struct survey *ret_survey, struct wire_reader *reader);
/* Merge of the gather. */
void survey_merge(struct buffer *merged, const void *other, size_t other_bytes);

#endif
