/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of launch/sim/sim.h: sim.c (the machine and its user), sim_daemon.c (a daemon without its
 * sockets), sim_process.c (its helper).  For them only.
 */
#ifndef LAUNCH_SIM_SIM_INTERNAL_H
#define LAUNCH_SIM_SIM_INTERNAL_H

#include "base/random.h"
#include "fabric/sim.h"
#include "launch/proto/boot.h"
#include "launch/job/job.h"
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

struct sim_daemon {
    struct sim_machine *machine;
    uint32_t slot; /* in the world: its place, or behind them for a stranger */
    uint32_t place;
    uint32_t starter; /* the place that starts it */
    enum sim_daemon_state state;
    uint8_t stopped;
    uint8_t was_stopped;
    uint8_t linked;       /* its starter has heard of it */
    struct message *boot; /* what its starter writes to its stdin; kept for who comes back */
    uint32_t incarnation;
    struct node *node;
    struct job_engine *engine;
    uint64_t *waiting; /* what a stopped daemon has not been told */
    uint32_t waiting_count;
    /* the helper's side */
    struct sim_process *processes;
    uint32_t processes_count;
    uint32_t starting;
    uint32_t living;
    int closed;       /* the job is over */
    uint32_t arrived; /* at the next fence */
    uint32_t fence;   /* the last that was contributed to */
    uint8_t ending;   /* the group */
    /* output */
    uint64_t pipe_bytes;
    uint64_t forwarded_bytes;
    int64_t credit_bytes;
    uint8_t cut;
    uint8_t drained;
};

struct sim_machine {
    struct sim_machine_config config;
    const struct sim_watch *watch;
    void *context;
    struct sim *sim;
    struct random_state random;
    struct instance_spec instance;
    uint32_t places;      /* at the beginning */
    uint32_t capacity;    /* slots of places; strangers stand behind them */
    uint32_t set_version; /* of who takes part in the operations that are not the job's */
    struct sim_daemon *daemons;
    struct control_end *ends; /* that the user will ask for */
    uint32_t ends_count;
    struct sim_output output;
    uint64_t timer_ns;       /* of the root's job logic; UINT64_MAX: none */
    uint64_t reader_free_ns; /* when the front end has written what has come */
    uint32_t up;             /* daemons that are */
    uint8_t reported;
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
/* By the root, as a place that is new. */
void sim_daemon_start_new(struct sim_daemon *root, uint32_t place);
void sim_daemon_event(struct sim_daemon *daemon, struct job_event *event);
void sim_daemon_end(struct sim_daemon *daemon, enum node_end end);
/* The root asks everyone to leave. */
void sim_daemon_leave(struct sim_daemon *root);
void sim_daemon_kill(struct sim_daemon *daemon);
void sim_daemon_fini(struct sim_daemon *daemon);
/* The helper or a starter tells the daemon something, in order; a stopped daemon hears it when it
 * continues.  number: 24 bits. */
void sim_daemon_tell(struct sim_daemon *daemon, enum job_event_kind kind, uint32_t index,
                     uint32_t number, int flag);
void sim_daemon_continue(struct sim_daemon *daemon);

/* Why a process cannot be started: START_FAILED's number. */
struct sim_start_failure {
    int code;
    enum start_step step;
};
extern const struct sim_start_failure sim_start_failures[];
#define SIM_START_FAILURES 4u

/* sim_process.c */
void sim_process_open(struct sim_daemon *daemon, uint32_t count);
void sim_process_start(struct sim_daemon *daemon, uint32_t index);
void sim_process_signal(struct sim_daemon *daemon, int number);
void sim_process_end_group(struct sim_daemon *daemon, uint64_t grace_ms);
void sim_process_fence_result(struct sim_daemon *daemon, int status);
/* All at once and without a word: their daemon is gone. */
void sim_process_vanish(struct sim_daemon *daemon);
/* All at once by the helper, since the daemon's lease has ended. */
void sim_process_lease_ended(struct sim_daemon *daemon);
void sim_process_credit(struct sim_daemon *daemon, uint32_t bytes);
void sim_process_credit_renew(struct sim_daemon *daemon);
/* A stopped daemon goes on with what its processes have done meanwhile. */
void sim_process_continue(struct sim_daemon *daemon);
void sim_process_cut(struct sim_daemon *daemon, uint64_t milliseconds, int discard);

#endif
