/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A root and some nodes of the job logic (launch/job/job.h) without any overlay: a queue between them
 * that carries broadcasts, messages and the results of gathers, and a trace of every action, one
 * line each.  Tests play the processes, the user and death.
 */
#ifndef TEST_SUPPORT_JOB_WORLD_H
#define TEST_SUPPORT_JOB_WORLD_H

#include <stdint.h>

#include "base/buffer.h"
#include "launch/job/instance.h"

#define JOB_WORLD_NODES_MAX 16
#define JOB_WORLD_JOBS_MAX  128

/* Kinds of deliveries that can be held back. */
#define HOLD_BROADCASTS 1u
#define HOLD_RESULTS    2u
#define HOLD_MESSAGES   4u

struct job_world_place {
    struct instance *instance; /* NULL once dead */
    uint32_t opened, closed;
    uint32_t starts; /* ranks of START actions */
    uint32_t cancelled_starts;
    int64_t end_grace_ms; /* of the last END_GROUP, -1: none */
    int cut;              /* CUT_OUTPUT: -1 none, 0, or 1 = discard */
    int signal;           /* the last one */
    uint32_t surveys;     /* how often it was asked */
    uint32_t start_first; /* of the last START */
    uint32_t seals;
    uint64_t deadline_ns; /* of its part of job 1; UINT64_MAX: none */
};

struct delivery;
struct gather;

struct job_world {
    struct instance_spec instance;
    struct allocation allocation;
    uint32_t nodes;
    uint64_t now_ns;
    enum job_on_failure on_failure; /* of the job that job_world_run makes */
    uint32_t restarts_max;          /* likewise */
    uint32_t mpi;                   /* likewise, JOB_MPI_* */
    uint32_t start_timeout_s;       /* likewise the next, of those that job_world_spawn makes */
    uint32_t run_timeout_s;
    enum pmi_stop stop;
    const char *tool;
    int may_wait;               /* likewise of the one that job_world_run makes */
    struct placement_rule rule; /* of it; a zeroed one is by slot and binds nothing */
    uint32_t cores;             /* of each node; 0: it does not answer when it is asked */
    uint64_t deadlines_ns[JOB_WORLD_JOBS_MAX]; /* of jobs, [0]: the instance; UINT64_MAX: none */
    unsigned int hold; /* HOLD_*: as long as it is set these stay in the queue */
    struct ranges missing;
    struct job_world_place places[JOB_WORLD_NODES_MAX + 1];
    struct delivery *first, *last;
    struct gather *gathers;
    struct buffer trace;
    uint32_t started; /* STARTED actions */
    uint32_t reports; /* ENDED actions */
    uint32_t leaves;
    struct control_job_end end; /* of the last report */
    char text[512];             /* of the last TEXT action */
};

struct job_world *job_world_create(uint32_t nodes, uint32_t slots);
struct job_world *job_world_create_with(uint32_t nodes, uint32_t slots,
                                        enum instance_policy policy);
/* The last ones of the nodes are spares. */
struct job_world *job_world_create_spares(uint32_t nodes, uint32_t slots, uint32_t spares,
                                          enum instance_policy policy);
void job_world_destroy(struct job_world *world);
/* Hands an event to a place and carries on until nothing moves any more. */
void job_world_event(struct job_world *world, uint32_t place, struct job_event event);
/* Goes on with what was held. */
void job_world_release(struct job_world *world);
/* What is held is lost on its way. */
void job_world_drop_held(struct job_world *world);
/* The place is gone: gathers it belongs to fail, and everybody hears of it. */
void job_world_kill(struct job_world *world, uint32_t place);
/* Time passes; timers that are due are told, those of the root first, then those of each node. */
void job_world_pass(struct job_world *world, uint32_t milliseconds);
/* The trace since the last call; valid until the next. */
const char *job_world_trace(struct job_world *world);

/* Checks that it is `expected`, and that doc/job.rst quotes it, indented by four blanks. */
void job_world_happens(struct job_world *world, const char *expected, const char *what);

/* Checks that there is one report, with this status and text, after which all leave; destroys it. */
void job_world_reported(struct job_world *world, uint32_t status, const char *text,
                        const char *what);

/* The usual events. */
void job_world_complete(struct job_world *world);
void job_world_run(struct job_world *world, uint32_t processes);
/* By rank 0 of that job, at place 1, which numbers its requests. */
void job_world_spawn(struct job_world *world, uint32_t parent, uint32_t request,
                     uint32_t processes);
/* Nodes of these names, with so many slots each, become part of the instance; or they do not come up. */
void job_world_grow(struct job_world *world, const char *names, uint32_t slots, bool have_joined);
/* All processes of a part are started, or end well with nothing left. */
void job_world_part_starts(struct job_world *world, uint32_t place, uint32_t job);
void job_world_part_ends(struct job_world *world, uint32_t place, uint32_t job);
void job_world_started(struct job_world *world, uint32_t place, uint32_t index);
void job_world_exited(struct job_world *world, uint32_t place, uint32_t index, int wait_status,
                      int by_us);
/* Nothing of the job is left on the node and all its output is on its way. */
void job_world_gone(struct job_world *world, uint32_t place, uint64_t output_bytes);
void job_world_drained(struct job_world *world, uint32_t place, uint64_t output_bytes);
void job_world_output(struct job_world *world, uint64_t bytes);
/* The instance is to end. */
void job_world_leave(struct job_world *world, const char *reason);
void job_world_end(struct job_world *world, uint32_t status, int at_once, const char *reason);

#endif
