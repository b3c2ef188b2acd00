/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One operation of a series at this place: its progress, what each child range has contributed to
 * it, and what it offers.  collective.h and large.h drive it.
 */
#ifndef OVERLAY_OPERATION_H
#define OVERLAY_OPERATION_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "overlay/core.h"
#include "overlay/operation_phase.h"

#define ATTEMPT_NONE    UINT32_MAX
#define WAITING_UNKNOWN UINT32_MAX

/* Generations wrap: two that are open at the same time differ by less than half of all numbers. */
static inline bool generation_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* What one child range has contributed. */
struct part {
    enum overlay_part_state state; /* all for the operation's attempt */
    uint32_t low;
    uint8_t status;        /* COLLECTED: OVERLAY_STATUS_TOO_LARGE if it was too much */
    bool answered;         /* RELEASE was sent */
    bool done;             /* all members below have the whole stream */
    bool dropped;          /* the payload was forwarded, and has been freed here */
    uint64_t bytes;        /* SIZED, STORED */
    struct message *frame; /* holds payload; while streaming: the GO that was sent */
    struct wire_bytes payload;
};

/* What this place or a child range offers of a large operation, in order of places. */
struct piece {
    uint32_t child;          /* index, or PIECE_OWN */
    uint64_t bytes;          /* of the stream */
    struct message *payload; /* own: the length, then the merged contributions */
};

#define PIECE_OWN UINT32_MAX

/* A member has stopped waiting: treated as if one had died (collective_cancel.c). */
enum cancel_state {
    CANCEL_NONE,
    CANCEL_KNOWN, /* here */
    CANCEL_TOLD   /* our parent knows so, too */
};

struct operation {
    struct operation *next; /* ascending generations */
    uint32_t generation;
    enum operation_phase phase; /* changed by operation_step alone */
    bool called;                /* our own endpoint_contribute has been called: late calls find the
                                 * decision */
    enum cancel_state cancel;   /* relevant until there is a decision */
    uint32_t attempt;           /* for which waiting counts */
    uint32_t waiting;           /* contributors not yet heard in this attempt, or WAITING_UNKNOWN */
    uint32_t stalls;            /* number of roll calls for missing members */
    uint64_t progress_ns;       /* time of the last progress */
    uint32_t sent;              /* attempt in which we contributed to our parent, or ATTEMPT_NONE */
    uint8_t status;             /* decided: enum overlay_status */
    struct ranges lost;
    struct message *result; /* decided; may be NULL */
    struct message *own;    /* called and not decided; may be NULL */
    struct part *parts;     /* by index of the child range */
    uint32_t parts_count;
    /* Of a large operation; large.c. */
    uint64_t offered;     /* to our parent, in this attempt: SIZED or STORED bytes */
    uint64_t went;        /* hash of the GO received in this attempt */
    struct piece *pieces; /* offered in this attempt */
    uint32_t pieces_count;
    struct stream *stream; /* in this attempt, or complete and kept */
    uint32_t round;        /* of GO */
    uint32_t broken;       /* rounds before this one have been reported broken */
};

/* Asserts its invariants whenever it makes progress; O(1). */
void operation_check(const struct overlay *overlay, const struct series *series,
                     const struct operation *operation);
void operation_destroy(struct overlay *overlay, struct series *series, struct operation *operation);
/* The part of a child range, by its index; makes room for all. */
struct part *operation_part(struct overlay *overlay, struct operation *operation, uint32_t index);
void operation_part_clear(struct part *part);
/* It reports that no place in its range has got a decision, or that one stores it: the child waits
 * for our answer. */
static inline bool operation_part_counts(const struct part *part)
{
    return part->state == OVERLAY_PART_ABSENT || part->state == OVERLAY_PART_COLLECTED ||
           part->state == OVERLAY_PART_SIZED || part->state == OVERLAY_PART_STORED;
}
struct operation_name operation_key(const struct series *series, const struct operation *operation);
static inline void operation_step(struct operation *operation, enum operation_event event)
{
    operation->phase = operation_phase_next(operation->phase, event);
}
static inline bool operation_is_decided(const struct operation *operation)
{
    return operation_phase_is_decided(operation->phase);
}
static inline bool operation_is_going(const struct operation *operation)
{
    return operation_phase_is_going(operation->phase);
}
static inline bool operation_is_stored(const struct operation *operation)
{
    return operation_phase_is_stored(operation->phase);
}
static inline bool operation_is_over(const struct operation *operation)
{
    return operation_phase_is_over(operation->phase);
}
/* It can only end with an error, unless a decision exists: calls are not waited for. */
bool operation_is_hopeless(const struct overlay *overlay, const struct series *series,
                           const struct operation *operation);
/* One contributor fewer is waited for. */
static inline void operation_count_down(struct operation *operation)
{
    assert(operation->waiting > 0); /* every contributor was counted */
    if (operation->waiting != WAITING_UNKNOWN)
        operation->waiting--;
}

#endif
