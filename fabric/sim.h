/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated world: virtual time, one heap of events, and for every place a transport
 * (fabric/transport.h).  Nothing happens but by sim_run; everything that happens follows from the
 * seed and from what the places do, so a run can be repeated exactly.
 *
 * Links behave like links: FIFO within a class, nothing lost while both ends are up, `down` at the
 * other end after what was sent before a close.  When a place is killed, what it sent before is cut
 * off at a random point, and its peers hear of it at that point, each on its own.
 * Cost: O(log events) per event, O(links of the place) per call.
 */
#ifndef FABRIC_SIM_H
#define FABRIC_SIM_H

#include <stdint.h>

#include "base/frame.h"
#include "fabric/transport.h"

struct sim;

struct sim_config {
    uint32_t places;
    uint64_t seed;
    uint64_t latency_ns; /* of every frame and of every half of a connect */
    uint64_t jitter_ns;  /* at most so much more, per frame */
};

enum sim_fact {
    SIM_FACT_SEND,
    SIM_FACT_UP,
    SIM_FACT_DOWN,
    SIM_FACT_KILL,
    SIM_FACT_STOP,
    SIM_FACT_CONTINUE,
    SIM_FACT_COUNT
};

/* Told of every frame sent (from -> to), every end of a link that comes up or goes down (from: who
 * is told, to: its peer), every kill, stop and continue (from).  It may kill
 * and stop places: between any two messages of anyone. */
typedef void sim_trace_function(void *context, uint64_t now_ns, enum sim_fact fact, uint32_t from,
                                uint32_t to, const struct frame *frame);
typedef void sim_call_function(void *context, uint64_t argument);

struct sim *sim_create(const struct sim_config *config);
/* What is attached is not called any more. */
void sim_destroy(struct sim *sim);
void sim_set_trace(struct sim *sim, sim_trace_function *trace, void *context);

const struct transport_ops *sim_transport_ops(void);
void *sim_transport(struct sim *sim, uint32_t place);
/* The address at which a place listens: its number. */
void sim_address(uint32_t place, struct addresses *ret_addresses);

/* From now on the place can be connected to, and its events are told. */
void sim_attach(struct sim *sim, uint32_t place, uint32_t incarnation,
                const struct transport_events *events, void *context);
/* The place is gone at once; nothing of it is called any more. */
void sim_kill(struct sim *sim, uint32_t place);
int sim_is_alive(const struct sim *sim, uint32_t place);
/* A stopped place does nothing and is told nothing; what comes waits until it continues. */
void sim_stop(struct sim *sim, uint32_t place);
void sim_continue(struct sim *sim, uint32_t place);
/* Ends the link between two places, if there is one, as a broken network would. */
void sim_break(struct sim *sim, uint32_t a, uint32_t b);

uint64_t sim_now_ns(const struct sim *sim);
/* Calls function at a time that is not in the past. */
void sim_at(struct sim *sim, uint64_t time_ns, sim_call_function *function, void *context,
            uint64_t argument);
/* Runs the next event; 0 if there is none. */
int sim_step(struct sim *sim);
/* Runs everything up to and including time_ns, which becomes now. */
void sim_run_until(struct sim *sim, uint64_t time_ns);
uint64_t sim_events_run(const struct sim *sim);
uint64_t sim_frames_sent(const struct sim *sim);

#endif
