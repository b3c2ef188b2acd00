/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulated network.  A frame leaves as chunks of at most 64 KiB, as those of a real link do.
 * Each chunk passes the sender's port, with several switches the shared uplinks of those on the way up and
 * the downlinks of those on the way down, and the receiver's port: each carries one chunk at a time, control
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
#include "fabric/virtual_network_internal.h"

#define CHUNK_BYTES (64u * 1024) /* LINK_CHUNK_BYTES */

void virtual_network_traffic_init(struct virtual_network *net)
{
    const struct virtual_network_model *network = &net->config.network;

    virtual_network_way_init(net);
    net->has_ports =
        network->send_byte_ps > 0 || network->receive_byte_ps > 0 || net->uplinks != NULL;
}

/* ---- ports of a way ---- */

static uint32_t sender_of(const struct virtual_network_event *chunk)
{
    return chunk->link->ends[1 - chunk->side].slot;
}

/* The port of the chunk's stage, or NULL if the stage costs nothing. */
static struct virtual_network_port *port_of(const struct virtual_network *net,
                                            const struct virtual_network_event *chunk,
                                            uint64_t *ret_byte_ps)
{
    const struct virtual_network_model *network = &net->config.network;
    struct virtual_network_place *place = &net->places[chunk->slot];
    struct virtual_network_uplink *uplink;

    switch (chunk->stage) {
    case STAGE_OUT:
        place = &net->places[sender_of(chunk)];
        *ret_byte_ps = network->send_byte_ps * place->slow;
        return *ret_byte_ps > 0 ? &place->machinery->out : NULL;
    case STAGE_IN:
        *ret_byte_ps = network->receive_byte_ps * place->slow;
        return *ret_byte_ps > 0 ? &place->machinery->in : NULL;
    default:
        uplink = virtual_network_way_link(net, chunk, ret_byte_ps);
        return uplink != NULL ? &uplink->port : NULL;
    }
}

static struct virtual_network_flow *flow_of(const struct virtual_network *net,
                                            const struct virtual_network_event *chunk)
{
    struct virtual_network_link *link = chunk->link;
    uint64_t byte_ps;

    if (chunk->stage == STAGE_UP || chunk->stage == STAGE_DOWN)
        return &virtual_network_way_link(net, chunk, &byte_ps)->flows[chunk->class];
    if (link->flows == NULL)
        link->flows = memory_allocate_zeroed(sizeof *link->flows);
    return &link->flows->items[chunk->side][chunk->stage == STAGE_IN][chunk->class];
}

/* ---- one chunk ---- */

/* Through the network itself: FIFO within a class of a link, whatever the jitter. */
static void cross_network(struct virtual_network *net, struct virtual_network_event *chunk)
{
    uint64_t *last_ns = &chunk->link->ends[chunk->side].last_ns[chunk->class];
    uint64_t arrival_ns =
        chunk->time_ns + virtual_network_delay_ns(net, sender_of(chunk), chunk->slot);

    if (arrival_ns < *last_ns)
        arrival_ns = *last_ns;
    *last_ns = arrival_ns;
    chunk->tail_ns += arrival_ns - chunk->time_ns;
    chunk->time_ns = arrival_ns;
}

/* From a stage to the next that costs something, or to its end. */
static void pass_on(struct virtual_network *net, struct virtual_network_event *chunk)
{
    uint64_t byte_ps;

    do {
        int was_up = chunk->stage <= STAGE_UP;

        virtual_network_way_on(net, chunk);
        if (was_up && chunk->stage > STAGE_UP)
            cross_network(net, chunk);
    } while (chunk->stage < STAGE_COUNT && port_of(net, chunk, &byte_ps) == NULL);
    if (chunk->stage < STAGE_COUNT) {
        virtual_network_event_push(net, chunk);
    } else if (chunk->flag) {
        chunk->kind = EVENT_FRAME;
        chunk->flag = false;
        chunk->time_ns = chunk->tail_ns;
        virtual_network_event_push(net, chunk);
    } else {
        virtual_network_event_free(net, chunk);
    }
}

static void carry_chunk(struct virtual_network *net, struct virtual_network_port *port,
                        struct virtual_network_event *chunk, uint64_t byte_ps)
{
    port->free_ns = net->now_ns + (chunk->bytes * byte_ps + 999) / 1000;
    chunk->time_ns = net->now_ns;
    if (chunk->tail_ns < port->free_ns)
        chunk->tail_ns = port->free_ns;
    pass_on(net, chunk);
}

/* ---- ports ---- */

static void append_turn(struct virtual_network_turns *turns, struct virtual_network_flow *flow)
{
    flow->next = NULL;
    if (turns->first == NULL)
        turns->first = flow;
    else
        turns->last->next = flow;
    turns->last = flow;
}

static struct virtual_network_event *take_turn(struct virtual_network_port *port)
{
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        struct virtual_network_turns *turns = &port->turns[class];
        struct virtual_network_flow *flow = turns->first;
        struct virtual_network_event *chunk;

        if (flow == NULL)
            continue;
        turns->first = flow->next;
        chunk = virtual_network_queue_pop(&flow->chunks);
        if (flow->chunks.first != NULL)
            append_turn(turns, flow);
        return chunk;
    }
    return NULL;
}

static void look_again(struct virtual_network *net, struct virtual_network_port *port)
{
    port->scheduled = true;
    virtual_network_schedule(net, &(struct virtual_network_event){
                                      .kind = EVENT_PORT, .time_ns = port->free_ns, .port = port});
}

void virtual_network_traffic_chunk(struct virtual_network *net, struct virtual_network_event *chunk)
{
    uint64_t byte_ps;
    struct virtual_network_port *port = port_of(net, chunk, &byte_ps);
    struct virtual_network_flow *flow;

    assert(chunk->kind == EVENT_CHUNK && chunk->stage < STAGE_COUNT);
    if (port == NULL) {
        pass_on(net, chunk);
        return;
    }
    if (!port->scheduled && port->free_ns <= net->now_ns) {
        carry_chunk(net, port, chunk, byte_ps);
        return;
    }
    flow = flow_of(net, chunk);
    if (flow->chunks.first == NULL)
        append_turn(&port->turns[chunk->class], flow);
    virtual_network_queue_append(&flow->chunks, chunk);
    if (!port->scheduled)
        look_again(net, port);
}

static bool is_waited_for(const struct virtual_network_port *port)
{
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        if (port->turns[class].first != NULL)
            return true;
    return false;
}

void virtual_network_traffic_port(struct virtual_network *net, struct virtual_network_port *port)
{
    struct virtual_network_event *chunk = take_turn(port);
    uint64_t byte_ps;

    assert(chunk != NULL && port->scheduled);
    port->scheduled = false;
    (void)port_of(net, chunk, &byte_ps);
    carry_chunk(net, port, chunk, byte_ps);
    if (is_waited_for(port))
        look_again(net, port);
}

/* ---- frames ---- */

static void send_chunk(struct virtual_network *net, struct end *to, const struct frame *frame,
                       uint32_t bytes, bool is_last, bool rides, uint64_t ready_ns)
{
    struct virtual_network_event value = {.kind = EVENT_CHUNK,
                                          .time_ns = ready_ns,
                                          .tail_ns = ready_ns,
                                          .side = to->side,
                                          .stage = STAGE_OUT,
                                          .class = frame->class,
                                          .slot = to->slot,
                                          .bytes = bytes,
                                          .link = to->link};
    struct virtual_network_event *chunk = virtual_network_event_create(net, &value);

    chunk->frame = *frame;
    chunk->flag = is_last;
    chunk->rides = rides;
    if (ready_ns > net->now_ns)
        virtual_network_event_push(net, chunk);
    else
        virtual_network_traffic_chunk(net, chunk);
}

void virtual_network_traffic_send(struct virtual_network *net, struct end *to,
                                  const struct frame *frame)
{
    const struct virtual_network_model *network = &net->config.network;
    struct virtual_network_place *from = &net->places[to->link->ends[1 - to->side].slot];
    size_t left = FRAME_HEADER_BYTES;
    bool rides;
    uint64_t cost_ns = virtual_network_cpu_send_ns(net, from, to, &rides);
    struct frame piece = {.class = frame->class};

    left += frame->payload != NULL ? frame->payload->length_bytes : 0;
    to->flying++;
    for (uint32_t bytes; left > 0; left -= bytes) {
        bytes = left < CHUNK_BYTES ? (uint32_t)left : CHUNK_BYTES;
        cost_ns += bytes * network->cpu_send_byte_ps / 1000;
        send_chunk(net, to, bytes == left ? frame : &piece, bytes, bytes == left, rides,
                   virtual_network_cpu_charge(net, from, cost_ns));
        cost_ns = 0;
    }
}

void virtual_network_traffic_arrived(struct virtual_network *net, struct end *end)
{
    assert(end->flying > 0);
    end->flying--;
    if (end->flying == 0 && end->closing)
        virtual_network_schedule_down(net, end->link, end->side, net->now_ns);
}

static void drop_port(struct virtual_network *net, struct virtual_network_port *port)
{
    struct virtual_network_event *chunk;

    while ((chunk = take_turn(port)) != NULL)
        virtual_network_event_free(net, chunk);
}

void virtual_network_traffic_fini(struct virtual_network *net)
{
    for (uint32_t slot = 0; net->machinery != NULL && slot < net->slots; slot++) {
        drop_port(net, &net->machinery[slot].out);
        drop_port(net, &net->machinery[slot].in);
    }
    for (uint32_t i = 0; net->uplinks != NULL && i < 2 * net->switches; i++)
        drop_port(net, &net->uplinks[i].port);
    free(net->uplinks);
    free(net->machinery);
}
