/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole daemons in the simulated world (fabric/virtual_network.h): at every place an instance of the job logic
 * over an overlay node, the same code as in the daemon.  Simulated are the starters, the helper
 * with its processes, their output, and users with their front ends, one for each job.  Everything
 * follows from the seed: a run can be repeated exactly.
 *
 * Cost: as fabric/virtual_network.h, and O(ranks of the node) per end of a group.
 */
#ifndef LAUNCH_SIM_SIM_H
#define LAUNCH_SIM_SIM_H

#include <stdint.h>

#include "alloc/placement_map.h"
#include "fabric/virtual_network.h"
#include "launch/job/instance.h"
#include "launch/proto/control.h"
#include "launch/proto/node_list.h"
#include "overlay/endpoint.h"

struct daemon_core;
struct sim_machine;

/* The behaviour of a job's processes: fences + 1 steps, each ending with output and a fence or the
 * exit. Bounds are of uniform distributions, chances are per process. */
struct sim_program {
    uint64_t start_ns_max; /* from the request to start to running */
    uint64_t step_ns_max;
    uint32_t fences;
    uint32_t output_bytes_max; /* per step */
    double cannot_start;
    double fails;      /* by exit status, signal, abort or exit without finalize, in any step */
    uint32_t restarts; /* limit of restarts of each process; 0: none is restarted */
    double endless;    /* never ends by itself, starting at any step */
    double stubborn;   /* ignores SIGTERM and signals of the user */
};

struct sim_machine_config {
    const struct allocation *allocation; /* the caller's; its nodes are places 1.. */
    uint32_t radix;
    uint8_t trees; /* enum endpoint_trees */
    uint64_t seed;
    uint64_t latency_ns; /* of every frame */
    uint64_t jitter_ns;
    struct virtual_network_model network;
    uint32_t more;              /* maximum number of places added */
    uint32_t strangers;         /* daemons that falsely claim a place: sim_machine_claim */
    uint64_t daemon_ns;         /* minimum time of a starter to bring a daemon up */
    uint64_t daemon_ns_max;     /* maximum extra time */
    uint64_t starter_cpu_ns;    /* of the place's core, for each daemon that it starts */
    uint64_t daemon_cpu_ns;     /* of the daemon's, until it opens its first link */
    uint64_t process_cpu_ns;    /* of the node's, for each process that it starts */
    double daemon_fails;        /* chance that it cannot start */
    double daemon_silent;       /* chance that it never reports */
    uint32_t nodes_min;         /* the start goes on with that many; 0: it needs all */
    uint32_t spares;            /* of the nodes, the last ones */
    uint64_t reader_byte_ns;    /* the front end's time to write a byte */
    struct placement_rule rule; /* of a job, without a list */
    uint32_t machine_sorts;     /* number of different kinds of machines; 0: one */
    struct sim_program program;
    uint32_t lease_ms; /* 0: the daemons' default */
    uint8_t idle;      /* no job at time 0, only by sim_machine_run_job and similar */
    enum instance_policy policy;
};

enum sim_fate {
    SIM_FATE_STARTED,
    SIM_FATE_CANNOT_START, /* number: -errno, text: what */
    SIM_FATE_ABORTED,      /* number: status; it ends after that */
    SIM_FATE_ENDED,        /* number: wait status; by_us; abnormal */
    SIM_FATE_VANISHED,     /* killed because its daemon had died */
    SIM_FATE_COUNT
};

struct sim_process_fact {
    uint64_t now_ns;
    uint32_t job;
    uint32_t place;
    uint32_t index; /* of the node's ranks of the job */
    enum sim_fate fate;
    int number;
    int by_us;
    int lease_ended; /* killed because the lease expired */
    int abnormal;
    const char *text;
};

/* Callbacks of an observer; any may be NULL. */
struct sim_watch {
    void (*process)(void *context, const struct sim_process_fact *fact);
    void (*fence)(void *context, uint32_t job, uint32_t place, uint32_t generation, int status,
                  const struct message *result);
    /* A process has written, or has called a fence. */
    void (*wrote)(void *context, uint32_t job, uint32_t place, uint64_t bytes);
    void (*called)(void *context, uint32_t job, uint32_t place, uint32_t index,
                   uint32_t generation);
    /* Any message to a client (launch/proto/control.h), before it acts on it. */
    void (*told)(void *context, uint64_t now_ns, uint32_t client, uint8_t type, const void *data,
                 size_t bytes);
    /* Messages to the front end of a job; a text of job 0 is for all. */
    void (*started)(void *context, uint64_t now_ns, uint32_t job,
                    const struct control_started *started);
    void (*report)(void *context, uint64_t now_ns, uint32_t job, const struct control_job_end *end);
    void (*text)(void *context, uint64_t now_ns, uint32_t job, const char *text);
    /* The root counts places as dead. */
    void (*lost)(void *context, uint64_t now_ns, const struct ranges *places);
    /* A place has been notified of them. */
    void (*reported_lost)(void *context, uint32_t place, const struct ranges *places);
    /* The root: every place that is not dead has joined. */
    void (*complete)(void *context, uint64_t now_ns);
    /* Of sim_machine_broadcast and sim_machine_contribute. */
    void (*broadcast)(void *context, uint32_t place, const struct message *payload);
    void (*result)(void *context, uint32_t place, uint32_t generation, int status,
                   const struct message *payload);
    /* A daemon has ended by itself; the root's after all others had the chance to. */
    void (*ended)(void *context, uint64_t now_ns, uint32_t place, enum endpoint_end end);
};

/* Sums of what happened to the output. */
struct sim_output {
    uint64_t written_bytes;  /* by processes */
    uint64_t received_bytes; /* by front ends until the report */
    uint64_t given_up_bytes; /* at nodes, because they were no longer waited for */
};

/* Adds the machine of a place (from 1): two packages of eight cores; other kinds have two threads
 * per core, fewer cores, or some cores not allowed. */
void sim_machine_add(uint32_t sorts, uint32_t place, struct placement_machines *ret_machines);

/* watch and its context stay the caller's; it gets no events of strangers.  The user runs the job
 * at time 0, unless the machine is idle. */
struct sim_machine *sim_machine_create(const struct sim_machine_config *config,
                                       const struct sim_watch *watch, void *context);
void sim_machine_destroy(struct sim_machine *machine);

/* Schedules future events. */
void sim_machine_kill_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place);
void sim_machine_stop_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place);
void sim_machine_continue_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place);
/* A dead daemon is started again, as a new incarnation. */
void sim_machine_restart_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place);
/* A stranger (the first: 0) comes up and claims to be a place. */
void sim_machine_claim_at(struct sim_machine *machine, uint64_t time_ns, uint32_t stranger,
                          uint32_t place);
/* The user of a job: Ctrl-C and the like, a signal for the ranks. */
void sim_machine_end_at(struct sim_machine *machine, uint64_t time_ns, uint32_t job,
                        const struct control_end *end);
void sim_machine_signal_at(struct sim_machine *machine, uint64_t time_ns, uint32_t job, int number);
/* The user of the instance drains, resumes or removes the node of a place. */
void sim_machine_nodes_at(struct sim_machine *machine, uint64_t time_ns, enum node_list_order order,
                          enum node_list_when when, uint32_t place);
/* Jobs get numbers from 1 on in the order in which they are run. */
void sim_machine_run_job_at(struct sim_machine *machine, uint64_t time_ns,
                            const struct placement_rule *rule, const struct sim_program *program);
/* By a client other than the first, 1, which began the instance and ends it when it goes away. */
void sim_machine_run_job_as(struct sim_machine *machine, uint64_t time_ns, uint32_t client,
                            const struct placement_rule *rule, const struct sim_program *program);
/* A client goes away without a word; what it has not detached from ends. */
void sim_machine_hang_up_at(struct sim_machine *machine, uint64_t time_ns, uint32_t client);
/* A job goes on without its client; 0: the instance without the first. */
void sim_machine_detach_at(struct sim_machine *machine, uint64_t time_ns, uint32_t client,
                           uint32_t job);
/* By a client other than the first; job 0: all jobs, then the instance. */
void sim_machine_end_as(struct sim_machine *machine, uint64_t time_ns, uint32_t client,
                        uint32_t job, const struct control_end *end);
/* Ends all jobs, then the instance. */
void sim_machine_leave_at(struct sim_machine *machine, uint64_t time_ns,
                          const struct control_end *end);

/* Immediate events, between two scheduled ones.  Runs a job as configured. */
void sim_machine_run_job(struct sim_machine *machine);
/* Adds nodes: the root assigns them places and starts their daemons, each with its boot record.
 * Returns the first place; UINT32_MAX if the root has ended or cannot. */
uint32_t sim_machine_grow(struct sim_machine *machine, uint32_t count);
/* The first client adds nodes, with that many slots each, as `banyan node add` does. */
void sim_machine_add_nodes(struct sim_machine *machine, uint32_t count, uint32_t slots);
/* These places leave. */
void sim_machine_shrink(struct sim_machine *machine, const struct ranges *places);
/* All daemons leave, for an instance without a job whose end would cause that. */
void sim_machine_leave(struct sim_machine *machine);
/* Broadcasts from the root, if it lives.  Takes the reference of the payload. */
void sim_machine_broadcast(struct sim_machine *machine, struct message *payload);
/* Contributes for a place, if it lives, to an exchange among a set; merged by concatenation. */
void sim_machine_contribute(struct sim_machine *machine, uint32_t place, const struct ranges *set,
                            uint32_t generation, struct message *payload);

/* Runs until no daemon is left, or until time_ns; 1 if none is left. */
int sim_machine_run(struct sim_machine *machine, uint64_t time_ns);
/* Runs one event; 0 if there is none. */
int sim_machine_step(struct sim_machine *machine);

/* Facts. */
uint64_t sim_machine_now_ns(const struct sim_machine *machine);
uint64_t sim_machine_events(const struct sim_machine *machine);
struct sim_output sim_machine_output(const struct sim_machine *machine);
/* For faults of the network: places are slots. */
struct virtual_network *sim_machine_network(struct sim_machine *machine);
int sim_machine_is_up(const struct sim_machine *machine, uint32_t place);
int sim_machine_is_stopped(const struct sim_machine *machine, uint32_t place);
/* A stranger is alive and the daemon of the place it claims is not: it may have been accepted as
 * that one. */
int sim_machine_is_usurped(const struct sim_machine *machine);
/* NULL if it has not come up. */
const struct endpoint *sim_machine_endpoint(const struct sim_machine *machine, uint32_t place);
/* NULL likewise. */
const struct daemon_core *sim_machine_core(const struct sim_machine *machine, uint32_t place);
/* NULL likewise, or if it has ended. */
const struct instance *sim_machine_instance(const struct sim_machine *machine, uint32_t place);
/* Daemons that have neither ended nor been killed. */
uint32_t sim_machine_daemons(const struct sim_machine *machine);

#endif
