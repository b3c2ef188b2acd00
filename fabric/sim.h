/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated world: virtual time, one heap of events, and for every place a transport
 * (fabric/transport.h).  Everything happens inside sim_run and follows from the seed and from what
 * the places do, so a run can be repeated exactly.
 *
 * Links behave like links: FIFO within a class, nothing lost while both ends are up, `down` at the
 * other end after what was sent before a close.  When a place is killed, what it sent before is cut
 * off at a random point, different for each peer, at which the peer notices.
 *
 * With a network (struct sim_network) frames travel in chunks of 64 KiB through the sender's port,
 * the shared uplinks and the receiver's port (sim_network.c), and every message costs its sender
 * and its receiver time of their core (sim_cpu.c).  Without one they take their latency.
 * Cost: O(log events) per event, O(links of the place) per call; memory per place and per link
 * about 300 bytes.
 */
#ifndef FABRIC_SIM_H
#define FABRIC_SIM_H

#include <stdint.h>

#include "base/frame.h"
#include "fabric/transport.h"

struct sim;

/* What things cost; 0: nothing.  Picoseconds, so that 400 Gbit/s can be expressed (20 ps per
 * byte). */
struct sim_network {
    uint64_t send_byte_ps;    /* of a node's port, outward */
    uint64_t receive_byte_ps; /* and inward */
    /* Places per switch, numbered consecutively; 0: all on one.  Between switches a frame crosses
     * one shared link up and one down and takes this much longer. */
    uint32_t switch_places;
    uint64_t uplink_byte_ps;
    uint64_t uplink_latency_ns;
    /* Core time: to wake up an idle place, for each link that it reads from and writes to in a
     * turn, per frame, and per byte. */
    uint64_t cpu_wake_ns;
    /* Other places evict a place's memory from the caches: if n places have woken up since it last
     * did, refilling them takes cpu_cold_ns * n / (n + cache_places); shared cores only. */
    uint64_t cpu_cold_ns;
    uint32_t cache_places; /* the n at which half of it is evicted */
    uint64_t cpu_read_ns;
    uint64_t cpu_write_ns;
    uint64_t cpu_send_ns;
    uint64_t cpu_send_byte_ps;
    uint64_t cpu_receive_ns;
    uint64_t cpu_receive_byte_ps;
    /* Opening a link: the secure handshake, at each side. */
    uint64_t cpu_connect_ns;
    uint64_t cpu_accept_ns;
    uint32_t cores; /* that all places share; 0: each place has its own */
};

struct sim_config {
    uint32_t places;
    uint64_t seed;
    uint64_t latency_ns; /* of every frame and of every half of a connect */
    uint64_t jitter_ns;  /* maximum extra time, per frame */
    struct sim_network network;
    uint32_t strangers; /* extra slots, after the places': for sim_attach_as */
};

/* Use of the cores so far; zero if CPU costs nothing. */
struct sim_cpu_use {
    uint64_t time_ns;
    uint64_t wakes;
    uint64_t reads;
    uint64_t writes;
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

/* Called for every frame sent (from -> to), every end of a link that comes up or goes down (from:
 * the end, to: its peer), every kill, stop and continue (from).  It may kill and stop places,
 * between any two messages. */
typedef void sim_trace_function(void *context, uint64_t now_ns, enum sim_fact fact, uint32_t from,
                                uint32_t to, const struct frame *frame);
typedef void sim_call_function(void *context, uint64_t argument);

struct sim *sim_create(const struct sim_config *config);
/* Attached places are no longer called. */
void sim_destroy(struct sim *sim);
void sim_set_trace(struct sim *sim, sim_trace_function *trace, void *context);

const struct transport_ops *sim_transport_ops(void);
void *sim_transport(struct sim *sim, uint32_t slot);
/* The address at which a place listens: its number. */
void sim_address(uint32_t place, struct addresses *ret_addresses);

/* A slot is a place's number, or one of the strangers after them, which claim to be a place.  From
 * now on the slot's transport works and its events are delivered; only places can be connected to.
 * A place that was killed can be attached again. */
void sim_attach(struct sim *sim, uint32_t place, uint32_t incarnation,
                const struct transport_events *events, void *context);
void sim_attach_as(struct sim *sim, uint32_t slot, uint32_t place, uint32_t incarnation,
                   const struct transport_events *events, void *context);
/* Kills the place at once; it is no longer called. */
void sim_kill(struct sim *sim, uint32_t place);
int sim_is_alive(const struct sim *sim, uint32_t place);
/* A stopped place does nothing and receives nothing; events wait until it continues. */
void sim_stop(struct sim *sim, uint32_t place);
void sim_continue(struct sim *sim, uint32_t place);
/* Ends the link between two places, if there is one, as a broken network would. */
void sim_break(struct sim *sim, uint32_t a, uint32_t b);
/* A slot that does not know the secret never gets a link. */
void sim_set_secret(struct sim *sim, uint32_t slot, uint32_t secret);
/* Slows a place's core and ports by a factor. */
void sim_set_slow(struct sim *sim, uint32_t slot, uint32_t factor);
/* Delays everything that a place sends. */
void sim_set_delay(struct sim *sim, uint32_t slot, uint64_t delay_ns);
/* The next frame that the place sends arrives cut off or altered, or never. */
enum sim_damage { SIM_DAMAGE_NONE, SIM_DAMAGE_TRUNCATE, SIM_DAMAGE_MUTATE, SIM_DAMAGE_LOSE };
void sim_damage(struct sim *sim, uint32_t slot, enum sim_damage damage);
/* A partition: nothing that is sent from a place of one side (0 or 1) passes to one of the other
 * where blocked[from][to]; it arrives when the network is whole again; an attempt to connect times
 * out.  Places are on side 0 at first. */
void sim_set_side(struct sim *sim, uint32_t slot, int side);
void sim_set_blocked(struct sim *sim, int from_side, int to_side, int blocked);

uint64_t sim_now_ns(const struct sim *sim);
/* Calls function at a time that is not in the past. */
void sim_at(struct sim *sim, uint64_t time_ns, sim_call_function *function, void *context,
            uint64_t argument);
/* The same as work of a place: called once its core has spent cost_ns on it after that time, never
 * if it is killed before; also before it is attached.  A stopped place does it when it
 * continues. */
void sim_work(struct sim *sim, uint32_t slot, uint64_t time_ns, uint64_t cost_ns,
              sim_call_function *function, void *context, uint64_t argument);
/* The place's core is busy for that much longer with what it is doing now. */
void sim_charge(struct sim *sim, uint32_t slot, uint64_t cost_ns);
/* Runs the next event; 0 if there is none. */
int sim_step(struct sim *sim);
/* Runs everything up to and including time_ns, which becomes now. */
void sim_run_until(struct sim *sim, uint64_t time_ns);
uint64_t sim_events_run(const struct sim *sim);
uint64_t sim_frames_sent(const struct sim *sim);
struct sim_cpu_use sim_cpu_used(const struct sim *sim);
uint64_t sim_bytes_sent(const struct sim *sim);

#endif
