/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network in virtual time: one heap of events, and for every place a transport (fabric/transport.h).
 * Everything happens inside virtual_network_run and follows from the seed and from what the places do,
 * so a run can be repeated exactly.
 *
 * Links behave like links: FIFO within a class, nothing lost while both ends are up, `down` at the
 * other end after what was sent before a close.  When a place is killed, what it sent before is cut
 * off at a random point, different for each peer, at which the peer notices.
 *
 * With a network (struct virtual_network_model) frames travel in chunks of 64 KiB through the sender's port,
 * the shared uplinks and the receiver's port (virtual_network_traffic.c), and every message costs its sender
 * and its receiver time of their core (virtual_network_cpu.c).  Without one they take their latency.
 * Cost: O(log events) per event, O(links of the place) per call; memory per place and per link
 * about 300 bytes.
 */
#ifndef FABRIC_VIRTUAL_NETWORK_H
#define FABRIC_VIRTUAL_NETWORK_H

#include <stdint.h>

#include "base/frame.h"
#include "fabric/transport.h"

struct virtual_network;

#define VIRTUAL_NETWORK_NO_SWITCH  UINT32_MAX
#define VIRTUAL_NETWORK_LEVELS_MAX 32u

/* A tree of switches, or several: each has one link up and one down, which carry one chunk at a time. */
struct virtual_network_switch {
    uint32_t parent;     /* or VIRTUAL_NETWORK_NO_SWITCH */
    uint32_t depth;      /* 0: without a parent; below VIRTUAL_NETWORK_LEVELS_MAX */
    uint64_t up_byte_ps; /* of these links; 0: they carry everything at once */
    uint64_t down_byte_ps;
    uint64_t up_latency_ns;
    uint64_t down_latency_ns;
    uint64_t across_latency_ns; /* of a way that has it as its highest switch */
};

/* Where a place is connected, and what its own link takes. */
struct virtual_network_port_at {
    uint32_t top; /* its switch */
    uint64_t up_latency_ns;
    uint64_t down_latency_ns;
};

/* Ways between switches that nothing joins take no link. */
struct virtual_network_fabric {
    const struct virtual_network_switch *switches;
    uint32_t switches_count;
    const struct virtual_network_port_at *ports; /* of places; those that follow are as the last */
    uint32_t ports_count;
};

/* What things cost; 0: nothing.  Picoseconds, so that 400 Gbit/s can be expressed (20 ps per
 * byte). */
struct virtual_network_model {
    uint64_t send_byte_ps;    /* of a node's port, outward */
    uint64_t receive_byte_ps; /* and inward */
    /* Places per switch, numbered consecutively; 0: all on one.  Between switches a frame crosses
     * one shared link up and one down and takes this much longer. */
    uint32_t switch_places;
    uint64_t uplink_byte_ps;
    uint64_t uplink_latency_ns;
    /* Instead of those: the caller's; NULL: none. */
    const struct virtual_network_fabric *fabric;
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

struct virtual_network_config {
    uint32_t places;
    uint64_t seed;
    uint64_t latency_ns; /* of every frame and of every half of a connect */
    uint64_t jitter_ns;  /* maximum extra time, per frame */
    struct virtual_network_model network;
    uint32_t strangers; /* extra slots, after the places': for virtual_network_attach_as */
};

/* Use of the cores so far; zero if CPU costs nothing. */
struct virtual_network_cpu_use {
    uint64_t time_ns;
    uint64_t wakes;
    uint64_t reads;
    uint64_t writes;
};

enum virtual_network_fact {
    VIRTUAL_NETWORK_FACT_SEND,
    VIRTUAL_NETWORK_FACT_UP,
    VIRTUAL_NETWORK_FACT_DOWN,
    VIRTUAL_NETWORK_FACT_KILL,
    VIRTUAL_NETWORK_FACT_STOP,
    VIRTUAL_NETWORK_FACT_CONTINUE,
    VIRTUAL_NETWORK_FACT_COUNT
};

/* Called for every frame sent (from -> to), every end of a link that comes up or goes down (from:
 * the end, to: its peer), every kill, stop and continue (from).  It may kill and stop places,
 * between any two messages. */
typedef void virtual_network_trace_function(void *context, uint64_t now_ns,
                                            enum virtual_network_fact fact, uint32_t from,
                                            uint32_t to, const struct frame *frame);
typedef void virtual_network_call_function(void *context, uint64_t argument);

struct virtual_network *virtual_network_create(const struct virtual_network_config *config);
/* Attached places are no longer called. */
void virtual_network_destroy(struct virtual_network *net);
void virtual_network_set_trace(struct virtual_network *net, virtual_network_trace_function *trace,
                               void *context);

const struct transport_ops *virtual_network_transport_ops(void);
void *virtual_network_transport(struct virtual_network *net, uint32_t slot);
/* The address at which a place listens: its number. */
void virtual_network_address(uint32_t place, struct addresses *ret_addresses);

/* A slot is a place's number, or one of the strangers after them, which claim to be a place.  From
 * now on the slot's transport works and its events are delivered; only places can be connected to.
 * A place that was killed can be attached again. */
void virtual_network_attach(struct virtual_network *net, uint32_t place, uint32_t incarnation,
                            const struct transport_events *events, void *context);
void virtual_network_attach_as(struct virtual_network *net, uint32_t slot, uint32_t place,
                               uint32_t incarnation, const struct transport_events *events,
                               void *context);
/* Kills the place at once; it is no longer called. */
void virtual_network_kill(struct virtual_network *net, uint32_t place);
int virtual_network_is_alive(const struct virtual_network *net, uint32_t place);
/* A stopped place does nothing and receives nothing; events wait until it continues. */
void virtual_network_stop(struct virtual_network *net, uint32_t place);
void virtual_network_continue(struct virtual_network *net, uint32_t place);
/* Ends the link between two places, if there is one, as a broken network would. */
void virtual_network_break(struct virtual_network *net, uint32_t a, uint32_t b);
/* A slot that does not know the secret never gets a link. */
void virtual_network_set_secret(struct virtual_network *net, uint32_t slot, uint32_t secret);
/* Slows a place's core and ports by a factor. */
void virtual_network_set_slow(struct virtual_network *net, uint32_t slot, uint32_t factor);
/* Delays everything that a place sends. */
void virtual_network_set_delay(struct virtual_network *net, uint32_t slot, uint64_t delay_ns);
/* The next frame that the place sends arrives cut off or altered, or never. */
enum virtual_network_damage {
    VIRTUAL_NETWORK_DAMAGE_NONE,
    VIRTUAL_NETWORK_DAMAGE_TRUNCATE,
    VIRTUAL_NETWORK_DAMAGE_MUTATE,
    VIRTUAL_NETWORK_DAMAGE_LOSE
};
void virtual_network_damage(struct virtual_network *net, uint32_t slot,
                            enum virtual_network_damage damage);
/* A partition: nothing that is sent from a place of one side (0 or 1) passes to one of the other
 * where blocked[from][to]; it arrives when the network is whole again; an attempt to connect times
 * out.  Places are on side 0 at first. */
void virtual_network_set_side(struct virtual_network *net, uint32_t slot, int side);
void virtual_network_set_blocked(struct virtual_network *net, int from_side, int to_side,
                                 int blocked);

uint64_t virtual_network_now_ns(const struct virtual_network *net);
/* Calls function at a time that is not in the past. */
void virtual_network_at(struct virtual_network *net, uint64_t time_ns,
                        virtual_network_call_function *function, void *context, uint64_t argument);
/* The same as work of a place: called once its core has spent cost_ns on it after that time, never
 * if it is killed before; also before it is attached.  A stopped place does it when it
 * continues. */
void virtual_network_work(struct virtual_network *net, uint32_t slot, uint64_t time_ns,
                          uint64_t cost_ns, virtual_network_call_function *function, void *context,
                          uint64_t argument);
/* The place's core is busy for that much longer with what it is doing now. */
void virtual_network_charge(struct virtual_network *net, uint32_t slot, uint64_t cost_ns);
/* Runs the next event; 0 if there is none. */
int virtual_network_step(struct virtual_network *net);
/* Runs everything up to and including time_ns, which becomes now. */
void virtual_network_run_until(struct virtual_network *net, uint64_t time_ns);
uint64_t virtual_network_events_run(const struct virtual_network *net);
uint64_t virtual_network_frames_sent(const struct virtual_network *net);
struct virtual_network_cpu_use virtual_network_cpu_used(const struct virtual_network *net);
uint64_t virtual_network_bytes_sent(const struct virtual_network *net);

#endif
