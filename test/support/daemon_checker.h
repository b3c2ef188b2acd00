/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Watches a simulated machine (launch/sim/sim.h) in which several clients run several jobs, and judges by
 * what the processes did and what the clients were told whether each job was treated right, whatever
 * happened to the others: only a fault of its own, a wish of its user, a client that left or a node it ran
 * on may end it.
 *
 * Whoever plans the world says beforehand what will happen (checker_run and the like), so that
 * the checker knows which jobs nothing happened to.
 */
#ifndef TEST_SUPPORT_DAEMON_CHECKER_H
#define TEST_SUPPORT_DAEMON_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ranges.h"
#include "launch/sim/sim.h"

#define CHECKER_JOBS_MAX     16u
#define CHECKER_CLIENTS_MAX  8u
#define CHECKER_FAILURES_MAX 512u
#define CHECKER_NEVER        (UINT64_MAX / 2) /* sums with it do not overflow */

struct checker_failure {
    uint64_t time_ns;
    uint32_t place;
    uint32_t status;
    uint8_t weight; /* 2: it could not start, 1: abort, 0: its end */
};

/* By its process: the fences it has called so far. */
struct checker_calls {
    uint32_t place;
    uint32_t index;
    uint32_t generation;
    uint64_t time_ns; /* of the last */
};

/* A job; until it is accepted, a request. */
struct checker_job {
    /* planned */
    uint32_t client;
    uint32_t processes;
    bool endless;  /* some of its processes may be */
    bool stubborn; /* some may ignore signals */
    bool harmless; /* no process of its program does anything wrong */
    uint64_t asked_ns;
    uint64_t wish_ns; /* CHECKER_NEVER, as the next */
    uint64_t signal_ns;
    uint64_t detach_ns;
    struct control_end wish;
    /* what clients were told */
    uint32_t number; /* 0: not accepted */
    bool refused;
    uint32_t started; /* times told, the last at: */
    uint64_t started_ns;
    uint32_t reports;
    uint64_t report_ns;
    struct control_job_end report;
    uint64_t output_bytes;
    uint32_t stall_lines;
    /* what happened */
    uint32_t running; /* processes that have been started, and of these: */
    uint32_t living;
    uint32_t well;
    uint32_t vanished;
    uint32_t tried;   /* to be started, with success or without */
    uint64_t last_ns; /* the last of these events */
    uint64_t written_bytes;
    struct ranges places; /* where one was started */
    struct checker_failure failures[CHECKER_FAILURES_MAX];
    uint32_t failures_count;
    struct checker_calls *calls;
    uint32_t calls_count;
    uint64_t stalled_ns; /* when somebody has waited for long without a line; CHECKER_NEVER */
};

struct checker {
    struct sim_machine *machine;
    const struct allocation *allocation;
    enum instance_policy policy;
    uint32_t added_slots; /* of each node that is added to the instance */
    struct checker_job jobs[CHECKER_JOBS_MAX];
    uint32_t jobs_count;
    uint32_t *living;  /* by place */
    uint64_t *hurt_ns; /* by place: killed, or told to leave; CHECKER_NEVER */
    uint32_t places;
    bool is_hurt;                              /* any */
    uint64_t gone_ns[CHECKER_CLIENTS_MAX + 1]; /* a client hangs up; CHECKER_NEVER */
    uint64_t instance_detach_ns;               /* the instance goes on without the first client */
    uint64_t leave_ns;                         /* everyone is to leave; CHECKER_NEVER */
    /* The job was accepted: what its user does from now on can be planned.  May be NULL. */
    void (*accepted)(struct checker *checker, struct checker_job *job);
    void *context;
    bool verbose;
    char wrong[512]; /* the first thing that is not right, "" if all is */
};

extern const struct sim_watch checker_watch; /* its context is the checker */

void checker_init(struct checker *checker, const struct allocation *allocation, uint32_t more,
                  enum instance_policy policy);
void checker_fini(struct checker *checker);

/* Plans: the next request to run; that a place is killed or leaves; a client that hangs up. */
struct checker_job *checker_run(struct checker *checker, uint64_t time_ns, uint32_t client,
                                const struct placement_rule *rule,
                                const struct sim_program *program);
void checker_hurt(struct checker *checker, uint64_t time_ns, uint32_t place);
void checker_hang_up(struct checker *checker, uint64_t time_ns, uint32_t client);

/* While it runs, when all jobs that can end by themselves must have ended; when all jobs must have
 * ended; when all daemons must have. */
void checker_judge_ends(struct checker *checker);
void checker_judge_rest(struct checker *checker);
void checker_judge_gone(struct checker *checker);

#endif
