/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The internals of launch/sim/sim.h: sim.c (the machine and its user), sim_daemon.c (a daemon
 * without its sockets), sim_process.c (its helper).  For them only.
 */
#ifndef LAUNCH_SIM_SIM_INTERNAL_H
#define LAUNCH_SIM_SIM_INTERNAL_H

#include "base/random.h"
#include "fabric/sim.h"
#include "launch/proto/boot.h"
#include "launch/job/instance.h"
#include "launch/sim/sim.h"

/* Operations and broadcasts that are not the job's. */
#define SIM_OPERATION 200
#define SIM_MESSAGE   200

enum sim_daemon_state {
    SIM_DAEMON_ABSENT, /* not yet started, or never */
    SIM_DAEMON_UP,
    SIM_DAEMON_ENDED,
    SIM_DAEMON_KILLED
};

struct sim_process;

/* An event of the helper or a starter: context is the part, or the daemon for PLACE_FAILED. */
struct sim_news {
    void *context;
    uint64_t argument;
};

struct sim_daemon {
    struct sim_machine *machine;
    uint32_t slot; /* in the world: its place, or one after the places for a stranger */
    uint32_t place;
    uint32_t starter; /* the place that starts it */
    enum sim_daemon_state state;
    uint8_t stopped;
    uint8_t was_stopped;
    uint8_t linked;       /* it has contacted its starter */
    struct message *boot; /* what its starter writes to its stdin; kept for a restart */
    uint32_t incarnation;
    struct node *node;
    struct instance *instance;
    struct sim_news *waiting; /* events held back from a stopped daemon */
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
    uint32_t arrived; /* processes at the next fence */
    uint32_t fence;   /* the last that was contributed to */
    uint8_t ending;   /* the group */
    uint8_t cut;
    uint8_t drained;
    uint64_t pipe_bytes;
    uint64_t forwarded_bytes;
    int64_t credit_bytes;
};

/* A job, as its user sees it. */
struct sim_job {
    struct sim_machine *machine;
    struct map_rule rule;
    struct sim_program program;
    uint32_t number;
    uint64_t timer_ns;       /* of the root's job logic; UINT64_MAX: none */
    uint64_t reader_free_ns; /* when the front end has written the output received */
    uint8_t reported;
};

/* A future request of a user, for one job or (0) all. */
struct sim_wish {
    struct sim_machine *machine;
    uint32_t job;
    struct control_end end;
};

struct sim_machine {
    struct sim_machine_config config;
    const struct sim_watch *watch;
    void *context;
    struct sim *sim;
    struct random_state random;
    struct instance_spec instance;
    uint32_t places;      /* at the beginning */
    uint32_t capacity;    /* slots of places; strangers' slots follow */
    uint32_t set_version; /* of the participants in operations that are not the job's */
    struct sim_daemon *daemons;
    struct sim_job **told; /* known jobs, to be run at some time */
    uint32_t told_count;
    struct sim_job **jobs; /* jobs that have been run, by number - 1 */
    uint32_t jobs_count;
    struct sim_wish **wishes;
    uint32_t wishes_count;
    struct sim_part *old_parts; /* of daemons that have been restarted: calls may refer to them */
    struct sim_output output;
    uint64_t timer_ns; /* of the root's instance; UINT64_MAX: none */
    uint32_t up;       /* number of daemons up */
    uint8_t leaving;
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
/* Started by the root, as a new place. */
void sim_daemon_start_new(struct sim_daemon *root, uint32_t place);
void sim_daemon_event(struct sim_daemon *daemon, struct job_event *event);
void sim_daemon_end(struct sim_daemon *daemon, enum node_end end);
/* The root asks everyone to leave. */
void sim_daemon_leave(struct sim_daemon *root);
void sim_daemon_kill(struct sim_daemon *daemon);
void sim_daemon_fini(struct sim_daemon *daemon);
void sim_part_destroy(struct sim_part *part);
/* The part of a job that is open here, or NULL. */
struct sim_part *sim_daemon_part(const struct sim_daemon *daemon, uint32_t job);
/* Sends an event of the helper to the daemon, in order; a stopped daemon gets it when it continues.
 * number: 24 bits. */
void sim_daemon_tell(struct sim_part *part, enum job_event_kind kind, uint32_t index,
                     uint32_t number, int flag);
void sim_daemon_continue(struct sim_daemon *daemon);

/* Why a process cannot be started: START_FAILED's number. */
struct sim_start_failure {
    int code;
    enum start_step step;
};
extern const struct sim_start_failure sim_start_failures[];
#define SIM_START_FAILURES 4u

/* sim_user.c */
void sim_user_output(struct sim_daemon *root, uint32_t source, struct wire_reader *reader);
void sim_user_action(struct sim_daemon *root, const struct job_action *action);

/* sim_process.c */
void sim_process_open(struct sim_part *part);
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
