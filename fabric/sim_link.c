/* SPDX-License-Identifier: BSD-3-Clause */
/* Links, from the attempt to their end. */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "base/buffer.h"
#include "fabric/sim_internal.h"

#define CONNECT_NS 5000000000ull /* an attempt without an answer ends, as in fabric/link_set.c */

uint64_t sim_delay_ns(struct sim *sim, uint32_t from, uint32_t to)
{
    const struct sim_config *config = &sim->config;
    uint32_t switch_places = config->network.switch_places;
    uint64_t delay_ns = config->latency_ns + sim->places[from].delay_ns;

    if (switch_places > 0 && from / switch_places != to / switch_places)
        delay_ns += config->network.uplink_latency_ns;
    return delay_ns + (config->jitter_ns > 0 ? random_below(&sim->random, config->jitter_ns) : 0);
}

/* The delay of anything sent to an end. */
uint64_t sim_delay_to_ns(struct sim *sim, const struct end *end)
{
    return sim_delay_ns(sim, end->link->ends[1 - end->side].slot, end->slot);
}

bool sim_is_blocked(const struct sim *sim, const struct sim_link *link, int side)
{
    int from = sim->places[link->ends[1 - side].slot].side;

    return sim->blocked[from][sim->places[link->ends[side].slot].side];
}

/* Sends something to an end: now, or when the network is whole again. */
void sim_pass(struct sim *sim, const struct sim_event *value)
{
    if (sim_is_blocked(sim, value->link, value->side))
        sim_queue_append(&sim->parked, sim_event_create(sim, value));
    else
        sim_schedule(sim, value);
}

static void end_open(struct sim *sim, struct sim_link *link, int side, enum end_state state)
{
    struct end *end = &link->ends[side];

    assert(!list_node_is_linked(&end->node));
    end->state = (uint8_t)state;
    list_prepend(&sim->places[end->slot].links, &end->node);
    link->references++;
}

/* Forgets the link at this end; the link may be freed. */
void sim_end_close(struct sim_link *link, int side)
{
    struct end *end = &link->ends[side];

    assert(list_node_is_linked(&end->node));
    end->state = END_CLOSED;
    list_remove(&end->node);
    sim_link_release(link);
}

bool sim_end_is_open(const struct end *end)
{
    return end->state == END_CONNECTING || end->state == END_UP;
}

void sim_tell_trace(struct sim *sim, enum sim_fact fact, uint32_t from, uint32_t to,
                    const struct frame *frame)
{
    if (sim->trace != NULL)
        sim->trace(sim->trace_context, sim->now_ns, fact, from, to, frame);
}

void sim_schedule_down(struct sim *sim, struct sim_link *link, int side, uint64_t time_ns)
{
    sim_pass(sim, &(struct sim_event){.time_ns = time_ns,
                                      .kind = EVENT_DOWN,
                                      .side = (uint8_t)side,
                                      .slot = link->ends[side].slot,
                                      .link = link});
}

/* An attempt over a broken network ends after a while. */
static void schedule_timeout(struct sim *sim, struct sim_link *link)
{
    sim_schedule(sim, &(struct sim_event){.time_ns = sim->now_ns + CONNECT_NS,
                                          .kind = EVENT_DOWN,
                                          .flag = true,
                                          .slot = link->ends[0].slot,
                                          .link = link});
}

/* The open end of a slot's link to a place, or NULL. */
struct end *sim_end_find(const struct sim *sim, uint32_t slot, uint32_t peer)
{
    struct list_node *node;
    struct list_node *spare;

    list_for_each(&sim->places[slot].links, node, spare)
    {
        struct end *end = list_entry(node, struct end, node);

        if (end->link->ends[1 - end->side].place == peer)
            return end;
    }
    return NULL;
}

static struct sim_link *link_create(const struct sim_place *from, const struct sim_place *to)
{
    struct sim_link *link = memory_allocate_zeroed(sizeof(*link));

    for (int side = 0; side < 2; side++) {
        link->ends[side].link = link;
        link->ends[side].side = (uint8_t)side;
        link->ends[side].slot = side == 0 ? from->slot : to->slot;
        link->ends[side].place = side == 0 ? from->place : to->place;
        link->ends[side].cut_ns = UINT64_MAX;
        list_node_init(&link->ends[side].node);
    }
    return link;
}

/* When what was sent last to this end will have arrived. */
uint64_t sim_last_arrival_ns(const struct end *end)
{
    uint64_t last_ns = 0;

    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        if (end->last_ns[class] > last_ns)
            last_ns = end->last_ns[class];
    }
    return last_ns;
}

/* ---- connecting ---- */

int sim_connect(void *transport, uint32_t place, const struct addresses *addresses)
{
    struct sim_place *from = transport;
    struct sim *sim = from->sim;
    struct sim_link *link;

    (void)addresses;
    if (!from->alive || place >= sim->config.places || sim_end_find(sim, from->slot, place) != NULL)
        return -EALREADY;
    link = link_create(from, &sim->places[place]);
    end_open(sim, link, 0, END_CONNECTING);
    sim_pass(sim, &(struct sim_event){.time_ns = sim->now_ns + sim_delay_to_ns(sim, &link->ends[1]),
                                      .kind = EVENT_ACCEPT,
                                      .side = 1,
                                      .slot = place,
                                      .link = link});
    if (sim_is_blocked(sim, link, 1))
        schedule_timeout(sim, link);
    return 0;
}

static void answer(struct sim *sim, struct sim_link *link, uint64_t time_ns)
{
    sim_pass(sim, &(struct sim_event){.time_ns = time_ns,
                                      .kind = EVENT_CONNECTED,
                                      .side = 0,
                                      .slot = link->ends[0].slot,
                                      .link = link});
    if (sim_is_blocked(sim, link, 0))
        schedule_timeout(sim, link);
}

void sim_link_accept(struct sim *sim, struct sim_place *place, struct sim_link *link)
{
    struct end *from = &link->ends[0];
    const struct sim_place *peer = &sim->places[from->slot];
    uint64_t answer_ns = sim->now_ns + sim_delay_to_ns(sim, from);

    if (from->state != END_CONNECTING)
        return;
    if (!place->alive || place->secret != peer->secret ||
        sim_end_find(sim, place->slot, from->place) != NULL) {
        link->is_declined = place->alive && place->secret == peer->secret;
        link->is_refused = !place->alive;
        sim_schedule_down(sim, link, 0, answer_ns);
        return;
    }
    end_open(sim, link, 1, END_UP);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        from->last_ns[class] = answer_ns;
    answer(sim, link, answer_ns);
    sim_tell_trace(sim, SIM_FACT_UP, place->place, from->place, NULL);
    place->events->up(place->context, from->place, peer->incarnation);
}

void sim_link_connected(struct sim *sim, struct sim_place *place, struct sim_link *link)
{
    const struct end *peer = &link->ends[1];

    if (link->ends[0].state != END_CONNECTING)
        return;
    link->ends[0].state = END_UP;
    sim_tell_trace(sim, SIM_FACT_UP, place->place, peer->place, NULL);
    place->events->up(place->context, peer->place, sim->places[peer->slot].incarnation);
}

void sim_link_down(struct sim *sim, struct sim_place *place, const struct sim_event *event)
{
    struct error why = ERROR_NONE;
    struct sim_link *link = event->link;
    struct end *other = &link->ends[1 - event->side];

    if (!sim_end_is_open(&link->ends[event->side]))
        return;
    if (event->flag && link->ends[0].state != END_CONNECTING)
        return; /* it has been answered since */
    sim_end_close(link, event->side);
    if (event->flag && sim_end_is_open(other))
        sim_schedule_down(sim, link, other->side, sim->now_ns + sim_delay_to_ns(sim, other));
    sim_tell_trace(sim, SIM_FACT_DOWN, place->place, other->place, NULL);
    if (link->is_declined)
        error_set(&why, -EALREADY, "place %u has another link to us", other->place);
    else if (link->is_refused)
        error_set(&why, -ECONNREFUSED, "nobody listens at place %u", other->place);
    else
        error_set(&why, -ECONNRESET, "place %u has died", other->place);
    place->events->down(place->context, other->place, &why);
}
