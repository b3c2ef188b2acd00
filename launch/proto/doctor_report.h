/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `banyan doctor` finds: lines of text, each with the places that it holds for.  Equal lines
 * of different places are one finding, merged on the way up the tree, so that the size of a report
 * depends on the differences among nodes, not on their number; texts therefore name no node.
 * Invariant: sorted by topic, then problems first, then text; no two differ only in their places.
 * Pure: no clock, file or socket.
 */
#ifndef LAUNCH_PROTO_DOCTOR_REPORT_H
#define LAUNCH_PROTO_DOCTOR_REPORT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/ranges.h"
#include "base/wire.h"

#define DOCTOR_TEXT_BYTES_MAX 1024u  /* longer ones are truncated */
#define DOCTOR_FINDINGS_MAX   65536u /* of a report; further ones are counted but not kept */
#define DOCTOR_RANGES_MAX     (16u * 1024 * 1024)

/* In the order in which they are shown.  The numbers are the wire's. */
enum doctor_topic {
    DOCTOR_START,
    DOCTOR_NAME,
    DOCTOR_NETWORK,
    DOCTOR_TREE,
    DOCTOR_CLOCK,
    DOCTOR_BANYAN,
    DOCTOR_PMIX,
    DOCTOR_MPI,
    DOCTOR_PROGRAM,
    DOCTOR_LIMITS,
    DOCTOR_SPACE,
    DOCTOR_TOPOLOGY,
    DOCTOR_LEFTOVERS,
    DOCTOR_TOPIC_COUNT
};

enum doctor_level {
    DOCTOR_PROBLEM, /* must be fixed: makes the exit status nonzero */
    DOCTOR_NOTE,    /* worth knowing */
    DOCTOR_FACT,
    DOCTOR_LEVEL_COUNT
};

struct doctor_finding {
    enum doctor_topic topic;
    enum doctor_level level;
    char *text;
    char *remedy; /* the option or command that fixes it; "" if there is none */
    struct ranges places;
};

struct doctor_report {
    struct doctor_finding *items;
    uint32_t count;
    uint32_t capacity;
};

void doctor_report_fini(struct doctor_report *report);
/* Texts are copied; control characters become blanks.  remedy may be NULL. */
void doctor_report_add(struct doctor_report *report, enum doctor_topic topic,
                       enum doctor_level level, const struct ranges *places, const char *text,
                       const char *remedy);
void doctor_report_merge(struct doctor_report *report, const struct doctor_report *other);
/* 1 if there is no problem. */
int doctor_report_is_well(const struct doctor_report *report);
/* Places that have a problem. */
void doctor_report_ill(const struct doctor_report *report, struct ranges *ret_places);

const char *doctor_report_topic_name(enum doctor_topic topic);

void doctor_report_encode(const struct doctor_report *report, struct buffer *out);
/* Reads to the end of the reader: 0, or -EBADMSG, and then ret_report is empty. */
int doctor_report_decode(struct doctor_report *ret_report, struct wire_reader *reader);
/* One finding of one place, as the examining process writes it: without places. */
void doctor_report_line_encode(enum doctor_topic topic, enum doctor_level level, const char *text,
                               const char *remedy, struct buffer *out);
/* Adds it for the places. */
int doctor_report_line_decode(struct wire_reader *reader, const struct ranges *places,
                              struct doctor_report *report);

/* merged := merged + other, both encoded (endpoint_merge_function). */
void doctor_report_fold(struct buffer *merged, const void *other, size_t other_bytes);

#endif
