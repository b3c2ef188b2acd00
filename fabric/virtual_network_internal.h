/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The internals of fabric/virtual_network.h, for its files only:
 *
 *     virtual_network.c          places and their faults
 *     virtual_network_link.c     links, from the attempt to their end
 *     virtual_network_event.c    the heap of events
 *     virtual_network_traffic.c  ports, uplinks, chunks: when a frame arrives
 *     virtual_network_way.c      switches: which links a chunk passes
 *     virtual_network_cpu.c      cores: when a place has time for an event
 *
 * An event is in exactly one place: the heap, a port's queue, a core's queue, or the queue of a
 * stopped place or of a partition.
 */
#ifndef FABRIC_VIRTUAL_NETWORK_INTERNAL_H
#define FABRIC_VIRTUAL_NETWORK_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "base/random.h"
#include "fabric/virtual_network.h"

enum end_state { END_NONE, END_CONNECTING, END_UP, END_CLOSED };

struct virtual_network_event;

/* A queue of events, in the order in which they came. */
struct virtual_network_queue {
    struct virtual_network_event *first;
    struct virtual_network_event *last;
};

/* Chunks of one class and one link that wait at a port. */
struct virtual_network_flow {
    struct virtual_network_flow *next; /* of the port and class, next in turn */
    struct virtual_network_queue chunks;
};

/* One end of a link. */
struct end {
    struct list_link node; /* of its place's links */
    struct virtual_network_link *link;
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
struct virtual_network_flows {
    struct virtual_network_flow items[2][2][FRAME_CLASS_COUNT];
};

/* Lives while an end or an event refers to it. */
struct virtual_network_link {
    struct end ends[2];
    struct virtual_network_flows *flows; /* NULL until something has to wait */
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
struct virtual_network_turns {
    struct virtual_network_flow *first;
    struct virtual_network_flow *last;
};

/* A wire that carries one chunk at a time. */
struct virtual_network_port {
    uint64_t free_ns;
    struct virtual_network_turns turns[FRAME_CLASS_COUNT];
    bool scheduled; /* an event will look at what waits */
};

/* Of a switch, one way: all its places' chunks in the order in which they come. */
struct virtual_network_uplink {
    struct virtual_network_port port;
    struct virtual_network_flow flows[FRAME_CLASS_COUNT];
};

/* The core of a place.  In a turn it does what was queued when the turn began. */
struct sim_core {
    uint64_t free_ns;
    uint64_t since_ns; /* when it got the core */
    uint64_t wakes;    /* of all places, then */
    struct virtual_network_queue work;
    uint32_t queued; /* of work */
    uint32_t batch;  /* of those, left in this turn */
    uint32_t turn;
    bool busy;                               /* at work, or in the queue for a shared core */
    const struct virtual_network_link *read; /* last in this turn; not followed */
    struct virtual_network_place *waiting;   /* next in the queue for a shared core */
};

/* What a place has only in a world with a network. */
struct sim_machinery {
    struct virtual_network_port out;
    struct virtual_network_port in;
    struct sim_core core;
};

struct virtual_network_place {
    struct virtual_network *net;
    uint32_t slot;
    uint32_t place;
    uint32_t incarnation;
    uint32_t secret;
    uint32_t slow;  /* factor */
    uint32_t life;  /* counts the kills */
    uint8_t damage; /* enum virtual_network_damage: of the next frame */
    uint8_t side;   /* of a partition */
    bool alive;
    bool stopped;
    const struct transport_events *events;
    void *context;
    struct list links;
    uint64_t timer_ns; /* the armed deadline; older timer events do not match it */
    uint64_t delay_ns;
    struct virtual_network_queue deferred;
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
enum virtual_network_stage { STAGE_OUT, STAGE_UP, STAGE_DOWN, STAGE_IN, STAGE_COUNT };

struct virtual_network_event {
    struct virtual_network_event *next; /* in a queue */
    uint64_t time_ns;
    uint8_t kind; /* enum event_kind */
    uint8_t side;
    uint8_t stage; /* of a chunk */
    uint8_t class;
    uint32_t slot;
    uint32_t at; /* of a chunk: the switch whose link it passes */
    union {
        uint32_t bytes; /* of a chunk */
        uint32_t life;  /* of the place: work is for */
    };
    bool flag;  /* of a chunk: the last of its frame; of a frame: it has been counted; of `down`: an
                  attempt to connect ends */
    bool rides; /* of a chunk and a frame: written, and read, with the one before */
    struct virtual_network_link *link;
    union {
        struct frame frame; /* of a chunk that is not the last: its class only */
        struct {
            virtual_network_call_function *function;
            void *context;
            uint64_t argument;
        } call;
        struct virtual_network_event *pending; /* what the core does then, or NULL */
        struct virtual_network_port *port;
    };
    union {
        uint64_t cost_ns; /* of work */
        uint64_t tail_ns; /* when the last byte of a chunk is where the first one was at time_ns */
    };
};

struct virtual_network_heap_item {
    uint64_t time_ns;
    uint64_t order; /* among equal times: as scheduled */
    struct virtual_network_event *event;
};

struct virtual_network {
    struct virtual_network_config config;
    struct random_state random;
    uint64_t now_ns;
    uint64_t order;
    uint64_t events_run;
    uint64_t frames_sent;
    uint64_t bytes_sent;
    struct virtual_network_heap_item *heap;
    size_t heap_count;
    size_t heap_capacity;
    struct virtual_network_event *spare;        /* events that are free */
    struct virtual_network_event_block *blocks; /* of memory for events */
    struct virtual_network_place *places;
    uint32_t slots;
    bool has_ports;
    bool has_cores;
    struct sim_machinery *machinery;
    struct virtual_network_uplink
        *uplinks; /* up and down of each switch; NULL: none cost anything */
    uint32_t switches;
    struct virtual_network_cpu_use cpu_use;
    int64_t cores_free;
    struct virtual_network_place *waiting_first; /* for a shared core */
    struct virtual_network_place *waiting_last;
    bool blocked[2][2];
    struct virtual_network_queue parked; /* what a partition holds back */
    virtual_network_trace_function *trace;
    void *trace_context;
};

/* virtual_network_way.c */
void virtual_network_way_init(struct virtual_network *net);
/* What the switches on the way from one slot to another add to the latency. */
uint64_t virtual_network_way_ns(const struct virtual_network *net, uint32_t from, uint32_t to);
/* The link of the chunk's stage, STAGE_UP or STAGE_DOWN, at its switch; NULL: none, or it costs nothing. */
struct virtual_network_uplink *virtual_network_way_link(const struct virtual_network *net,
                                                        const struct virtual_network_event *chunk,
                                                        uint64_t *ret_byte_ps);
/* To the next link, or the next stage: the first is STAGE_UP after STAGE_OUT. */
void virtual_network_way_on(const struct virtual_network *net, struct virtual_network_event *chunk);

/* virtual_network_event.c */
struct virtual_network_event *virtual_network_event_create(
    struct virtual_network *net, const struct virtual_network_event *value);
/* Releases what it holds. */
void virtual_network_event_free(struct virtual_network *net, struct virtual_network_event *event);
/* Into the heap, for event->time_ns. */
void virtual_network_event_push(struct virtual_network *net, struct virtual_network_event *event);
struct virtual_network_event *virtual_network_event_pop(struct virtual_network *net);
/* Takes a reference of value->link. */
void virtual_network_schedule(struct virtual_network *net,
                              const struct virtual_network_event *value);
void virtual_network_queue_append(struct virtual_network_queue *queue,
                                  struct virtual_network_event *event);
struct virtual_network_event *virtual_network_queue_pop(
    struct virtual_network_queue *queue); /* or NULL */
void virtual_network_events_fini(struct virtual_network *net);
void virtual_network_link_release(struct virtual_network_link *link);

/* virtual_network.c */
/* Delivers the event, to a stopped place when it continues.  The event is freed. */
void virtual_network_tell(struct virtual_network *net, struct virtual_network_event *event);

/* virtual_network_link.c */
/* Latency and jitter of a frame from one slot to another, and of anything sent to an end. */
uint64_t virtual_network_delay_ns(struct virtual_network *net, uint32_t from, uint32_t to);
uint64_t virtual_network_delay_to_ns(struct virtual_network *net, const struct end *end);
/* Nothing passes to that end now. */
bool virtual_network_is_blocked(const struct virtual_network *net,
                                const struct virtual_network_link *link, int side);
/* Sends something to an end: now, or when the network is whole again. */
void virtual_network_pass(struct virtual_network *net, const struct virtual_network_event *value);
void virtual_network_tell_trace(struct virtual_network *net, enum virtual_network_fact fact,
                                uint32_t from, uint32_t to, const struct frame *frame);
/* Reports to one end that the other is down. */
void virtual_network_schedule_down(struct virtual_network *net, struct virtual_network_link *link,
                                   int side, uint64_t time_ns);
/* The open end of a slot's link to a place, or NULL. */
struct end *virtual_network_end_find(const struct virtual_network *net, uint32_t slot,
                                     uint32_t peer);
/* Forgets the link at this end; the link may be freed. */
void virtual_network_end_close(struct virtual_network_link *link, int side);
bool virtual_network_end_is_open(const struct end *end);
/* When everything sent to this end so far will have arrived. */
uint64_t virtual_network_last_arrival_ns(const struct end *end);
/* The operation of a transport (fabric/transport.h). */
int virtual_network_connect(void *transport, uint32_t place, const struct addresses *addresses);
/* The attempt waits for a stopped place. */
void virtual_network_link_taken(struct virtual_network *net, struct virtual_network_link *link);
/* Events of a place: an attempt arrives, its answer arrives, a link ends. */
void virtual_network_link_accept(struct virtual_network *net, struct virtual_network_place *place,
                                 struct virtual_network_link *link);
void virtual_network_link_connected(struct virtual_network *net,
                                    struct virtual_network_place *place,
                                    struct virtual_network_link *link);
void virtual_network_link_down(struct virtual_network *net, struct virtual_network_place *place,
                               const struct virtual_network_event *event);

/* virtual_network_traffic.c */
void virtual_network_traffic_init(struct virtual_network *net);
/* Sends a frame to an end; takes its payload's reference. */
void virtual_network_traffic_send(struct virtual_network *net, struct end *to,
                                  const struct frame *frame);
void virtual_network_traffic_chunk(struct virtual_network *net,
                                   struct virtual_network_event *chunk);
void virtual_network_traffic_port(struct virtual_network *net, struct virtual_network_port *port);
/* A frame has arrived, or is lost. */
void virtual_network_traffic_arrived(struct virtual_network *net, struct end *end);
/* What a kill leaves in the ports' queues is freed with its link. */
void virtual_network_traffic_fini(struct virtual_network *net);

/* virtual_network_cpu.c */
void virtual_network_cpu_init(struct virtual_network *net);
/* Delivers an event to a place when its core has time. */
void virtual_network_cpu_do(struct virtual_network *net, struct virtual_network_event *event);
void virtual_network_cpu_done(struct virtual_network *net, struct virtual_network_place *place,
                              struct virtual_network_event *pending);
/* The cost of a frame to that end, excluding its bytes; and whether it is written together with the
 * previous one. */
uint64_t virtual_network_cpu_send_ns(struct virtual_network *net,
                                     struct virtual_network_place *place, struct end *to,
                                     bool *ret_rides);
/* Adds work of that duration to the core's queue; returns when it will be done. */
uint64_t virtual_network_cpu_charge(struct virtual_network *net,
                                    struct virtual_network_place *place, uint64_t cost_ns);
void virtual_network_cpu_fini(struct virtual_network *net);

#endif
