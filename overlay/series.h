/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of collective.c: series (all operations of one set and kind; operation.h has these),
 * and what the tree says about them.  Series are found by their set; those of one set, which differ
 * in kind, are few.  A series' attempt and whether a member is dead, needed for every frame, are
 * cached and recomputed on deaths, so that a frame's cost does not depend on the number of series
 * and dead places.
 */
#ifndef OVERLAY_SERIES_H
#define OVERLAY_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "overlay/core.h"
#include "overlay/operation.h"

/* A new series starts counting this far before the first generation received: earlier ones may
 * still arrive. */
#define GENERATIONS_BEFORE (1u << 30)

struct series {
    struct list_link node;     /* of all that are open, or at rest */
    struct series *twin;       /* the next of the same set */
    struct series *sibling;    /* the next of the same owner */
    uint32_t count;            /* of operations */
    uint32_t undecided;        /* of them; open: more than 0 */
    uint32_t attempt;          /* current: number of deaths in covering, and of recoveries */
    bool has_dead;             /* of set */
    struct operation_name key; /* generation 0 */
    struct ranges set;         /* in `within` all members; beyond, the first and the last of all */
    struct range within;       /* series_set.c has these seven */
    bool is_long;
    bool lossy;   /* a member has died, according to a place that knows all members */
    bool is_warm; /* an operation was large: links opened for the next one serve later ones, too */
    uint32_t judged; /* the attempt in which that was reported, or ATTEMPT_NONE */
    uint32_t said;   /* the attempt in which our parent was sent the whole set, or ATTEMPT_NONE */
    uint32_t told;   /* and in which it certainly has it */
    struct range covering;
    uint32_t stable;    /* generations below have ended at every member */
    uint32_t called_to; /* highest generation called here */
    uint64_t narrow_ns; /* until then lateral links are not tried, since one has failed */
    struct operation *operations;
};

/* Walks a list of series; the current one may be moved to the other list. */
#define series_for_each(list, series, spare)                            \
    for ((series) = list_entry((list)->head.next, struct series, node), \
        (spare) = (series)->node.next;                                  \
         &(series)->node != &(list)->head;                              \
         (series) = list_entry((spare), struct series, node), (spare) = (spare)->next)

/* Asserts its invariants whenever one of its operations makes progress; O(1). */
void series_check(const struct overlay *overlay, const struct series *series);
void series_check_all(const struct overlay *overlay); /* what they are found by; O(1) */
struct series *series_find(const struct overlay *overlay, const struct operation_name *key);
struct range series_covering(const struct overlay *overlay, const struct operation_name *key,
                             const struct ranges *set);
struct series *series_create(struct overlay *overlay, const struct operation_name *key,
                             const struct ranges *set, struct range within);
/* The caller handles its sibling. */
void series_destroy(struct overlay *overlay, struct series *series);
struct operation *series_operation(const struct series *series, uint32_t generation);
/* Counts one more operation not decided here, or one fewer. */
void series_count_open(struct overlay *overlay, struct series *series, int change);
/* Members or deaths have changed. */
void series_look_at_dead(struct overlay *overlay, struct series *series);
/* Forgets what has ended at every member. */
void series_drop_stable(struct overlay *overlay, struct series *series);
void series_init(struct overlay *overlay);
void series_fini(struct overlay *overlay); /* destroys all */

bool series_is_member(const struct overlay *overlay, const struct series *series);
bool series_meets_here(const struct overlay *overlay, const struct series *series);
bool series_has_dead(const struct overlay *overlay, const struct series *series);
/* The child range has a living member. */
bool series_expects(const struct overlay *overlay, const struct series *series,
                    const struct child *child);
/* Lowest generation that has not ended here, of a member. */
uint32_t series_low(const struct overlay *overlay, const struct series *series);

/* series_set.c */
#define SERIES_WHOLE ((struct range){0, UINT32_MAX})
void series_set_init(struct overlay *overlay, struct series *series, const struct ranges *set,
                     struct range within);
/* All members are known here. */
bool series_is_whole(const struct series *series);
/* Enough is known here, in this attempt, to know the members below. */
bool series_suffices(const struct overlay *overlay, const struct series *series);
/* Learns a set, all of it or the part within a range.  -1 if it cannot be the same set. */
int series_tell(struct overlay *overlay, struct series *series, const struct ranges *set,
                struct range within);
/* Our parent knows the set, in this attempt. */
bool series_is_reported(const struct overlay *overlay, const struct series *series);
/* Our parent will recognise messages about the series. */
bool series_can_tell(const struct overlay *overlay, const struct series *series);
/* The set to send, borrowed.  Empty: our parent knows it by the series' name. */
struct ranges series_set_to_tell(const struct overlay *overlay, struct series *series);
/* Our parent has answered in this attempt; or has asked, and reports whether a member has died. */
void series_heard(struct series *series, uint32_t attempt);
void series_judge(struct series *series, uint32_t attempt, bool lossy);
/* A new parent knows nothing. */
void series_joined(struct series *series);
/* The members in a range, and the first and the last of all; replaces ret_slice. */
void series_slice(const struct ranges *set, struct range range, struct ranges *ret_slice);
/* Drops the part of a long set that is not needed here. */
void series_trim(struct overlay *overlay, struct series *series);

#endif
