/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated network.  A frame leaves as chunks of at most 64 KiB, as those of a real link do.
 * Each chunk passes the sender's port, with several switches the shared uplink of its switch and
 * the downlink of the other, and the receiver's port: each carries one chunk at a time, control
 * before collective before bulk and the links of a class in turn (at shared links: in order of
 * arrival).  Chunks are cut through, so on an idle path the bytes cost once, at the slowest wire.
 * A frame has arrived when its last chunk has.
 *
 * Cost: a port that is free takes a chunk at once; one that is busy takes one more event for it.
 */
#include "config.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/message.h"
#include "fabric/sim_internal.h"

#define CHUNK_BYTES (64u * 1024) /* LINK_CHUNK_BYTES */

void sim_network_init(struct sim *sim)
{
    const struct sim_network *network = &sim->config.network;
    uint32_t switches;

    sim->has_ports = network->send_byte_ps > 0 || network->receive_byte_ps > 0 ||
                     (network->switch_places > 0 && network->uplink_byte_ps > 0);
    if (network->switch_places > 0 && network->uplink_byte_ps > 0) {
        switches = (sim->slots - 1) / network->switch_places + 1;
        sim->uplinks = memory_allocate_zeroed(2ull * switches * sizeof *sim->uplinks);
    }
}

/* ---- ways ---- */

static uint32_t switch_of(const struct sim *sim, uint32_t slot)
{
    uint32_t size = sim->config.network.switch_places;

    return size > 0 ? slot / size : 0;
}

static uint32_t sender_of(const struct sim_event *chunk)
{
    return chunk->link->ends[1 - chunk->side].slot;
}

static struct sim_uplink *uplink_of(const struct sim *sim, const struct sim_event *chunk)
{
    uint32_t from = switch_of(sim, sender_of(chunk));
    uint32_t to = switch_of(sim, chunk->slot);

    if (from == to || sim->uplinks == NULL)
        return NULL;
    return &sim->uplinks[chunk->stage == STAGE_UP ? 2 * from : 2 * to + 1];
}

/* The port of the chunk's stage, or NULL if the stage costs nothing. */
static struct sim_port *port_of(const struct sim *sim, const struct sim_event *chunk,
                                uint64_t *ret_byte_ps)
{
    const struct sim_network *network = &sim->config.network;
    struct sim_place *place = &sim->places[chunk->slot];
    struct sim_uplink *uplink;

    switch (chunk->stage) {
    case STAGE_OUT:
        place = &sim->places[sender_of(chunk)];
        *ret_byte_ps = network->send_byte_ps * place->slow;
        return *ret_byte_ps > 0 ? &place->machinery->out : NULL;
    case STAGE_IN:
        *ret_byte_ps = network->receive_byte_ps * place->slow;
        return *ret_byte_ps > 0 ? &place->machinery->in : NULL;
    default:
        uplink = uplink_of(sim, chunk);
        *ret_byte_ps = network->uplink_byte_ps;
        return uplink != NULL ? &uplink->port : NULL;
    }
}

static struct sim_flow *flow_of(const struct sim *sim, const struct sim_event *chunk)
{
    struct sim_link *link = chunk->link;

    if (chunk->stage == STAGE_UP || chunk->stage == STAGE_DOWN)
        return &uplink_of(sim, chunk)->flows[chunk->class];
    if (link->flows == NULL)
        link->flows = memory_allocate_zeroed(sizeof *link->flows);
    return &link->flows->items[chunk->side][chunk->stage == STAGE_IN][chunk->class];
}

/* ---- one chunk ---- */

/* Through the network itself: FIFO within a class of a link, whatever the jitter. */
static void cross(struct sim *sim, struct sim_event *chunk)
{
    uint64_t *last_ns = &chunk->link->ends[chunk->side].last_ns[chunk->class];
    uint64_t arrival_ns = chunk->time_ns + sim_delay_ns(sim, sender_of(chunk), chunk->slot);

    if (arrival_ns < *last_ns)
        arrival_ns = *last_ns;
    *last_ns = arrival_ns;
    chunk->tail_ns += arrival_ns - chunk->time_ns;
    chunk->time_ns = arrival_ns;
}

/* From a stage to the next that costs something, or to its end. */
static void pass_on(struct sim *sim, struct sim_event *chunk)
{
    uint64_t byte_ps;

    do {
        if (chunk->stage == STAGE_UP)
            cross(sim, chunk);
        chunk->stage++;
    } while (chunk->stage < STAGE_COUNT && port_of(sim, chunk, &byte_ps) == NULL);
    if (chunk->stage < STAGE_COUNT) {
        sim_event_push(sim, chunk);
    } else if (chunk->flag) {
        chunk->kind = EVENT_FRAME;
        chunk->flag = false;
        chunk->time_ns = chunk->tail_ns;
        sim_event_push(sim, chunk);
    } else {
        sim_event_free(sim, chunk);
    }
}

static void carry(struct sim *sim, struct sim_port *port, struct sim_event *chunk, uint64_t byte_ps)
{
    port->free_ns = sim->now_ns + (chunk->bytes * byte_ps + 999) / 1000;
    chunk->time_ns = sim->now_ns;
    if (chunk->tail_ns < port->free_ns)
        chunk->tail_ns = port->free_ns;
    pass_on(sim, chunk);
}

/* ---- ports ---- */

static void append_turn(struct sim_turns *turns, struct sim_flow *flow)
{
    flow->next = NULL;
    if (turns->first == NULL)
        turns->first = flow;
    else
        turns->last->next = flow;
    turns->last = flow;
}

static struct sim_event *take_turn(struct sim_port *port)
{
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        struct sim_turns *turns = &port->turns[class];
        struct sim_flow *flow = turns->first;
        struct sim_event *chunk;

        if (flow == NULL)
            continue;
        turns->first = flow->next;
        chunk = sim_queue_pop(&flow->chunks);
        if (flow->chunks.first != NULL)
            append_turn(turns, flow);
        return chunk;
    }
    return NULL;
}

static void look_again(struct sim *sim, struct sim_port *port)
{
    port->scheduled = true;
    sim_schedule(sim,
                 &(struct sim_event){.kind = EVENT_PORT, .time_ns = port->free_ns, .port = port});
}

void sim_network_chunk(struct sim *sim, struct sim_event *chunk)
{
    uint64_t byte_ps;
    struct sim_port *port = port_of(sim, chunk, &byte_ps);
    struct sim_flow *flow;

    assert(chunk->kind == EVENT_CHUNK && chunk->stage < STAGE_COUNT);
    if (port == NULL) {
        pass_on(sim, chunk);
        return;
    }
    if (!port->scheduled && port->free_ns <= sim->now_ns) {
        carry(sim, port, chunk, byte_ps);
        return;
    }
    flow = flow_of(sim, chunk);
    if (flow->chunks.first == NULL)
        append_turn(&port->turns[chunk->class], flow);
    sim_queue_append(&flow->chunks, chunk);
    if (!port->scheduled)
        look_again(sim, port);
}

static bool is_waited_for(const struct sim_port *port)
{
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        if (port->turns[class].first != NULL)
            return true;
    return false;
}

void sim_network_port(struct sim *sim, struct sim_port *port)
{
    struct sim_event *chunk = take_turn(port);
    uint64_t byte_ps;

    assert(chunk != NULL && port->scheduled);
    port->scheduled = false;
    (void)port_of(sim, chunk, &byte_ps);
    carry(sim, port, chunk, byte_ps);
    if (is_waited_for(port))
        look_again(sim, port);
}

/* ---- frames ---- */

static void send_chunk(struct sim *sim, struct end *to, const struct frame *frame, uint32_t bytes,
                       bool is_last, bool rides, uint64_t ready_ns)
{
    struct sim_event value = {.kind = EVENT_CHUNK,
                              .time_ns = ready_ns,
                              .tail_ns = ready_ns,
                              .side = to->side,
                              .stage = STAGE_OUT,
                              .class = frame->class,
                              .slot = to->slot,
                              .bytes = bytes,
                              .link = to->link};
    struct sim_event *chunk = sim_event_create(sim, &value);

    chunk->frame = *frame;
    chunk->flag = is_last;
    chunk->rides = rides;
    if (ready_ns > sim->now_ns)
        sim_event_push(sim, chunk);
    else
        sim_network_chunk(sim, chunk);
}

void sim_network_send(struct sim *sim, struct end *to, const struct frame *frame)
{
    const struct sim_network *network = &sim->config.network;
    struct sim_place *from = &sim->places[to->link->ends[1 - to->side].slot];
    size_t left = FRAME_HEADER_BYTES;
    bool rides;
    uint64_t cost_ns = sim_cpu_send_ns(sim, from, to, &rides);
    struct frame piece = {.class = frame->class};

    left += frame->payload != NULL ? frame->payload->length_bytes : 0;
    to->flying++;
    for (uint32_t bytes; left > 0; left -= bytes) {
        bytes = left < CHUNK_BYTES ? (uint32_t)left : CHUNK_BYTES;
        cost_ns += bytes * network->cpu_send_byte_ps / 1000;
        send_chunk(sim, to, bytes == left ? frame : &piece, bytes, bytes == left, rides,
                   sim_cpu_charge(sim, from, cost_ns));
        cost_ns = 0;
    }
}

void sim_network_arrived(struct sim *sim, struct end *end)
{
    assert(end->flying > 0);
    end->flying--;
    if (end->flying == 0 && end->closing)
        sim_schedule_down(sim, end->link, end->side, sim->now_ns);
}

static void drop_port(struct sim *sim, struct sim_port *port)
{
    struct sim_event *chunk;

    while ((chunk = take_turn(port)) != NULL)
        sim_event_free(sim, chunk);
}

void sim_network_fini(struct sim *sim)
{
    uint32_t switches = sim->uplinks != NULL ? switch_of(sim, sim->slots - 1) + 1 : 0;

    for (uint32_t slot = 0; sim->machinery != NULL && slot < sim->slots; slot++) {
        drop_port(sim, &sim->machinery[slot].out);
        drop_port(sim, &sim->machinery[slot].in);
    }
    for (uint32_t i = 0; i < 2 * switches; i++)
        drop_port(sim, &sim->uplinks[i].port);
    free(sim->uplinks);
    free(sim->machinery);
}
