/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The logic of a daemon without input and output: one step function at every place.  Its input is
 * events (from the tree, the helper, the starter, the ranks, the clients and timers), its output is
 * calls of struct daemon_ops and daemon_tree_ops.  The daemon (launch/daemon) executes them with
 * processes and sockets, the simulator (launch/sim) in virtual time, a test by a script; all three run
 * the same core.
 *
 * It contains the instance and its jobs (launch/job/instance.h), at the root its clients
 * (launch/job/clients.h), the reports about stalled operations (launch/core/stall_report.h), and the
 * order in which a daemon ends.
 *
 * Steps do not nest: an event that an operation posts is kept, and handled when the current step is
 * over.  Pointers in an event need to be valid during the call only.
 * Cost: that of launch/job/instance.h; routing is O(1).
 */
#ifndef LAUNCH_CORE_DAEMON_CORE_H
#define LAUNCH_CORE_DAEMON_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/message.h"
#include "base/ranges.h"
#include "launch/job/instance.h"
#include "launch/proto/activity.h"
#include "overlay/endpoint_types.h"

struct daemon_core;

enum daemon_event_kind {
    /* from the tree (overlay/endpoint.h, struct endpoint_events) */
    DAEMON_EVENT_JOINED,
    DAEMON_EVENT_LINKED,    /* place */
    DAEMON_EVENT_UNLINKED,  /* place, status, text */
    DAEMON_EVENT_COMPLETE,  /* root */
    DAEMON_EVENT_BROADCAST, /* message */
    DAEMON_EVENT_RESULT,    /* key, status, places: lost, message */
    DAEMON_EVENT_RECEIVED,  /* place: source, message */
    DAEMON_EVENT_REQUEST,   /* place: source, id, message */
    DAEMON_EVENT_REPLY,     /* id, status, message or NULL */
    DAEMON_EVENT_SEEN,      /* places, status: enum endpoint_loss, number: ns */
    DAEMON_EVENT_SILENT,    /* place, number: ns */
    DAEMON_EVENT_LOST,      /* places; number: 1: they have been asked to leave */
    DAEMON_EVENT_MISSING,   /* key, places: set, missing or NULL */
    DAEMON_EVENT_RECOVERED, /* the root goes on after its death; what was sent to it may be lost */
    /* from the node: its helper, its ranks and their servers */
    DAEMON_EVENT_JOB, /* job_event: what happened to a part of a job here */
    DAEMON_EVENT_OUTPUT, /* job, id: index of the rank, type: stream, number: when it was read (ns, UTC),
                          * data; none: see job_wire.h */
    DAEMON_EVENT_INPUT_TAKEN, /* job, number: bytes of its stdin */
    DAEMON_EVENT_MISSED,      /* job, key: see JOB_EVENT_MISSED */
    DAEMON_EVENT_STALLED,   /* key, places: set, ranks, type: enum job_stalled_kind, one of LOCAL */
    DAEMON_EVENT_SIGNALLED, /* number, text: who sent it, "" if that is not known */
    DAEMON_EVENT_HELPER_LOST,
    DAEMON_EVENT_STAGE_REPORT, /* id: generation of the order, data: its report; or status: those of all
                                * orders, and text: why they cannot be carried out */
    DAEMON_EVENT_STACKS, /* id, data (stack_fold_put_local), text: why there are none of the others */
    /* from the starter */
    DAEMON_EVENT_START,        /* start the daemons of the child ranges */
    DAEMON_EVENT_PLACE_FAILED, /* place, text, type: 1 if it has started none of those below it */
    DAEMON_EVENT_LINE,         /* place (0: of all), text: from a daemon that has not joined */
    DAEMON_EVENT_IDLE,         /* a process of the starter has ended */
    /* root: from its clients; place: the client's number, the one that began the instance is 1 */
    DAEMON_EVENT_CLIENT_OPENED,
    DAEMON_EVENT_CLIENT_MESSAGE, /* type: enum control_message, data */
    DAEMON_EVENT_CLIENT_CLOSED,
    /* root: from itself, for the processes of all jobs; data: as pmix/pmi_notice.h has it; number: 1: later, if there is
     * no room for it now, unless another one comes before */
    DAEMON_EVENT_NOTICE,
    /* from the clock */
    DAEMON_EVENT_TIMER, /* id: enum daemon_timer, job */
    /* ending */
    DAEMON_EVENT_LEAVE,    /* root: all leave; number: limit in ms */
    DAEMON_EVENT_END,      /* status: enum endpoint_end, text: why, or NULL */
    DAEMON_EVENT_FINISHED, /* the links have written what was queued */
    DAEMON_EVENT_KIND_COUNT
};

struct daemon_event {
    enum daemon_event_kind kind;
    uint32_t job;
    uint32_t place;
    uint32_t id;
    int64_t number;
    int status;
    uint8_t type;
    const char *text;
    const void *data;
    size_t data_bytes;
    const struct operation_name *key;
    const struct ranges *places;
    const struct ranges *ranks; /* NULL: all */
    const struct endpoint_missing *missing;
    struct message *message;     /* not taken */
    struct job_event *job_event; /* its spec is taken */
};

_Static_assert(sizeof(struct daemon_event) <= 128, "steps copy them");

enum daemon_timer {
    DAEMON_TIMER_JOB,      /* root: of a job; 0: of the instance; elsewhere: of a part of a job */
    DAEMON_TIMER_END,      /* of the end */
    DAEMON_TIMER_STALLS,   /* root: answers about stalled operations are due */
    DAEMON_TIMER_NAMES,    /* requests of names may be too late */
    DAEMON_TIMER_ACTIVITY, /* root: answers about what ranks are doing are due */
    DAEMON_TIMER_STACKS,   /* answers about stacks are due */
    DAEMON_TIMER_LOAD,     /* a measurement of what is used here, or answers of others, are due */
    DAEMON_TIMER_ADD,      /* root: nodes that are being added should have joined */
    DAEMON_TIMER_INPUT,    /* root: input that could not be sent to the nodes is sent again */
    DAEMON_TIMER_BENCH,    /* root: a broadcast of a measurement is tried again */
    DAEMON_TIMER_NOTICE,   /* root: an event for all processes, likewise */
    DAEMON_TIMER_COUNT
};

/* The operations on the tree (overlay/endpoint.h, called by launch/core/daemon_tree.c).  They take
 * ownership of messages. */
struct daemon_tree_ops {
    int (*broadcast)(void *context, const struct ranges *places, struct message *message);
    void (*contribute)(void *context, const struct operation_name *key, const struct ranges *places,
                       struct message *message);
    void (*forget)(void *context, uint32_t owner, const struct ranges *places);
    void (*send)(void *context, uint32_t place, enum frame_class class, struct message *message);
    uint32_t (*request)(void *context, uint32_t place, struct message *message);
    void (*reply)(void *context, uint32_t source, uint32_t id, struct message *message);
    void (*place_failed)(void *context, uint32_t place);
    void (*leave)(void *context);
    int (*shrink)(void *context, const struct ranges *places); /* -EAGAIN: later */
    uint32_t (*grow)(void *context, uint32_t count);           /* the first; TREE_NO_PLACE: later */
    bool (*has_room)(void *context); /* for broadcasts, and more than a few */
    void (*dead)(void *context, struct ranges *ret_places);
    int (*is_complete)(void *context);
    bool (*is_departing)(void *context); /* this place leaves, and others stay */
    void (*missing)(void *context, struct ranges *ret_places);
    uint32_t (*parent)(void *context); /* UINT32_MAX: none now */
};

/* Parts of jobs on this node. */
struct daemon_rank_ops {
    void (*open)(void *context, uint32_t job);
    void (*close)(void *context, uint32_t job);
    /* Also again, one that has ended (JOB_ON_FAILURE_RESTART); in such a job more may follow until seal. */
    void (*start)(void *context, uint32_t job, uint32_t first, uint32_t count);
    void (*seal)(void *context, uint32_t job);
    void (*cancel_starts)(void *context, uint32_t job);
    /* ranks: none: all of the job. */
    void (*signal)(void *context, uint32_t job, int number, const struct ranges *ranks);
    void (*end)(void *context, uint32_t job, uint32_t grace_ms);
    void (*end_all)(void *context); /* immediately, without reports */
    void (*cut_output)(void *context, uint32_t job, uint32_t within_ms, bool discard);
    void (*credit)(void *context, uint32_t job, uint32_t bytes);
    void (*renew_credit)(void *context); /* of all parts */
    void (*input)(void *context, uint32_t job, const void *data, size_t bytes);
    /* Of the terminal of a rank, if that runs here. */
    void (*window)(void *context, uint32_t job, const struct window *window);
    /* Of one local rank, in a job with JOB_STDIN_EACH. */
    void (*feed)(void *context, uint32_t job, uint32_t index, const void *data, size_t bytes);
    uint8_t (*state)(void *context, uint32_t job, uint32_t index); /* as in /proc; 0: unknown */
    void (*survey)(void *context, uint32_t job, uint32_t want, const char *require);
    void (*activity)(void *context, uint32_t job, uint32_t index, struct activity_rank *ret_rank);
    /* Takes the stacks of local ranks within limit_ms; DAEMON_EVENT_STACKS follows, with this id. */
    void (*stacks)(void *context, uint32_t job, const struct ranges *indices, uint32_t id,
                   uint32_t limit_ms);
    /* What a process has used so far, and uses; false: it does not run. */
    bool (*load)(void *context, uint32_t job, uint32_t index, uint64_t *ret_cpu_ns,
                 uint64_t *ret_kib);
};

/* The PMI servers of a part; -ENOENT, or false, where there are none. */
struct daemon_pmi_ops {
    void (*result)(void *context, const struct operation_name *key, int status,
                   struct message *message); /* message is not taken */
    /* kind: enum job_message, MODEX or BLOB; reader stands after it. */
    int (*request)(void *context, uint8_t kind, uint32_t job, uint32_t source, uint32_t id,
                   struct wire_reader *reader);
    void (*reply)(void *context, uint32_t job, uint32_t id, int status,
                  struct message *message);                         /* message is not taken */
    void (*notice)(void *context, const struct job_notice *notice); /* for processes of any job */
    void (*lost)(void *context, const struct ranges *places);
    bool (*is_served)(void *context, uint32_t job);
    enum job_stall_state (*rank_state)(void *context, uint32_t job,
                                       const struct operation_name *key, uint32_t index);
    void (*stand_in)(void *context, uint32_t job, const struct operation_name *key,
                     const struct ranges *places);
    /* JOB_MESSAGE_QUERY: appends the answer, or refuses with a negative errno. */
    int (*query)(void *context, const void *data, size_t bytes, struct buffer *answer);
    /* A copy of output, of a job that may have no part here; false: nobody is left to take it. */
    bool (*output)(void *context, const struct job_pulled *output);
};

/* The starter, and the daemons that it has started. */
struct daemon_starter_ops {
    void (*start)(void *context, struct range range); /* a child's, by its first place */
    /* Root: places from the first on are of new nodes of these names; starts one of them. */
    void (*grow)(void *context, uint32_t first, const struct hostlist *names);
    void (*start_new)(void *context, uint32_t place);
    void (*linked)(void *context, uint32_t place);
    void (*unlinked)(void *context, uint32_t place, int status, const char *why);
    void (*joined)(void *context); /* this daemon */
    void (*clean)(void *context, uint32_t place);
    void (*expect_end)(void *context);
    void (*let_go)(void *context);
    void (*kill)(void *context);
    uint32_t (*running)(void *context);
    uint8_t (*state)(void *context, uint32_t place); /* of its daemon, as in /proc; 0: unknown */
    /* The name in the allocation; "" for a place that is neither this one nor below it. */
    const char *(*name)(void *context, uint32_t place, char name[HOST_NAME_BYTES_MAX + 1]);
};

/* Root: channels to clients. */
struct daemon_client_ops {
    void (*send)(void *context, uint32_t client, uint8_t type, const void *data, size_t bytes);
    size_t (*queued)(void *context, uint32_t client);
    void (*drop)(void *context, uint32_t client); /* CLIENT_CLOSED follows, or does not */
    void (*doctor)(void *context, struct wire_reader *reader);
    void (*detached)(void *context); /* the client that began the instance */
};

/* What the machine and this daemon have used so far, and use. */
struct daemon_load {
    uint32_t cpus;
    uint64_t busy_ticks; /* of all CPUs, in any unit */
    uint64_t idle_ticks;
    uint64_t memory_kib;
    uint64_t used_kib;
    uint64_t daemon_cpu_ns;
    uint64_t daemon_kib;
    uint64_t messages; /* sent and received */
    uint64_t messages_bytes;
};

/* The operations on the machine; context is daemon_core_config.context.  An unknown job, place or client
 * is not an error: it has ended meanwhile. */
struct daemon_ops {
    uint64_t (*now_ns)(void *context);
    void (*timer)(void *context, enum daemon_timer timer, uint32_t job,
                  uint64_t deadline_ns);            /* UINT64_MAX: none */
    void (*print)(void *context, const char *text); /* when no client can be reached */
    void (*finish)(void *context);                  /* the links: FINISHED follows */
    void (*stop)(void *context);                    /* the last: nothing follows */
    /* An order of the root (struct stage_order), not taken: STAGE_REPORT follows, except after REMOVE. */
    void (*stage)(void *context, struct message *message);
    void (*load)(void *context, struct daemon_load *ret_load);
    /* Root: says what is known of places that have just been lost; NULL where that is nothing. */
    void (*lost)(void *context, const struct ranges *places);
    const struct daemon_rank_ops *ranks;
    const struct daemon_pmi_ops *pmi;
    const struct daemon_starter_ops *starter;
    const struct daemon_client_ops *clients; /* NULL elsewhere than at place 0 */
};

struct daemon_core_config {
    const struct instance_spec *spec; /* the caller's */
    uint32_t place;
    struct range range; /* in the tree: this place and its subtree */
    /* The order of the nodes of the range in the tree, the caller's: then `place`, and all places in the core, go
     * by the allocation.  Only operations of the starter, LINKED, UNLINKED and the endpoint have places of the
     * tree (daemon_core_shape.c).  NULL: both are the same. */
    const struct node_order *order;
    const struct allocation *roster; /* root; the caller's */
    enum instance_policy policy;     /* root */
    const char *directory;           /* root: of the instance; the caller's */
    uint32_t credit_piece_bytes;     /* root: the least credit for output that is granted at once */
    const struct daemon_ops *ops;
    void *context;
};

struct daemon_core *daemon_core_create(const struct daemon_core_config *config);
void daemon_core_destroy(struct daemon_core *core); /* NULL is fine */

/* Before the first event.  tree: the context of its operations. */
void daemon_core_attach(struct daemon_core *core, const struct daemon_tree_ops *ops, void *tree);

/* Handles an event, or keeps it if it is posted from within a step. */
void daemon_core_step(struct daemon_core *core, const struct daemon_event *event);

/* These may be called at any time, including by an operation. */
/* A message to the user of a job (0: of the instance). */
void daemon_core_text(struct daemon_core *core, uint32_t job, uint8_t level, const char *text);
/* Sends a request for a job's servers; DAEMON_EVENT_REPLY has the id. */
uint32_t daemon_core_request(struct daemon_core *core, uint32_t job, uint32_t place,
                             struct message *message);
/* Of a job's servers: as those of daemon_tree_ops. */
void daemon_core_contribute(struct daemon_core *core, const struct operation_name *key,
                            const struct ranges *places, struct message *message);
void daemon_core_reply(struct daemon_core *core, uint32_t source, uint32_t id,
                       struct message *message);

/* A collective operation of processes begins here: for a trace, if its job wants one. */
void daemon_core_trace_collective(struct daemon_core *core, const struct operation_name *key);

/* Sees each event before it is handled, but for those that a step keeps for itself, and the end of that; is_posted: from
 * within a step, whose end is not said again.  NULL: nobody does. */
struct daemon_core_observer {
    void (*begins)(void *context, const struct daemon_event *event, bool is_posted);
    void (*ends)(void *context);
};
void daemon_core_observe(struct daemon_core *core, const struct daemon_core_observer *observer,
                         void *context);
/* Between steps: others perform its operations from now on. */
void daemon_core_hand_over(struct daemon_core *core, const struct daemon_ops *ops, void *context);

/* Queries. */
const struct instance *daemon_core_instance(const struct daemon_core *core);
bool daemon_core_has_joined(const struct daemon_core *core);
bool daemon_core_is_ending(const struct daemon_core *core);
bool daemon_core_has_failed(const struct daemon_core *core); /* the daemon's exit status is not 0 */
uint32_t daemon_core_kept_requests(const struct daemon_core *core);

/* The clients' logic has a message for the user: why the instance failed. */
void daemon_core_fail(struct daemon_core *core, const char *why);

#endif
