/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of test/soak/explore.h, for its files only: explore_world.c has links, time and choices,
 * explore_calls.c what places are asked for, explore_trouble.c what befalls them.
 */
#ifndef TEST_SOAK_EXPLORE_INTERNAL_H
#define TEST_SOAK_EXPLORE_INTERNAL_H

#include "test/soak/explore.h"

#define EXPLORE_LEASE_NS (8000 * EXPLORE_MS)
/* Between heartbeats, where places are stopped. */
#define EXPLORE_OFTEN_NS (EXPLORE_LEASE_NS / 8)

enum end_state { END_NONE, END_CONNECTING, END_UP };

/* A frame under way. */
struct packet {
    struct packet *next;
    struct frame frame;
};

/* A place's end of its link to a peer, and what is under way to it. */
struct end {
    enum end_state state;
    uint32_t link;   /* equal at both ends; of who has connected */
    bool connected;  /* to be told */
    bool down;       /* to be told, after what is under way */
    bool is_cut;     /* or instead of it */
    bool is_refused; /* nobody listens there: places are found to be dead by that */
    struct packet *packets[FRAME_CLASS_COUNT];
};

struct place {
    struct overlay *overlay; /* NULL before the start */
    bool gone;               /* killed, or has ended */
    bool failed;             /* the starter will say so */
    bool stopped;
    uint64_t deadline_ns;
    uint32_t links[EXPLORE_PLACES_MAX]; /* connections to a peer, so far */
    uint32_t asks[EXPLORE_PLACES_MAX];  /* link that it wants to a peer, under way; 0: none */
    struct end ends[EXPLORE_PLACES_MAX];
};

struct task {
    struct call call;
    uint32_t begun; /* generations */
    bool is_warm;   /* it has been begun before all is explored */
};

struct world {
    const struct scenario *scenario;
    bool is_open; /* calls and deaths may come */
    uint64_t now_ns;
    uint32_t deaths;
    uint32_t hurries;
    uint32_t stops;
    uint32_t breaks;
    uint64_t begin_ns;   /* of what is explored */
    uint64_t stopped_ns; /* since when the last place that stopped does, or did */
    uint32_t tasks_count;
    struct task tasks[EXPLORE_CALLS_MAX * EXPLORE_PLACES_MAX];
    struct place places[EXPLORE_PLACES_MAX];
    struct checker checker;
};

extern struct world *world; /* in the arena, always at the same place */
extern endpoint_merge_function *const explore_merges[1];

/* explore_world.c */
uint32_t world_capacity(void); /* places that there may come to be */
/* The other end of a place's end to a peer, if it belongs to the same link. */
struct end *world_end_other(uint32_t place, uint32_t peer);
void choice_add(struct choice *choices, uint32_t *count, struct choice choice);
void world_step(uint32_t place, struct overlay_event *event);
bool world_is_alive(uint32_t place);

/* explore_trouble.c */
void trouble_choices(struct choice *choices, uint32_t *count);
/* Who is stopped goes on when the others have nothing left to do but to wait. */
void trouble_continue_choices(struct choice *choices, uint32_t *count);
bool trouble_is_stopped(void); /* somebody */
void trouble_time_passes(void);
void trouble_stop(uint32_t place);
void trouble_continue(uint32_t place);
void trouble_break(uint32_t place, uint32_t peer);

/* explore_calls.c */
bool task_may_begin(const struct task *task);
void task_begin(struct task *task);
/* Begins once more what has been begun, if that can be. */
void task_again(struct task *task);
/* A place has been told of an operation: it calls the next. */
void task_go_on(uint32_t place, const struct operation_name *key);
bool call_is_operation(const struct call *call);

#endif
