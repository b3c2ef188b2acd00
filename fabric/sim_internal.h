/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The internals of fabric/sim.h, for its files only:
 *
 *     sim.c          places and their faults
 *     sim_link.c     links, from the attempt to their end
 *     sim_event.c    the heap of events
 *     sim_network.c  ports, uplinks, chunks: when a frame arrives
 *     sim_cpu.c      cores: when a place has time for an event
 *
 * An event is in exactly one place: the heap, a port's queue, a core's queue, or the queue of a
 * stopped place or of a partition.
 */
#ifndef FABRIC_SIM_INTERNAL_H
#define FABRIC_SIM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "base/random.h"
#include "fabric/sim.h"

enum end_state { END_NONE, END_CONNECTING, END_UP, END_CLOSED };

struct sim_event;

/* A queue of events, in the order in which they came. */
struct sim_queue {
    struct sim_event *first;
    struct sim_event *last;
};

/* Chunks of one class and one link that wait at a port. */
struct sim_flow {
    struct sim_flow *next; /* of the port and class, next in turn */
    struct sim_queue chunks;
};

/* One end of a link. */
struct end {
    struct list_node node; /* of its place's links */
    struct sim_link *link;
    uint32_t slot;
    uint32_t place;  /* that it claims to be */
    uint8_t side;    /* 0 connected, 1 accepted */
    uint8_t state;   /* enum end_state */
    bool closing;    /* the other end has closed; `down` when the last chunk is here */
    uint32_t flying; /* chunks on their way here */
    uint32_t turn;   /* of the other end's place, in which it wrote last */
    uint64_t last_ns[FRAME_CLASS_COUNT]; /* arrival of what was sent last of a class, here */
    uint64_t cut_ns;                     /* what would arrive here later is lost */
};

/* What waits of a link: per side that it goes to, at the port out and at the port in. */
struct sim_flows {
    struct sim_flow items[2][2][FRAME_CLASS_COUNT];
};

/* Lives while an end or an event refers to it. */
struct sim_link {
    struct end ends[2];
    struct sim_flows *flows; /* NULL until something has to wait */
    uint32_t references;
    uint32_t incarnations[2]; /* of the ends' places */
    uint64_t deadline_ns;     /* of the attempt */
    uint8_t retries;
    bool is_declined; /* by a living place that has another link to that place */
    bool is_refused;  /* no living place there */
    bool is_taken;    /* by the machine of a stopped place */
    bool is_crossed;  /* the connection of the other place will come */
};

/* Flows that have something to send, in turn. */
struct sim_turns {
    struct sim_flow *first;
    struct sim_flow *last;
};

/* A wire that carries one chunk at a time. */
struct sim_port {
    uint64_t free_ns;
    struct sim_turns turns[FRAME_CLASS_COUNT];
    bool scheduled; /* an event will look at what waits */
};

/* Of a switch, one way: all its places' chunks in the order in which they come. */
struct sim_uplink {
    struct sim_port port;
    struct sim_flow flows[FRAME_CLASS_COUNT];
};

/* The core of a place.  In a turn it does what was queued when the turn began. */
struct sim_core {
    uint64_t free_ns;
    uint64_t since_ns; /* when it got the core */
    uint64_t wakes;    /* of all places, then */
    struct sim_queue work;
    uint32_t queued; /* of work */
    uint32_t batch;  /* of those, left in this turn */
    uint32_t turn;
    bool busy;                   /* at work, or in the queue for a shared core */
    const struct sim_link *read; /* last in this turn; not followed */
    struct sim_place *waiting;   /* next in the queue for a shared core */
};

/* What a place has only in a world with a network. */
struct sim_machinery {
    struct sim_port out;
    struct sim_port in;
    struct sim_core core;
};

struct sim_place {
    struct sim *sim;
    uint32_t slot;
    uint32_t place;
    uint32_t incarnation;
    uint32_t secret;
    uint32_t slow;  /* factor */
    uint32_t life;  /* counts the kills */
    uint8_t damage; /* enum sim_damage: of the next frame */
    uint8_t side;   /* of a partition */
    bool alive;
    bool stopped;
    const struct transport_events *events;
    void *context;
    struct list links;
    uint64_t timer_ns; /* the armed deadline; older timer events do not match it */
    uint64_t delay_ns;
    struct sim_queue deferred;
    struct sim_machinery *machinery;
};

enum event_kind {
    EVENT_ACCEPT,    /* link asks at ends[1] */
    EVENT_CONNECTED, /* the answer at ends[0] */
    EVENT_DOWN,      /* at ends[side] */
    EVENT_FRAME,     /* at ends[side] */
    EVENT_TIMER,     /* of place */
    EVENT_WORK,      /* of place */
    /* Above: events of places; below: internal ones. */
    EVENT_CALL,
    EVENT_CHUNK, /* reaches the port of its stage */
    EVENT_PORT,  /* a port is free again: context */
    EVENT_CORE   /* a core has finished its work: place, pending */
};

/* The way of a chunk. */
enum sim_stage { STAGE_OUT, STAGE_UP, STAGE_DOWN, STAGE_IN, STAGE_COUNT };

struct sim_event {
    struct sim_event *next; /* in a queue */
    uint64_t time_ns;
    uint8_t kind; /* enum event_kind */
    uint8_t side;
    uint8_t stage; /* of a chunk */
    uint8_t class;
    uint32_t slot;
    union {
        uint32_t bytes; /* of a chunk */
        uint32_t life;  /* of the place: work is for */
    };
    bool flag;  /* of a chunk: the last of its frame; of a frame: it has been counted; of `down`: an
                  attempt to connect ends */
    bool rides; /* of a chunk and a frame: written, and read, with the one before */
    struct sim_link *link;
    union {
        struct frame frame; /* of a chunk that is not the last: its class only */
        struct {
            sim_call_function *function;
            void *context;
            uint64_t argument;
        } call;
        struct sim_event *pending; /* what the core does then, or NULL */
        struct sim_port *port;
    };
    union {
        uint64_t cost_ns; /* of work */
        uint64_t tail_ns; /* when the last byte of a chunk is where the first one was at time_ns */
    };
};

struct sim_heap_item {
    uint64_t time_ns;
    uint64_t order; /* among equal times: as scheduled */
    struct sim_event *event;
};

struct sim {
    struct sim_config config;
    struct random_state random;
    uint64_t now_ns;
    uint64_t order;
    uint64_t events_run;
    uint64_t frames_sent;
    uint64_t bytes_sent;
    struct sim_heap_item *heap;
    size_t heap_count;
    size_t heap_capacity;
    struct sim_event *spare;        /* events that are free */
    struct sim_event_block *blocks; /* of memory for events */
    struct sim_place *places;
    uint32_t slots;
    bool has_ports;
    bool has_cores;
    struct sim_machinery *machinery;
    struct sim_uplink *uplinks; /* up and down of each switch */
    struct sim_cpu_use cpu_use;
    int64_t cores_free;
    struct sim_place *waiting_first; /* for a shared core */
    struct sim_place *waiting_last;
    bool blocked[2][2];
    struct sim_queue parked; /* what a partition holds back */
    sim_trace_function *trace;
    void *trace_context;
};

/* sim_event.c */
struct sim_event *sim_event_create(struct sim *sim, const struct sim_event *value);
/* Releases what it holds. */
void sim_event_free(struct sim *sim, struct sim_event *event);
/* Into the heap, for event->time_ns. */
void sim_event_push(struct sim *sim, struct sim_event *event);
struct sim_event *sim_event_pop(struct sim *sim);
/* Takes a reference of value->link. */
void sim_schedule(struct sim *sim, const struct sim_event *value);
void sim_queue_append(struct sim_queue *queue, struct sim_event *event);
struct sim_event *sim_queue_pop(struct sim_queue *queue); /* or NULL */
void sim_events_fini(struct sim *sim);
void sim_link_release(struct sim_link *link);

/* sim.c */
/* Delivers the event, to a stopped place when it continues.  The event is freed. */
void sim_tell(struct sim *sim, struct sim_event *event);

/* sim_link.c */
/* Latency and jitter of a frame from one slot to another, and of anything sent to an end. */
uint64_t sim_delay_ns(struct sim *sim, uint32_t from, uint32_t to);
uint64_t sim_delay_to_ns(struct sim *sim, const struct end *end);
/* Nothing passes to that end now. */
bool sim_is_blocked(const struct sim *sim, const struct sim_link *link, int side);
/* Sends something to an end: now, or when the network is whole again. */
void sim_pass(struct sim *sim, const struct sim_event *value);
void sim_tell_trace(struct sim *sim, enum sim_fact fact, uint32_t from, uint32_t to,
                    const struct frame *frame);
/* Reports to one end that the other is down. */
void sim_schedule_down(struct sim *sim, struct sim_link *link, int side, uint64_t time_ns);
/* The open end of a slot's link to a place, or NULL. */
struct end *sim_end_find(const struct sim *sim, uint32_t slot, uint32_t peer);
/* Forgets the link at this end; the link may be freed. */
void sim_end_close(struct sim_link *link, int side);
bool sim_end_is_open(const struct end *end);
/* When everything sent to this end so far will have arrived. */
uint64_t sim_last_arrival_ns(const struct end *end);
/* The operation of a transport (fabric/transport.h). */
int sim_connect(void *transport, uint32_t place, const struct addresses *addresses);
/* The attempt waits for a stopped place. */
void sim_link_taken(struct sim *sim, struct sim_link *link);
/* Events of a place: an attempt arrives, its answer arrives, a link ends. */
void sim_link_accept(struct sim *sim, struct sim_place *place, struct sim_link *link);
void sim_link_connected(struct sim *sim, struct sim_place *place, struct sim_link *link);
void sim_link_down(struct sim *sim, struct sim_place *place, const struct sim_event *event);

/* sim_network.c */
void sim_network_init(struct sim *sim);
/* Sends a frame to an end; takes its payload's reference. */
void sim_network_send(struct sim *sim, struct end *to, const struct frame *frame);
void sim_network_chunk(struct sim *sim, struct sim_event *chunk);
void sim_network_port(struct sim *sim, struct sim_port *port);
/* A frame has arrived, or is lost. */
void sim_network_arrived(struct sim *sim, struct end *end);
/* What a kill leaves in the ports' queues is freed with its link. */
void sim_network_fini(struct sim *sim);

/* sim_cpu.c */
void sim_cpu_init(struct sim *sim);
/* Delivers an event to a place when its core has time. */
void sim_cpu_do(struct sim *sim, struct sim_event *event);
void sim_cpu_done(struct sim *sim, struct sim_place *place, struct sim_event *pending);
/* The cost of a frame to that end, excluding its bytes; and whether it is written together with the
 * previous one. */
uint64_t sim_cpu_send_ns(struct sim *sim, struct sim_place *place, struct end *to, bool *ret_rides);
/* Adds work of that duration to the core's queue; returns when it will be done. */
uint64_t sim_cpu_charge(struct sim *sim, struct sim_place *place, uint64_t cost_ns);
void sim_cpu_fini(struct sim *sim);

#endif
