/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of collective.c: series (all operations of one set and kind), their operations, and
 * what each child range has contributed to one; what the tree says about them.  Series are found by
 * their set; those of one set, which differ in kind, are few.  A series' attempt and whether a
 * member is dead, needed for every frame, are cached and recomputed on deaths, so that a frame's
 * cost does not depend on the number of series and dead places.
 */
#ifndef OVERLAY_SERIES_H
#define OVERLAY_SERIES_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "overlay/core.h"
#include "overlay/operation_phase.h"

#define ATTEMPT_NONE    UINT32_MAX
#define WAITING_UNKNOWN UINT32_MAX

/* Generations wrap: two that are open at the same time differ by less than half of all numbers.  A
 * new series starts counting this far before the first one received: earlier ones may still
 * arrive. */
#define GENERATIONS_BEFORE (1u << 30)

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

struct series {
    struct list_link node;     /* of all that are open, or at rest */
    struct series *twin;       /* the next of the same set */
    struct series *sibling;    /* the next of the same owner */
    uint32_t count;            /* of operations */
    uint32_t undecided;        /* of them; open: more than 0 */
    uint32_t attempt;          /* current: number of deaths in covering */
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

/* Assert their invariants whenever one of their operations makes progress; O(1). */
void series_check(const struct overlay *overlay, const struct series *series);
void operation_check(const struct overlay *overlay, const struct series *series,
                     const struct operation *operation);
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
void operation_destroy(struct overlay *overlay, struct series *series, struct operation *operation);
/* The part of a child range, by its index; makes room for all. */
struct part *operation_part(struct overlay *overlay, struct operation *operation, uint32_t index);
void part_clear(struct part *part);
/* It reports that no place in its range has got a decision, or that one stores it: the child waits
 * for our answer. */
static inline bool part_counts(const struct part *part)
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

bool series_is_member(const struct overlay *overlay, const struct series *series);
bool series_meets_here(const struct overlay *overlay, const struct series *series);
bool series_has_dead(const struct overlay *overlay, const struct series *series);
/* It can only end with an error, unless a decision exists: calls are not waited for. */
bool operation_is_hopeless(const struct overlay *overlay, const struct series *series,
                           const struct operation *operation);
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

/* collective.c, for collective_cancel.c */
/* Makes all possible progress.  The operation may have been freed afterwards. */
void operation_restart(struct overlay *overlay, struct series *series,
                       struct operation *operation); /* begins the current attempt */
void operation_advance(struct overlay *overlay, struct series *series, struct operation *operation);
/* Queries the child ranges not heard from in this attempt, when waiting for calls is pointless; and
 * after a death those of a long set, which may know too little of it. */
void operation_query_child(struct overlay *overlay, const struct series *series,
                           struct operation *operation, uint32_t index);
/* One contributor fewer is waited for. */
static inline void operation_count_down(struct operation *operation)
{
    assert(operation->waiting > 0); /* every contributor was counted */
    if (operation->waiting != WAITING_UNKNOWN)
        operation->waiting--;
}

/* collective_cancel.c */
/* A running operation has been decided, unless a place dies: then those that know of the cancel
 * send it again.  state: CANCEL_KNOWN, or CANCEL_TOLD if our parent sent it.  The operation may
 * have been freed afterwards. */
void collective_cancel_take(struct overlay *overlay, struct series *series,
                            struct operation *operation, enum cancel_state state);
/* Notifies our parent, if it does not know. */
void collective_cancel_tell(struct overlay *overlay, struct series *series,
                            struct operation *operation);

/* collective.c, for retell.c */
void collective_send_query(struct overlay *overlay, const struct series *series,
                           const struct operation *operation, uint32_t place,
                           enum overlay_want want);
/* Sends the decision to a child. */
void collective_release_child(struct overlay *overlay, const struct series *series,
                              struct operation *operation, uint32_t index);

/* retell.c */
/* An operation has made no progress for long. */
void retell_stalled(struct overlay *overlay, struct series *series, struct operation *operation);

/* collective.c, for large.c */
/* Whether we may send to our parent about this series now.  Before we are ready, a message would
 * refer to an outdated tree. */
bool collective_can_contribute(const struct overlay *overlay, const struct series *series);
/* Applies a decision, made here or elsewhere; takes result and lost. */
void collective_settle(struct overlay *overlay, struct series *series, struct operation *operation,
                       uint8_t status, struct ranges *lost, struct message *result);
/* Lowest generation that has not ended here or below, at most the operation's. */
uint32_t collective_low(const struct overlay *overlay, const struct series *series,
                        const struct operation *operation);
void collective_raise_stable(struct overlay *overlay, struct series *series, uint32_t stable);
void collective_merge_one(struct overlay *overlay, const struct series *series,
                          struct buffer *merged, struct wire_bytes payload);
void collective_drop_payloads(struct operation *operation);

/* large.c, for collective.c */
/* A place here or below stores the result. */
bool large_is_held(const struct operation *operation);
/* All below have been heard from.  True, and the data to send inline, if it is small; false if it
 * is large: then the pieces are kept. */
bool large_fold(struct overlay *overlay, struct series *series, struct operation *operation,
                struct buffer *ret_inline);
uint64_t large_bytes(const struct operation *operation); /* of the pieces, or of what is stored */
/* The size in SIZED and STORED; 0 for other states. */
uint64_t large_bytes_said(const struct overlay_contribute *contribute);
/* Whether a contribution to a large operation is valid. */
bool large_is_said_well(const struct overlay_contribute *contribute);
/* The meeting point: whether that much is better released down the tree than streamed. */
bool large_is_better_released(const struct overlay *overlay, const struct series *series,
                              size_t bytes);
/* The meeting point: begins the stream. */
void large_go(struct overlay *overlay, struct series *series, struct operation *operation);
/* Sends GO to a child once more. */
void large_go_again(struct overlay *overlay, const struct series *series,
                    struct operation *operation, uint32_t index);
/* Repeats what our parent may have missed about a running stream. */
void large_say_again(struct overlay *overlay, const struct series *series,
                     const struct operation *operation);
/* All may have it, as far as we know. */
bool large_may_be_over(const struct overlay *overlay, const struct series *series,
                       const struct operation *operation);
/* A child reports that all have it: notifies all others that may wait for that, and forgets. */
void large_take_over(struct overlay *overlay, struct series *series, struct operation *operation);
/* Reports OVER to our parent, if that has not been done in this attempt. */
void large_tell_over(struct overlay *overlay, struct series *series, struct operation *operation);
/* The same for an operation that every member has ended, and that may be forgotten here. */
void large_tell_ended(struct overlay *overlay, struct series *series, uint32_t generation);
/* Sends OVER to a child that stores it. */
void large_answer_ended(struct overlay *overlay, const struct series *series, uint32_t generation,
                        uint32_t place);
/* Another attempt, or the end: drops the state of this attempt. */
void large_reset(struct overlay *overlay, struct operation *operation);

#endif
