/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of collective.c: series (all operations of one set and kind), their operations, and
 * what each child range has contributed to one; what the tree says about them; what is forgotten.
 * Series are few (a job has a handful), so they stand in a list; so do a series' open operations.
 */
#ifndef OVERLAY_SERIES_H
#define OVERLAY_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/core.h"

#define ATTEMPT_NONE UINT32_MAX

/* What one child range has contributed. */
struct part {
    enum overlay_part_state state; /* all of the operation's attempt */
    uint32_t low;
    uint8_t status;        /* COLLECTED: OVERLAY_STATUS_TOO_LARGE if it was too much */
    bool answered;         /* RELEASE was sent */
    struct message *frame; /* holds payload */
    struct wire_bytes payload;
};

struct operation {
    struct operation *next; /* ascending generations */
    uint32_t generation;
    uint32_t attempt;     /* that waiting counts for */
    uint32_t waiting;     /* contributors not yet heard in this attempt */
    uint32_t stalls;      /* so often it has been looked for who is missing */
    uint64_t progress_ns; /* last heard of */
    uint32_t sent;        /* attempt in which we contributed to our parent, or ATTEMPT_NONE */
    bool called;          /* our own node_contribute has come */
    bool delivered;
    bool decided;
    uint8_t status; /* decided: enum overlay_status */
    struct ranges lost;
    struct message *result; /* decided; may be NULL */
    struct message *own;    /* called and not decided; may be NULL */
    struct part *parts;     /* by index of the child range */
    uint32_t parts_count;
};

struct series {
    struct series *next;
    struct node_key key; /* generation 0 */
    struct ranges set;
    struct range covering;
    uint32_t stable;    /* generations below have ended at every member */
    uint32_t called_to; /* highest generation called here */
    struct operation *operations;
};

/* Late frames of a set that was forgotten are dropped: the last few hundred are known. */
bool series_is_forgotten(const struct overlay *overlay, uint64_t set_id);
struct series *series_find(const struct overlay *overlay, const struct node_key *key);
struct range series_covering(const struct overlay *overlay, const struct node_key *key,
                             const struct ranges *set);
struct series *series_create(struct overlay *overlay, const struct node_key *key,
                             const struct ranges *set);
struct operation *series_operation(const struct series *series, uint32_t generation);
/* Forgets what has ended at every member. */
void series_drop_stable(struct series *series);
void operation_destroy(struct operation *operation);
/* The part of a child range, by its index; makes room for all. */
struct part *operation_part(struct overlay *overlay, struct operation *operation, uint32_t index);
void part_clear(struct part *part);

/* The current attempt: so many have died in the covering range. */
uint32_t series_attempt(const struct overlay *overlay, const struct series *series);
bool series_is_member(const struct overlay *overlay, const struct series *series);
bool series_meets_here(const struct overlay *overlay, const struct series *series);
bool series_has_dead(const struct overlay *overlay, const struct series *series);
/* A member lives in the child range. */
bool series_expects(const struct overlay *overlay, const struct series *series,
                    const struct child *child);
/* Lowest generation that has not ended here; UINT32_MAX if this place is no member. */
uint32_t series_low(const struct overlay *overlay, const struct series *series);

#endif
