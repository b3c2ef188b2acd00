/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of launch/sim/sim.h: sim.c (the machine), sim_daemon.c (life of a daemon), sim_ops.c (what its
 * core needs), sim_starter.c (how daemons start), sim_process.c (the processes of jobs), sim_user.c (the
 * clients of the root).  For them only.
 */
#ifndef LAUNCH_SIM_SIM_INTERNAL_H
#define LAUNCH_SIM_SIM_INTERNAL_H

#include "base/list.h"
#include "base/random.h"
#include "fabric/virtual_network.h"
#include "launch/proto/boot.h"
#include "launch/core/daemon_core.h"
#include "launch/sim/sim.h"

/* Operations and broadcasts that are not the job's. */
#define SIM_OPERATION 200
#define SIM_MESSAGE   200

enum sim_daemon_state {
    SIM_DAEMON_ABSENT, /* not yet started, or never */
    SIM_DAEMON_UP,
    SIM_DAEMON_ENDING, /* no longer part of the instance, on its way out */
    SIM_DAEMON_ENDED,
    SIM_DAEMON_KILLED
};

struct sim_process;

/* A call of virtual_network_at that waits for a stopped daemon to continue. */
struct sim_call {
    virtual_network_call_function *function;
    void *context;
    uint64_t argument;
};

struct sim_daemon {
    struct sim_machine *machine;
    uint32_t slot; /* in the world: its place, or one after the places for a stranger */
    uint32_t place;
    uint32_t listed;  /* its place by the allocation */
    uint32_t starter; /* the place that starts it */
    enum sim_daemon_state state;
    uint8_t stopped;
    uint8_t was_stopped;
    uint8_t linked;        /* its starter has heard of it */
    uint8_t has_starter;   /* the process that started it, and ends with it, is there */
    uint8_t expects_ends;  /* of the daemons that it has started */
    uint8_t lets_go;       /* of them */
    enum endpoint_end end; /* why it ends */
    uint32_t starters;     /* processes that have started daemons for this one */
    struct message *boot;  /* what its starter writes to its stdin; kept for who comes back */
    uint32_t incarnation;
    struct endpoint *endpoint;
    struct daemon_core *core;
    struct node_order *order; /* of its boot record */
    uint64_t end_timer_ns;    /* DAEMON_TIMER_END; UINT64_MAX: none */
    uint64_t names_timer_ns;  /* DAEMON_TIMER_NAMES; likewise */
    uint64_t load_timer_ns;   /* DAEMON_TIMER_LOAD; likewise */
    struct sim_call *waiting; /* for a stopped daemon to go on */
    uint32_t waiting_count;
    struct sim_part *parts; /* of jobs that have run here since its start */
};

/* A job's processes on a node, as known to their helper, and their output. */
struct sim_part {
    struct sim_part *next;
    struct sim_daemon *daemon;
    struct sim_job *job;
    const struct job_local *local; /* NULL: closed, or its daemon has ended */
    struct sim_process *processes;
    uint32_t processes_count;
    uint32_t starting;
    uint32_t living;
    uint32_t arrived;  /* processes at the next fence */
    uint32_t fence;    /* the last that was contributed to */
    uint8_t ending;    /* the group */
    uint64_t timer_ns; /* of its restarts; UINT64_MAX: none */
    uint8_t sealed;    /* no process is restarted: the group may become empty */
    uint8_t cut;
    uint8_t drained;
    uint64_t pipe_bytes;
    uint64_t forwarded_bytes;
    int64_t credit_bytes;
};

/* A client of the root. */
struct sim_client {
    uint8_t is_open;
    uint8_t has_closed; /* for good */
};

/* A job, as its user sees it. */
struct sim_job {
    struct sim_machine *machine;
    uint32_t client;
    uint32_t request; /* its index among the known jobs */
    struct placement_rule rule;
    struct sim_program program;
    uint32_t number;
    uint64_t timer_ns;       /* of the root's job logic; UINT64_MAX: none */
    uint64_t reader_free_ns; /* when the front end has written the output received */
    uint8_t reported;
};

/* A future request of a user, for one job or (0) all. */
struct sim_wish {
    struct sim_machine *machine;
    uint32_t client;
    uint32_t job;
    struct control_end end;
};

struct sim_machine {
    struct sim_machine_config config;
    const struct sim_watch *watch;
    void *context;
    struct virtual_network *sim;
    struct random_state random;
    struct instance_spec instance;
    uint32_t places;      /* at the beginning */
    uint32_t capacity;    /* slots of places; strangers' slots follow */
    uint32_t set_version; /* of the participants in operations that are not the job's */
    struct sim_daemon *daemons;
    struct sim_job **told; /* known jobs, to be run at some time */
    uint32_t reported_count;
    struct sim_job **jobs; /* jobs that have been run, by number - 1 */
    uint32_t jobs_count;
    struct sim_wish **wishes;
    uint32_t wishes_count;
    struct sim_part *old_parts; /* of daemons that have been restarted: calls may refer to them */
    struct sim_output output;
    struct list sent;           /* what clients have sent to a root that is stopped */
    struct sim_client *clients; /* by number - 1 */
    uint32_t clients_count;
    uint64_t timer_ns;  /* of the root's instance; UINT64_MAX: none */
    uint64_t stalls_ns; /* DAEMON_TIMER_STALLS; likewise */
    uint64_t add_ns;    /* DAEMON_TIMER_ADD; likewise */
    uint32_t up;        /* daemons that are */
};

static inline uint64_t sim_random(struct sim_machine *machine, uint64_t bound)
{
    return bound > 0 ? random_below(&machine->random, bound) : 0;
}

static inline int sim_daemon_is_up(const struct sim_daemon *daemon)
{
    return daemon->state == SIM_DAEMON_UP;
}

static inline int sim_daemon_is_stranger(const struct sim_daemon *daemon)
{
    return daemon->slot >= daemon->machine->capacity;
}

/* sim_daemon.c */
void sim_daemon_restart(struct sim_daemon *daemon);
/* daemon is a stranger that has not been started yet. */
void sim_daemon_claim(struct sim_daemon *daemon, uint32_t place);
void sim_daemon_start(struct sim_daemon *daemon);
void sim_daemon_kill(struct sim_daemon *daemon);
void sim_daemon_fini(struct sim_daemon *daemon);
void sim_part_destroy(struct sim_part *part);
/* The part of a job that is open here, or NULL. */
struct sim_part *sim_daemon_part(const struct sim_daemon *daemon, uint32_t job);
const struct instance *sim_daemon_instance(const struct sim_daemon *daemon);
/* It is no longer part of the instance; its processes vanish. */
void sim_daemon_leaves(struct sim_daemon *daemon, enum sim_daemon_state state);
/* Its process ends. */
void sim_daemon_exit(struct sim_daemon *daemon);
/* An event for its core, unless it has ended. */
void sim_daemon_post(struct sim_daemon *daemon, const struct daemon_event *event);
void sim_daemon_post_job(struct sim_daemon *daemon, struct job_event *event);
/* 1: it is stopped, and the call will be made when it goes on. */
int sim_daemon_defers(struct sim_daemon *daemon, virtual_network_call_function *function,
                      void *context, uint64_t argument);
/* Sends an event of the helper to the daemon, in order; a stopped daemon gets it when it continues.
 * number: 24 bits. */
void sim_daemon_tell(struct sim_part *part, enum job_event_kind kind, uint32_t index,
                     uint32_t number, int flag);
void sim_daemon_continue(struct sim_daemon *daemon);
/* The observer of events there; of a stranger there is no observer. */
const struct sim_watch *sim_daemon_watch(const struct sim_daemon *daemon);

/* sim_ops.c */
extern const struct daemon_ops sim_ops;

/* sim_starter.c */
extern const struct daemon_starter_ops sim_starter_ops;
/* Started by the root, as a new place. */
void sim_starter_start_new(struct sim_daemon *root, uint32_t place);
/* The process of a daemon has ended: its starter notices. */
void sim_starter_notice(struct sim_daemon *daemon);
/* What the starter of a daemon wrote to its stdin.  To be finished by the caller. */
void sim_starter_record(const struct sim_daemon *daemon, struct boot_record *ret_record);

/* Why a process cannot be started: START_FAILED's number. */
struct sim_start_failure {
    int code;
    enum start_step step;
};
extern const struct sim_start_failure sim_start_failures[];
#define SIM_START_FAILURES 4u

/* sim_user.c */
extern const struct daemon_client_ops sim_client_ops;
/* A message of a client, which is opened by its first one. */
void sim_user_send(struct sim_machine *machine, uint32_t client, uint8_t type,
                   struct buffer *payload);
void sim_user_close(struct sim_machine *machine, uint32_t client);
void sim_user_run(struct sim_job *job);
void sim_user_forget(struct sim_machine *machine); /* the last */

/* sim_process.c */
/* With regard to a fence, of one that has not ended. */
enum job_stall_state sim_process_state(const struct sim_part *part, uint32_t index,
                                       uint32_t generation);
void sim_process_open(struct sim_part *part);
/* No process of it is started again. */
void sim_process_seal(struct sim_part *part);
void sim_process_start(struct sim_part *part, uint32_t index);
void sim_process_signal(struct sim_part *part, int number);
void sim_process_end_group(struct sim_part *part, uint64_t grace_ms);
void sim_process_fence_result(struct sim_part *part, int status);
/* Kills all processes silently: their daemon has died. */
void sim_process_vanish(struct sim_part *part);
/* The helper kills all processes, since the daemon's lease has expired. */
void sim_process_lease_ended(struct sim_part *part);
void sim_process_credit(struct sim_part *part, uint32_t bytes);
void sim_process_credit_renew(struct sim_part *part);
/* A stopped daemon continues, and handles what its processes have done meanwhile. */
void sim_process_continue(struct sim_part *part);
void sim_process_cut(struct sim_part *part, uint64_t milliseconds, int discard);

#endif
