/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole daemons in the simulated world (fabric/sim.h): at every place a job engine over an overlay
 * node, the very objects that ship.  Simulated are the starters, the helper with its processes,
 * their output, and the user with his front end.  Everything follows from the seed: a run can be
 * repeated exactly.  One job per machine.
 *
 * Cost: as fabric/sim.h, and O(ranks of the node) per end of a group.
 */
#ifndef LAUNCH_SIM_H
#define LAUNCH_SIM_H

#include <stdint.h>

#include "alloc/place_map.h"
#include "launch/control.h"
#include "overlay/node.h"

struct sim_machine;

/* What the processes of the job do: fences + 1 steps, each ends with output and with a fence or
 * the exit.  Bounds are of uniform choices, chances are per process. */
struct sim_program {
    uint64_t start_ns_max; /* from being told to start to running */
    uint64_t step_ns_max;
    uint32_t fences;
    uint32_t output_bytes_max; /* per step */
    double cannot_start;
    double fails;    /* by exit status, signal, abort or exit without finalize, in any step */
    double endless;  /* never ends by itself, from any step on */
    double stubborn; /* ignores SIGTERM and signals of the user */
};

struct sim_machine_config {
    const struct allocation *allocation; /* the caller's; its nodes are places 1.. */
    uint32_t radix;
    uint64_t seed;
    uint64_t latency_ns; /* of every frame */
    uint64_t jitter_ns;
    uint64_t daemon_ns_max;  /* a starter brings a daemon up within */
    double daemon_fails;     /* chance that it cannot */
    double daemon_silent;    /* chance that nothing is ever heard of it */
    uint64_t reader_byte_ns; /* what the front end takes to write a byte */
    struct map_rule rule;
    struct sim_program program;
};

enum sim_fate {
    SIM_FATE_STARTED,
    SIM_FATE_CANNOT_START, /* number: -errno, text: what */
    SIM_FATE_ABORTED,      /* number: status; it ends after that */
    SIM_FATE_ENDED,        /* number: wait status; by_us; abnormal */
    SIM_FATE_VANISHED,     /* killed because its daemon was gone */
    SIM_FATE_COUNT
};

struct sim_process_fact {
    uint64_t now_ns;
    uint32_t place;
    uint32_t index; /* of the node's ranks */
    enum sim_fate fate;
    int number;
    int by_us;
    int lease_ended; /* by us, for that reason */
    int abnormal;
    const char *text;
};

/* What an observer is told; any may be NULL. */
struct sim_watch {
    void (*process)(void *context, const struct sim_process_fact *fact);
    void (*fence)(void *context, uint32_t place, uint32_t generation, int status,
                  const struct message *result);
    /* The front end is told. */
    void (*started)(void *context, uint64_t now_ns, const struct control_started *started);
    void (*report)(void *context, uint64_t now_ns, const struct control_job_end *end);
    void (*text)(void *context, uint64_t now_ns, const char *text);
    /* The root counts places as dead. */
    void (*lost)(void *context, uint64_t now_ns, const struct ranges *places);
    /* A daemon has ended by itself, the root's after all others could. */
    void (*ended)(void *context, uint64_t now_ns, uint32_t place, enum node_end end);
};

/* Sums of what happened to the output. */
struct sim_output {
    uint64_t written_bytes;  /* by processes */
    uint64_t received_bytes; /* by the front end until the report */
    uint64_t given_up_bytes; /* at nodes, because nobody waited for them */
};

/* watch and its context stay the caller's.  The user runs the job at time 0. */
struct sim_machine *sim_machine_create(const struct sim_machine_config *config,
                                       const struct sim_watch *watch, void *context);
void sim_machine_destroy(struct sim_machine *machine);

/* What will happen; to places other than the root. */
void sim_machine_kill_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place);
void sim_machine_stop_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place);
void sim_machine_continue_at(struct sim_machine *machine, uint64_t time_ns, uint32_t place);
/* The user: Ctrl-C and the like, a signal for the ranks. */
void sim_machine_end_at(struct sim_machine *machine, uint64_t time_ns,
                        const struct control_end *end);
void sim_machine_signal_at(struct sim_machine *machine, uint64_t time_ns, int number);

/* Runs until no daemon is left, or until time_ns; 1 if none is left. */
int sim_machine_run(struct sim_machine *machine, uint64_t time_ns);

/* Facts. */
uint64_t sim_machine_now_ns(const struct sim_machine *machine);
uint64_t sim_machine_events(const struct sim_machine *machine);
struct sim_output sim_machine_output(const struct sim_machine *machine);
/* Daemons that have neither ended nor been killed. */
uint32_t sim_machine_daemons(const struct sim_machine *machine);

#endif
