/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of collective.c: series (all operations of one set and kind), their operations, and
 * what each child range has contributed to one; what the tree says about them.
 * Series are found by their set; those of one set, which differ in kind, are few.  What is asked of a
 * series for every frame, its attempt and whether a member is dead, is kept and made anew when
 * somebody dies, so that a frame costs the same however many series and dead there are.
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

/* Generations wrap: of two that are open at the same time the one is before the other by less than
 * half of all numbers.  A series that is new begins to count so far before the first that is heard of:
 * others may be on their way. */
#define GENERATIONS_BEFORE (1u << 30)

static inline bool generation_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* What one child range has contributed. */
struct part {
    enum overlay_part_state state; /* all of the operation's attempt */
    uint32_t low;
    uint8_t status;        /* COLLECTED: OVERLAY_STATUS_TOO_LARGE if it was too much */
    bool answered;         /* RELEASE was sent */
    bool done;             /* all members below have the whole stream */
    bool dropped;          /* the payload was passed on, and is not here any more */
    uint64_t bytes;        /* SIZED, STORED */
    struct message *frame; /* holds payload; when the stream goes: the GO that was sent */
    struct wire_bytes payload;
};

/* What this place or a child range offers of a large operation, in order of places. */
struct piece {
    uint32_t child;          /* index, or PIECE_OWN */
    uint64_t bytes;          /* of the stream */
    struct message *payload; /* own: the length, then the merged contributions */
};

#define PIECE_OWN UINT32_MAX

/* Somebody waits no longer: as if a member had died (cancel.c). */
enum cancel_state {
    CANCEL_NONE,
    CANCEL_KNOWN, /* here */
    CANCEL_TOLD   /* our parent knows so, too */
};

struct operation {
    struct operation *next; /* ascending generations */
    uint32_t generation;
    enum operation_phase phase; /* changed by operation_step alone */
    bool called;                /* our own node_contribute has come: late ones find the decision */
    enum cancel_state cancel;   /* counts until there is a decision */
    uint32_t attempt;           /* that waiting counts for */
    uint32_t waiting;           /* contributors not yet heard in this attempt, or WAITING_UNKNOWN */
    uint32_t stalls;            /* so often it has been looked for who is missing */
    uint64_t progress_ns;       /* last heard of */
    uint32_t sent;              /* attempt in which we contributed to our parent, or ATTEMPT_NONE */
    uint8_t status;             /* decided: enum overlay_status */
    struct ranges lost;
    struct message *result; /* decided; may be NULL */
    struct message *own;    /* called and not decided; may be NULL */
    struct part *parts;     /* by index of the child range */
    uint32_t parts_count;
    /* Of a large operation; large.c. */
    uint64_t offered;     /* to our parent, in this attempt: SIZED or STORED so many bytes */
    uint64_t went;        /* hash of the GO that we were given in this attempt */
    struct piece *pieces; /* offered in this attempt */
    uint32_t pieces_count;
    struct stream *stream; /* in this attempt, or complete and kept */
    uint32_t round;        /* of GO */
    uint32_t broken;       /* of the rounds before it has been told that they are */
};

struct series {
    struct list_node node;  /* of all that are open, or at rest */
    struct series *twin;    /* the next of the same set */
    struct series *sibling; /* the next of the same owner */
    uint32_t count;         /* of operations */
    uint32_t undecided;     /* of them; open: more than 0 */
    uint32_t attempt;       /* now: so many have died in covering */
    bool has_dead;          /* of set */
    struct node_key key;    /* generation 0 */
    struct ranges set;      /* in `within` all members; beyond, the first and the last of all */
    struct range within;    /* series_set.c has these seven */
    bool is_long;
    bool lossy;      /* a member has died, says who knows all */
    uint32_t judged; /* the attempt in which it said so, or ATTEMPT_NONE */
    uint32_t said;   /* the attempt in which our parent was sent the whole set, or ATTEMPT_NONE */
    uint32_t told;   /* and in which it is sure to know it */
    struct range covering;
    uint32_t stable;    /* generations below have ended at every member */
    uint32_t called_to; /* highest generation called here */
    uint64_t narrow_ns; /* until then lateral links are not tried: one has failed */
    struct operation *operations;
};

/* Walks a list of series; the one that is walked may go to the other list. */
#define series_for_each(list, series, spare)                            \
    for ((series) = list_entry((list)->head.next, struct series, node), \
        (spare) = (series)->node.next;                                  \
         &(series)->node != &(list)->head;                              \
         (series) = list_entry((spare), struct series, node), (spare) = (spare)->next)

/* Assert what holds of them whenever one of their operations goes on; O(1). */
void series_check(const struct overlay *overlay, const struct series *series);
void operation_check(const struct overlay *overlay, const struct series *series,
                     const struct operation *operation);
struct series *series_find(const struct overlay *overlay, const struct node_key *key);
struct range series_covering(const struct overlay *overlay, const struct node_key *key,
                             const struct ranges *set);
struct series *series_create(struct overlay *overlay, const struct node_key *key,
                             const struct ranges *set, struct range within);
/* Its sibling is the caller's business. */
void series_destroy(struct overlay *overlay, struct series *series);
struct operation *series_operation(const struct series *series, uint32_t generation);
/* One operation more that has not been decided here, or one less. */
void series_count_open(struct overlay *overlay, struct series *series, int change);
/* Members or deaths are others than before. */
void series_look_at_dead(struct overlay *overlay, struct series *series);
/* Forgets what has ended at every member. */
void series_drop_stable(struct overlay *overlay, struct series *series);
void operation_destroy(struct overlay *overlay, struct series *series, struct operation *operation);
/* The part of a child range, by its index; makes room for all. */
struct part *operation_part(struct overlay *overlay, struct operation *operation, uint32_t index);
void part_clear(struct part *part);
/* It says that nobody in its range has been told a decision, or that somebody stores it: the child
 * waits for what we say. */
static inline bool part_counts(const struct part *part)
{
    return part->state == OVERLAY_PART_ABSENT || part->state == OVERLAY_PART_COLLECTED ||
           part->state == OVERLAY_PART_SIZED || part->state == OVERLAY_PART_STORED;
}
struct node_key operation_key(const struct series *series, const struct operation *operation);
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
/* It can only end with an error, if nobody has seen another decision: nobody waits for calls. */
bool operation_is_hopeless(const struct overlay *overlay, const struct series *series,
                           const struct operation *operation);
/* A member lives in the child range. */
bool series_expects(const struct overlay *overlay, const struct series *series,
                    const struct child *child);
/* Lowest generation that has not ended here, of a member. */
uint32_t series_low(const struct overlay *overlay, const struct series *series);

/* series_set.c */
#define SERIES_WHOLE ((struct range){0, UINT32_MAX})
void series_set_init(struct overlay *overlay, struct series *series, const struct ranges *set,
                     struct range within);
/* Who all members are is known here. */
bool series_is_whole(const struct series *series);
/* Enough is known here, in this attempt, to count on who is below. */
bool series_suffices(const struct overlay *overlay, const struct series *series);
/* We are told of a set, all of it or what lies within a range.  -1 if it cannot be the same set. */
int series_tell(struct overlay *overlay, struct series *series, const struct ranges *set,
                struct range within);
/* Our parent knows the set, in this attempt. */
bool series_is_told(const struct overlay *overlay, const struct series *series);
/* What is said to our parent of the series will be understood. */
bool series_can_tell(const struct overlay *overlay, const struct series *series);
/* Borrowed.  None: our parent knows it by the series' name. */
struct ranges series_set_to_tell(const struct overlay *overlay, struct series *series);
/* Our parent has answered in this attempt; or has asked, and says whether a member has died. */
void series_heard(struct series *series, uint32_t attempt);
void series_judge(struct series *series, uint32_t attempt, bool lossy);
/* A new parent knows nothing. */
void series_joined(struct series *series);
/* The members in a range, and the first and the last of all; replaces ret_slice. */
void series_slice(const struct ranges *set, struct range range, struct ranges *ret_slice);
/* Forgets what nobody here needs of a long set. */
void series_trim(struct overlay *overlay, struct series *series);

/* collective.c, for cancel.c */
/* Does what can be done now.  The operation may be gone afterwards. */
void operation_restart(struct overlay *overlay, struct series *series,
                       struct operation *operation); /* begins the current attempt */
void operation_advance(struct overlay *overlay, struct series *series, struct operation *operation);
/* Asks those below who have not been heard in this attempt, when waiting for calls is pointless; and
 * after a death those of a long set, who may know less of it than they need. */
void operation_query_child(struct overlay *overlay, const struct series *series,
                           struct operation *operation, uint32_t index);
/* Somebody who was waited for need not be. */
static inline void operation_count_down(struct operation *operation)
{
    assert(operation->waiting > 0); /* who is counted down was counted */
    if (operation->waiting != WAITING_UNKNOWN)
        operation->waiting--;
}

/* cancel.c */
/* What is going has been decided, unless somebody dies yet: then those who were told tell it again.
 * state: KNOWN, or TOLD by our parent.  The operation may be gone afterwards. */
void cancel_take(struct overlay *overlay, struct series *series, struct operation *operation,
                 enum cancel_state state);
/* Tells our parent, if it does not know. */
void cancel_tell(struct overlay *overlay, struct series *series, struct operation *operation);

/* collective.c, for retell.c */
void collective_send_query(struct overlay *overlay, const struct series *series,
                           const struct operation *operation, uint32_t place,
                           enum overlay_want want);
/* Tells a child what has been decided. */
void collective_release_child(struct overlay *overlay, const struct series *series,
                              struct operation *operation, uint32_t index);

/* retell.c */
/* Nothing has been heard of an operation for long. */
void retell_stalled(struct overlay *overlay, struct series *series, struct operation *operation);

/* collective.c, for large.c */
/* May we speak to our parent about this series now?  What we would say before we are ready would be
 * for a tree that is no more. */
bool collective_can_contribute(const struct overlay *overlay, const struct series *series);
/* Takes a decision, whoever made it; takes result and lost. */
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
/* Somebody here or below stores the result. */
bool large_is_held(const struct operation *operation);
/* Everyone below has been heard.  True, and what is offered inline, if that is little; false if it
 * is large: then the pieces are kept. */
bool large_fold(struct overlay *overlay, struct series *series, struct operation *operation,
                struct buffer *ret_inline);
uint64_t large_bytes(const struct operation *operation); /* of the pieces, or that are held */
/* Of SIZED and STORED; 0 of what is neither. */
uint64_t large_bytes_said(const struct overlay_contribute *contribute);
/* What a contribution says of a large operation can be. */
bool large_is_said_well(const struct overlay_contribute *contribute);
/* The meeting point: whether so much is better released down the tree than streamed. */
bool large_is_better_released(const struct overlay *overlay, const struct series *series,
                              size_t bytes);
/* The meeting point: begins the stream. */
void large_go(struct overlay *overlay, struct series *series, struct operation *operation);
/* Tells a child once more that the stream goes, and which way. */
void large_go_again(struct overlay *overlay, const struct series *series,
                    struct operation *operation, uint32_t index);
/* What our parent may not have heard of a stream that goes. */
void large_say_again(struct overlay *overlay, const struct series *series,
                     const struct operation *operation);
/* Everyone may have it, as far as we know. */
bool large_may_be_over(const struct overlay *overlay, const struct series *series,
                       const struct operation *operation);
/* A child says that everyone has: tells everyone else who may wait for that, and forgets. */
void large_take_over(struct overlay *overlay, struct series *series, struct operation *operation);
/* Tells our parent that it is over, if that has not been told in this attempt. */
void large_tell_over(struct overlay *overlay, struct series *series, struct operation *operation);
/* The same of what every member has ended, and is perhaps forgotten here. */
void large_tell_ended(struct overlay *overlay, struct series *series, uint32_t generation);
/* Tells a child, who stores it. */
void large_answer_ended(struct overlay *overlay, const struct series *series, uint32_t generation,
                        uint32_t place);
/* Another attempt, or the end: forgets what was of this attempt. */
void large_reset(struct overlay *overlay, struct operation *operation);

#endif
