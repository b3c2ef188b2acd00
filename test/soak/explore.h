/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small world of real cores (overlay/overlay.h) without a simulator: what may happen next is a
 * list of choices, and test/soak/explore.c tries them all.  A link keeps the order of frames within a
 * class only; a connection is made in two steps; a close is heard after what was sent before it, a
 * death at any point, and what was on its way is lost then.  Time stands still while anything can be
 * delivered and then goes to the next deadline: frames are faster than timers, but for `hurry`.  A
 * place that is stopped does nothing while time passes for the others, by eighths of a lease; when it
 * goes on, what came meanwhile and its timers come in any order.
 *
 * At each end everything is called once more, in one order, and then the world is left alone for
 * some seconds: whatever happened has left no damage.
 *
 * The whole world lives in one arena (explore_memory.c), so that a state is saved and gone back to by
 * copying bytes, and two states are the same if their memory is, up to where its blocks lie.  So
 * orders of events that come to the same are explored once, and nothing of the core need be known
 * for that.
 */
#ifndef TEST_SOAK_EXPLORE_H
#define TEST_SOAK_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/frame.h"
#include "overlay/overlay.h"
#include "test/support/overlay_checker.h"

#define EXPLORE_PLACES_MAX  9
#define EXPLORE_CALLS_MAX   16
#define EXPLORE_CHOICES_MAX 128
#define EXPLORE_MS          1000000ull
#define EVERYBODY           255 /* call.place: each member of the set calls */

/* ---- explore_memory.c ---- */

struct snapshot {
    void *bytes;
    size_t used_bytes;
    size_t capacity_bytes;
};

/* Between enter and leave malloc and its like take from the arena. */
void arena_enter(void);
void arena_leave(void);
void arena_reset(void); /* everything in it is gone */
void arena_save(struct snapshot *snapshot);
void arena_restore(const struct snapshot *snapshot);
void snapshot_fini(struct snapshot *snapshot);
/* Of what is reachable from a block, whatever the addresses. */
uint64_t arena_hash(const void *block);

/* ---- explore_world.c ---- */

enum call_kind {
    CALL_NONE,
    CALL_BROADCAST,
    CALL_EXCHANGE,
    CALL_GATHER,
    CALL_REQUEST,
    CALL_CANCEL, /* the first exchange of the set, once the place has called it */
    CALL_LEAVE,
    CALL_GROW,  /* by `more` of the scenario */
    CALL_SHRINK /* first..last */
};

/* What is asked of a place, at any time after the beginning. */
struct call {
    enum call_kind kind;
    uint32_t place;
    uint32_t first;       /* the set is first..last; `first` is who is asked */
    uint32_t last;        /* of a broadcast EVERYBODY: to all there are */
    uint32_t generations; /* so many operations, each as soon as the one before is told */
    uint32_t bytes;       /* at least so many contributes the last of the set */
    bool by_first;        /* or its first */
};

struct scenario {
    const char *name;
    uint32_t places;
    uint32_t radix;
    uint32_t deaths;       /* at most */
    uint32_t hurries;      /* so often a timer may come before frames that are on their way */
    uint32_t stops;        /* so often a place stops, and goes on later */
    uint32_t stop_eighths; /* of a lease: for at most so long; 0: 11 */
    uint32_t breaks;       /* so many links break without a death */
    bool from_start;       /* the joining is explored too */
    bool root_may_die;     /* instead of another; or stop */
    bool again;            /* all is called once before, and lateral links are about to be idle */
    bool is_patient;       /* no stall is noticed */
    bool two_trees;        /* whatever streams would cost: so few bytes would go the main tree */
    bool via_top;          /* the same */
    bool long_sets;        /* sets are held in slices */
    uint32_t more;         /* places that CALL_GROW gives */
    uint32_t absent;       /* the last so many places never start: what is left is deeper */
    struct call calls[EXPLORE_CALLS_MAX];
};

enum choice_kind {
    CHOICE_FRAME,     /* place is handed the next frame of class from peer */
    CHOICE_ACCEPT,    /* place is asked for a link by peer */
    CHOICE_CONNECTED, /* place is told that its link to peer is up */
    CHOICE_DOWN,      /* place is told that its link to peer is down */
    CHOICE_TIMER,     /* of place */
    CHOICE_ADVANCE,   /* time goes to the next deadline */
    CHOICE_START,
    CHOICE_CALL,     /* index */
    CHOICE_FAILED,   /* the root's starter tells it that place is gone */
    CHOICE_CONTINUE, /* place, which is stopped */
    CHOICE_KILL,     /* from here on: what befalls somebody */
    CHOICE_STOP,
    CHOICE_BREAK /* the link of place and peer */
};

struct choice {
    uint8_t kind; /* enum choice_kind */
    uint8_t place;
    uint8_t peer;
    uint8_t class;
    uint8_t index;
};

/* Makes the world of a scenario, joined unless from_start. */
void world_create(const struct scenario *scenario);
/* What may happen next; 0 at an end. */
uint32_t world_choices(struct choice *choices);
void world_apply(const struct choice *choice);
/* Call before world_apply: says in words what will happen. */
void world_describe(const struct choice *choice, struct buffer *out);
uint64_t world_hash(void);
/* Nothing goes on and nobody waits: checks what must hold at rest. */
bool world_is_quiet(void);
void world_finish(void);
uint64_t world_now_ns(void);
const char *world_failure(void);
const struct scenario *world_scenario(void);

#endif
