/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events and actions of the job logic, which is a pure step function at every place
 * (launch/job/instance.h): events in, actions out, no clock, socket or process; the daemon
 * (launch/daemon) and the simulator (launch/sim) perform the actions.
 *
 * A job is an object at the root (job_root.c): it waits for the tree, launches, compares the hash,
 * ends by its one error policy, reports once.  Its share on a node is a part (job_local.c): LAUNCH
 * comes, the node computes its own ranks from the rule, starts them, contributes LAUNCHED (count,
 * hash, first failure); at each rank's end reports a failure at once; when all ranks have ended and
 * their output has been forwarded it contributes ENDED.  Both are found by the job's number, which
 * is never reused in the instance; events of one job do not affect others.
 *
 * Invariant: the root reports every job's end exactly once, whatever dies.
 * Memory: O(local ranks) for a part; O(runs of nodes) and its specification for a job at the root,
 * until nothing of it is left anywhere.
 */
#ifndef LAUNCH_JOB_JOB_H
#define LAUNCH_JOB_JOB_H

#include <stdint.h>

#include "alloc/allocation.h"
#include "alloc/placement_local.h"
#include "alloc/placement_map.h"
#include "base/error.h"
#include "base/message.h"
#include "base/ranges.h"
#include "launch/proto/control.h"
#include "launch/proto/job_wire.h"
#include "launch/proto/job_spec.h"
#include "overlay/endpoint_types.h"

struct job_part;

/* When an instance ends. */
enum instance_policy {
    INSTANCE_LEAVES_WITH_JOB, /* when the last job has been reported: `banyan run` alone */
    INSTANCE_STAYS,           /* until JOB_EVENT_LEAVE, or a signal to one of its daemons */
    INSTANCE_POLICY_COUNT
};

enum job_event_kind {
    /* from the overlay */
    JOB_EVENT_BROADCAST, /* message */
    JOB_EVENT_RESULT,    /* key, status, places (lost), message */
    JOB_EVENT_RECEIVED,  /* place (source), message: RANK_FAILED, PLACE_FAILED ... */
    JOB_EVENT_SEEN, /* root: places whose loss comes next, status: enum endpoint_loss, number: ns */
    JOB_EVENT_LOST, /* places */
    JOB_EVENT_COMPLETE, /* root: the tree is complete, also with new places */
    /* from the processes of this node; job and index (of the local rank) */
    JOB_EVENT_STARTED,      /* number: pid */
    JOB_EVENT_START_FAILED, /* number: -errno of step; text: the name of an interpreter, or "" */
    JOB_EVENT_EXITED, /* number: wait status; flag: by us; text: of SIGKILL: by whom, or NULL; message: a
                         * struct usage_rank, or NULL */
    JOB_EVENT_DRAINED,  /* all output of the node's ranks of the job has been forwarded */
    JOB_EVENT_ABNORMAL, /* a rank exited without PMIx/PMI finalize: exit status 0 is a
                             * failure */
    /* A rank called abort: number: status; text: its message.  With flag: the node can no longer
     * serve its ranks: number: -errno; text: why. */
    JOB_EVENT_ABORT,
    JOB_EVENT_JOINED,   /* a rank has connected to PMI; known only of jobs that restart ranks */
    JOB_EVENT_MISSED,   /* all ranks of the node have ended, others wait for them: text: in what */
    JOB_EVENT_SURVEYED, /* message: struct survey of this node */
    JOB_EVENT_GROUP_EMPTY, /* the helper reports that nothing of the job is left here */
    /* root: from its clients */
    JOB_EVENT_RUN,   /* spec (taken over); number: the driver's, returned with ACCEPTED; flag:
                      * CONTROL_RUN_* */
    JOB_EVENT_SPAWN, /* of a process: job, spec (taken over), and place and number of its request */
    JOB_EVENT_STAGED, /* job: the files of its processes are on the nodes */
    JOB_EVENT_SIGNAL, /* job, number; places: its ranks, NULL: all */
    JOB_EVENT_END,    /* job, end */
    JOB_EVENT_DRAIN,  /* places that get no more processes, or with flag 0 do again */
    JOB_EVENT_REMOVE, /* places that have been asked to leave: they are lost in a moment */
    JOB_EVENT_GROW,   /* nodes: of the next places; flag: they have joined, else they are lost */
    /* root */
    JOB_EVENT_BEGIN,        /* the daemons are being started, without a job so far */
    JOB_EVENT_LEAVE,        /* end: of all jobs, then of the instance */
    JOB_EVENT_PLACE_FAILED, /* or at a relay: a daemon did not start: place, text */
    JOB_EVENT_OUTPUT,       /* job, number: bytes of its output received */
    JOB_EVENT_TIMER, /* job, flag: its client has output to write yet; for job 0, the instance:
                      * places: not joined; elsewhere: of the part of job */
    JOB_EVENT_KIND_COUNT
};

struct job_event {
    enum job_event_kind kind;
    uint32_t job;
    uint64_t now_ns;
    uint32_t index;
    uint32_t place;
    int64_t number;
    int flag;
    int status;
    enum start_step step;
    const char *text;
    const struct operation_name *key;
    const struct ranges *places;
    struct message *message; /* not taken */
    struct job_spec *spec;   /* taken: content moved out */
    const struct control_end *end;
    const struct allocation *nodes;
};

enum job_action_kind {
    JOB_ACTION_BROADCAST,  /* root: places (none: everyone), message */
    JOB_ACTION_CONTRIBUTE, /* key, places, message */
    JOB_ACTION_SEND,       /* place, message: control class */
    JOB_ACTION_SURVEY, /* want: bits of survey_want, message: the requirements, a string with its
                        * NUL; answered by SURVEYED */
    JOB_ACTION_OPEN,   /* prepare servers and output for its local ranks */
    JOB_ACTION_START,  /* start: first local rank and count; each is eventually answered by STARTED
                       * or START_FAILED; again for one that has ended */
    JOB_ACTION_SEAL, /* no rank will be started again: GROUP_EMPTY may come; only of jobs that restart ranks */
    JOB_ACTION_CANCEL_STARTS, /* starts not yet under way are cancelled: answered by START_FAILED
                               * with -ECANCELED */
    JOB_ACTION_SIGNAL,        /* signal; places: ranks of the job, none: all */
    JOB_ACTION_END_GROUP,     /* grace_ms; also cancels starts */
    JOB_ACTION_CUT_OUTPUT,    /* cut: forward what is left, then report DRAINED within that time;
                               * discard: also without credit (output_cut) */
    JOB_ACTION_CLOSE,         /* part: free its servers; the part is freed with the action */
    JOB_ACTION_FORGET,        /* root: places: all operations of the job have ended */
    JOB_ACTION_ACCEPTED,      /* root: token: the number of this job's RUN */
    JOB_ACTION_CHILD,   /* root -> client: a process of the job `parent` has this one spawned */
    JOB_ACTION_WAITS,   /* root -> client, once: text: for what */
    JOB_ACTION_STARTED, /* root -> client: started */
    JOB_ACTION_PROFILE, /* root -> client: message: profile.h */
    JOB_ACTION_SPAWNED, /* root: reply: to a request of JOB_EVENT_SPAWN */
    JOB_ACTION_ENDED,   /* root -> client: end; its last action except FORGET */
    JOB_ACTION_TEXT,    /* root -> client (job 0: of the instance): text */
    JOB_ACTION_TIMER, /* deadline_ns of this job (0: of the instance), or elsewhere than at the root of its
                           * part here; UINT64_MAX: none */
    JOB_ACTION_READY,     /* root: the instance can run jobs; places: of it, but absent */
    JOB_ACTION_LEAVE_OUT, /* root: places: they no longer join */
    JOB_ACTION_FAILED,    /* root: text: why the instance cannot start; LEAVE follows */
    JOB_ACTION_LEAVE,     /* root: end the instance */
    JOB_ACTION_KIND_COUNT
};

struct job_action {
    enum job_action_kind kind;
    uint32_t job;            /* its job; 0: the instance */
    struct message *message; /* owned; may be taken by setting it to NULL */
    struct ranges places;    /* owned */
    union {
        struct operation_name key;
        uint32_t place;
        uint32_t want;
        struct {
            uint32_t first;
            uint32_t count;
        } start;
        int signal;
        uint32_t grace_ms;
        struct {
            uint32_t within_ms;
            uint8_t discard;
        } cut;
        struct job_part *part; /* owned */
        struct {
            uint64_t token;
            uint8_t is_detached;
        };
        uint32_t parent;
        struct {
            struct job_spawned *answer; /* owned */
            uint32_t place;
            uint32_t id;
        } reply;
        struct control_started started;
        struct control_job_end *end; /* owned */
        struct {
            char *words; /* owned */
            uint8_t level;
        } text;
        uint64_t deadline_ns;
    };
};

_Static_assert(sizeof(struct job_event) <= 128 && sizeof(struct job_action) <= 128,
               "steps copy them");

struct job_actions {
    struct job_action *items;
    uint32_t count;
    uint32_t capacity;
};

void job_actions_init(struct job_actions *actions);
void job_actions_clear(struct job_actions *actions); /* frees what the actions own */
void job_actions_fini(struct job_actions *actions);

/* A job as known on a node that has ranks of it. */
struct job_local {
    uint32_t number;
    struct job_spec spec;
    struct placement_map map;           /* made of spec */
    struct placement_bindings bindings; /* of the local ranks; none if no topology was requested */
    uint32_t count;                     /* local ranks */
    struct ranges places;               /* that host ranks of this job */
    uint32_t nodes;                     /* their number */
};

/* At a node without a rank of the job: its map, of the reply to JOB_MESSAGE_MAP; -EBADMSG.  local->count
 * is 0.  job_local_fini frees it. */
int job_map_learn(struct job_local *ret_local, const struct allocation *roster, uint32_t number,
                  struct wire_reader *reader);
void job_local_fini(struct job_local *local);

/* The merge functions of the gathers, for endpoint_config.merges: index = enum job_merge. */
enum job_merge {
    JOB_MERGE_CONCATENATE,
    JOB_MERGE_LAUNCHED,
    JOB_MERGE_ENDED,
    JOB_MERGE_SURVEY,
    JOB_MERGE_DOCTOR,
    JOB_MERGE_STAGE,
    JOB_MERGE_PROGRESS,
    JOB_MERGE_BENCH,
    JOB_MERGE_COUNT
};
extern endpoint_merge_function *const job_merges[JOB_MERGE_COUNT];

/* operation_name.kind of operations */
enum job_operation {
    JOB_OPERATION_LAUNCHED = 1,
    JOB_OPERATION_ENDED,
    JOB_OPERATION_PMI1,
    JOB_OPERATION_PMIX,
    JOB_OPERATION_SURVEY,
    JOB_OPERATION_DOCTOR,
    JOB_OPERATION_STOPPED,  /* all processes wait for a debugger; they do not know of it */
    JOB_OPERATION_STAGE,    /* a step of a transfer of files; its owner is not a job */
    JOB_OPERATION_INPUT,    /* a piece of input for all processes has been taken */
    JOB_OPERATION_PROGRESS, /* how many processes have been started, and have initialised */
    JOB_OPERATION_BENCH     /* of a measurement; its owner is not a job */
};

/* How a process has ended: "exited with status 1". */
void job_local_end_text(int wait_status, char *text, size_t text_bytes);
/* Name of the set of all nodes of a job, for one kind of operation of the services. */
uint64_t job_set_id(uint32_t number, enum job_operation operation);
/* Whether it is a barrier of PMI 1.2, of some of the ranks, and not of all. */
int job_is_group_barrier(const struct operation_name *key);
/* Whether it is the processes' and not the daemons'. */
int job_is_of_processes(const struct operation_name *key);

#endif
