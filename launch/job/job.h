/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job logic of a daemon: start, wait, kill, report.  A pure step function like the overlay core:
 * events in, actions out, no clock, socket or process; the daemon (launch/daemon/daemon.c) and the
 * simulator (launch/sim/sim.c) carry the actions out.
 *
 * A node's part of a job (job_local.c): LAUNCH comes, the node computes its own ranks from the rule,
 * starts them, contributes LAUNCHED (count, hash, first failure); at each rank's end reports a
 * failure at once; when all ranks have ended and their output has been forwarded it contributes
 * ENDED.  The root's part (job_root.c): waits for the tree, launches, compares the hash, ends the
 * job by its one error policy (abort all), reports once.
 *
 * Invariant: the root reports every job's end exactly once, whatever dies, and after the last
 * report asks for the instance to leave.
 * Memory: O(local ranks) at a node; O(places that died) at the root.
 */
#ifndef LAUNCH_JOB_JOB_H
#define LAUNCH_JOB_JOB_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/place_local.h"
#include "alloc/place_map.h"
#include "base/error.h"
#include "base/message.h"
#include "base/ranges.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/spec.h"
#include "overlay/node.h"

struct job_engine;

enum job_event_kind {
    /* from the overlay */
    JOB_EVENT_BROADCAST, /* message */
    JOB_EVENT_RESULT,    /* key, status, places (lost), message */
    JOB_EVENT_RECEIVED,  /* place (source), message: JOB_MESSAGE_RANK_FAILED, START_FAILED */
    JOB_EVENT_SEEN,     /* root: places whose loss comes next, status: enum node_loss, number: ns */
    JOB_EVENT_LOST,     /* places */
    JOB_EVENT_COMPLETE, /* root: the tree stands */
    /* from the processes of this node; job and index (of the local rank) */
    JOB_EVENT_STARTED,      /* number: pid */
    JOB_EVENT_START_FAILED, /* number: -errno of step; text: the name of an interpreter, or "" */
    JOB_EVENT_EXITED,       /* number: wait status; flag: by us */
    JOB_EVENT_DRAINED,      /* all output of the node's ranks of the job has been forwarded */
    JOB_EVENT_ABNORMAL,     /* a rank left PMIx/PMI without finalize: an exit of 0 is not well */
    /* A rank called abort: number: status; text: its message. With flag none did, but the node cannot
     * serve its ranks any more: number: -errno; text: why. */
    JOB_EVENT_ABORT,
    JOB_EVENT_MISSED,   /* all ranks of the node have ended, others wait for them: text: in what */
    JOB_EVENT_SURVEYED, /* message: struct survey of this node */
    JOB_EVENT_GROUP_EMPTY, /* the helper says nothing of the job is left here */
    /* root: from the front end */
    JOB_EVENT_RUN,          /* spec (taken over) */
    JOB_EVENT_SIGNAL,       /* number */
    JOB_EVENT_END,          /* end */
    JOB_EVENT_PLACE_FAILED, /* root or relay: a daemon did not come up: place, text */
    JOB_EVENT_OUTPUT,       /* root: number bytes of output of the job have come */
    JOB_EVENT_TIMER,        /* places: not joined; flag: the front end has output to write yet */
    JOB_EVENT_KIND_COUNT
};

struct job_event {
    enum job_event_kind kind;
    uint64_t now_ns;
    uint32_t job;
    uint32_t index;
    uint32_t place;
    int64_t number;
    enum start_step step;
    int flag;
    int status;
    const char *text;
    const struct node_key *key;
    const struct ranges *places;
    struct message *message; /* not taken */
    struct job_spec *spec;   /* taken: content moved out */
    const struct control_end *end;
};

enum job_action_kind {
    JOB_ACTION_BROADCAST,  /* root: places, message */
    JOB_ACTION_CONTRIBUTE, /* key, places, message */
    JOB_ACTION_SEND,       /* place, message: control class */
    JOB_ACTION_SURVEY, /* job, number: bits of survey_want, message: what is required, a string with
                              its NUL; answered by SURVEYED */
    JOB_ACTION_OPEN,   /* job: prepare servers and output for its local ranks */
    JOB_ACTION_START,  /* job, index: start the local ranks from this one on, number: how many; each
                              is answered by STARTED or START_FAILED, sooner or later */
    JOB_ACTION_CANCEL_STARTS, /* job: those that are not under way yet are not to be started: answered
                                 by START_FAILED with -ECANCELED */
    JOB_ACTION_SIGNAL,        /* job, number */
    JOB_ACTION_END_GROUP,     /* job, number: grace in ms; cancels starts, too */
    JOB_ACTION_CUT_OUTPUT,    /* job: forward what is there, then tell DRAINED within number ms;
                              index: 1 = also if it has no credit (output_cut) */
    JOB_ACTION_FORGET,        /* root: job, places: all its operations are over */
    JOB_ACTION_CLOSE,         /* job: free its servers */
    JOB_ACTION_STARTED,       /* root -> front end: started */
    JOB_ACTION_ENDED,         /* root -> front end: job_end */
    JOB_ACTION_TEXT,          /* root -> front end: number: level, text */
    JOB_ACTION_LEAVE,         /* root: end the instance */
    JOB_ACTION_TIMER,         /* number: deadline ns, or -1 */
    JOB_ACTION_KIND_COUNT
};

struct job_action {
    enum job_action_kind kind;
    uint32_t job;
    uint32_t index;
    uint32_t place;
    int64_t number;
    struct node_key key;
    struct ranges places;    /* owned */
    struct message *message; /* owned; may be taken by setting it to NULL */
    struct control_started started;
    struct control_job_end end;
    char text[512];
};

struct job_actions {
    struct job_action *items;
    uint32_t count;
    uint32_t capacity;
};

void job_actions_init(struct job_actions *actions);
void job_actions_clear(struct job_actions *actions); /* frees what the actions own */
void job_actions_fini(struct job_actions *actions);

/* allocation: at the root the roster, not owned; NULL elsewhere: it comes by broadcast. */
struct job_engine *job_engine_create(const struct instance_spec *instance, uint32_t place,
                                     const struct allocation *allocation);
void job_engine_destroy(struct job_engine *engine);

void job_step(struct job_engine *engine, const struct job_event *event,
              struct job_actions *actions);

/* Read-only facts for who carries out the actions; NULL / 0 if there is no such job here. */
struct job_local {
    uint32_t number;
    struct job_spec spec;
    struct place_map map;     /* made of spec */
    struct place_seats seats; /* of the local ranks; none if no topology was asked for */
    uint32_t count;           /* local ranks */
    struct ranges places;     /* that host ranks of this job */
    uint32_t nodes;           /* how many those are */
};
const struct job_local *job_engine_local(const struct job_engine *engine, uint32_t number);
/* Root: the job that it runs, NULL before there is one. */
const struct job_spec *job_engine_spec(const struct job_engine *engine);
/* Root: its nodes and what jobs have of them (alloc/node_pool.h); NULL before the first job. */
struct node_pool;
const struct node_pool *job_engine_book(const struct job_engine *engine);
/* Root: its map, empty before the launch. */
const struct place_map *job_engine_map(const struct job_engine *engine);
/* Root: where a rank of it is, a node's index; -ENOENT before the launch, or if there is none. */
int job_engine_find(const struct job_engine *engine, uint32_t rank, uint32_t *ret_node);
/* Roster at this place; NULL before it has come. */
const struct allocation *job_engine_allocation(const struct job_engine *engine);
uint32_t job_engine_rank(const struct job_engine *engine, uint32_t number, uint32_t index);

int job_engine_has_ended(const struct job_engine *engine, uint32_t number, uint32_t index);

/* The merges of the gathers, for node_config.merges: index = enum job_merge. */
enum job_merge {
    JOB_MERGE_CONCATENATE,
    JOB_MERGE_LAUNCHED,
    JOB_MERGE_ENDED,
    JOB_MERGE_SURVEY,
    JOB_MERGE_DOCTOR,
    JOB_MERGE_COUNT
};
extern node_merge_function *const job_merges[JOB_MERGE_COUNT];

/* node_key.kind of operations */
enum job_operation {
    JOB_OPERATION_LAUNCHED = 1,
    JOB_OPERATION_ENDED,
    JOB_OPERATION_PMI1,
    JOB_OPERATION_PMIX,
    JOB_OPERATION_SURVEY,
    JOB_OPERATION_DOCTOR
};

/* Name of the set of all nodes of a job, for one kind of operation of the services. */
uint64_t job_set_id(uint32_t number, enum job_operation operation);

#endif
