/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links, from the attempt to their end.  When an attempt is refused, how often and how long it is
 * tried, and what it ends with, is the same as in fabric/link_set.c and fabric/link_attempt.c.
 */
#include "config.h"

#include <assert.h>
#include <errno.h>

#include "base/buffer.h"
#include "fabric/virtual_network_internal.h"

uint64_t virtual_network_delay_ns(struct virtual_network *net, uint32_t from, uint32_t to)
{
    const struct virtual_network_config *config = &net->config;
    uint64_t delay_ns =
        config->latency_ns + net->places[from].delay_ns + virtual_network_way_ns(net, from, to);

    return delay_ns + (config->jitter_ns > 0 ? random_below(&net->random, config->jitter_ns) : 0);
}

/* The delay of anything sent to an end. */
uint64_t virtual_network_delay_to_ns(struct virtual_network *net, const struct end *end)
{
    return virtual_network_delay_ns(net, end->link->ends[1 - end->side].slot, end->slot);
}

bool virtual_network_is_blocked(const struct virtual_network *net,
                                const struct virtual_network_link *link, int side)
{
    int from = net->places[link->ends[1 - side].slot].side;

    return net->blocked[from][net->places[link->ends[side].slot].side];
}

/* Sends something to an end: now, or when the network is whole again. */
void virtual_network_pass(struct virtual_network *net, const struct virtual_network_event *value)
{
    if (virtual_network_is_blocked(net, value->link, value->side))
        virtual_network_queue_append(&net->parked, virtual_network_event_create(net, value));
    else
        virtual_network_schedule(net, value);
}

static void end_open(struct virtual_network *net, struct virtual_network_link *link, int side,
                     enum end_state state)
{
    struct end *end = &link->ends[side];

    assert(!list_is_linked(&end->node));
    end->state = (uint8_t)state;
    list_prepend(&net->places[end->slot].links, &end->node);
    link->references++;
}

/* Forgets the link at this end; the link may be freed. */
void virtual_network_end_close(struct virtual_network_link *link, int side)
{
    struct end *end = &link->ends[side];

    assert(list_is_linked(&end->node));
    end->state = END_CLOSED;
    list_remove(&end->node);
    virtual_network_link_release(link);
}

bool virtual_network_end_is_open(const struct end *end)
{
    return end->state == END_CONNECTING || end->state == END_UP;
}

void virtual_network_tell_trace(struct virtual_network *net, enum virtual_network_fact fact,
                                uint32_t from, uint32_t to, const struct frame *frame)
{
    if (net->trace != NULL)
        net->trace(net->trace_context, net->now_ns, fact, from, to, frame);
}

void virtual_network_schedule_down(struct virtual_network *net, struct virtual_network_link *link,
                                   int side, uint64_t time_ns)
{
    virtual_network_pass(net, &(struct virtual_network_event){.time_ns = time_ns,
                                                              .kind = EVENT_DOWN,
                                                              .side = (uint8_t)side,
                                                              .slot = link->ends[side].slot,
                                                              .link = link});
}

static void schedule_timeout(struct virtual_network *net, struct virtual_network_link *link)
{
    virtual_network_schedule(
        net, &(struct virtual_network_event){
                 .time_ns = link->deadline_ns > net->now_ns ? link->deadline_ns : net->now_ns,
                 .kind = EVENT_DOWN,
                 .flag = true,
                 .slot = link->ends[0].slot,
                 .link = link});
}

/* The open end of a slot's link to a place, or NULL. */
struct end *virtual_network_end_find(const struct virtual_network *net, uint32_t slot,
                                     uint32_t peer)
{
    struct list_link *node;
    struct list_link *spare;

    list_for_each(&net->places[slot].links, node, spare)
    {
        struct end *end = list_entry(node, struct end, node);

        if (end->link->ends[1 - end->side].place == peer)
            return end;
    }
    return NULL;
}

static struct virtual_network_link *link_create(const struct virtual_network_place *from,
                                                const struct virtual_network_place *to)
{
    struct virtual_network_link *link = memory_allocate_zeroed(sizeof(*link));

    for (int side = 0; side < 2; side++) {
        link->ends[side].link = link;
        link->ends[side].side = (uint8_t)side;
        link->ends[side].slot = side == 0 ? from->slot : to->slot;
        link->ends[side].place = side == 0 ? from->place : to->place;
        link->incarnations[side] = side == 0 ? from->incarnation : to->incarnation;
        link->ends[side].cut_ns = UINT64_MAX;
        list_link_init(&link->ends[side].node);
    }
    return link;
}

/* When what was sent last to this end will have arrived. */
uint64_t virtual_network_last_arrival_ns(const struct end *end)
{
    uint64_t last_ns = 0;

    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        if (end->last_ns[class] > last_ns)
            last_ns = end->last_ns[class];
    }
    return last_ns;
}

/* ---- connecting ---- */

static void ask_for_link(struct virtual_network *net, struct virtual_network_link *link,
                         uint64_t wait_ns)
{
    virtual_network_pass(net, &(struct virtual_network_event){
                                  .time_ns = net->now_ns + wait_ns +
                                             virtual_network_delay_to_ns(net, &link->ends[1]),
                                  .kind = EVENT_ACCEPT,
                                  .side = 1,
                                  .slot = link->ends[1].slot,
                                  .link = link});
    if (virtual_network_is_blocked(net, link, 1))
        schedule_timeout(net, link);
}

int virtual_network_connect(void *transport, uint32_t place, const struct addresses *addresses)
{
    struct virtual_network_place *from = transport;
    struct virtual_network *net = from->net;
    struct virtual_network_link *link;

    (void)addresses;
    if (!from->alive || place >= net->config.places ||
        virtual_network_end_find(net, from->slot, place) != NULL)
        return -EALREADY;
    link = link_create(from, &net->places[place]);
    link->deadline_ns = net->now_ns + TRANSPORT_ATTEMPT_NS;
    end_open(net, link, 0, END_CONNECTING);
    ask_for_link(net, link, 0);
    return 0;
}

void virtual_network_link_taken(struct virtual_network *net, struct virtual_network_link *link)
{
    if (link->ends[0].state != END_CONNECTING)
        return;
    link->is_taken = true;
    schedule_timeout(net, link);
}

static void answer_connect(struct virtual_network *net, struct virtual_network_link *link,
                           uint64_t time_ns)
{
    virtual_network_pass(net, &(struct virtual_network_event){.time_ns = time_ns,
                                                              .kind = EVENT_CONNECTED,
                                                              .side = 0,
                                                              .slot = link->ends[0].slot,
                                                              .link = link});
    if (virtual_network_is_blocked(net, link, 0))
        schedule_timeout(net, link);
}

/* The old link of a place that was restarted: its process no longer exists. */
static void replace_link(struct virtual_network *net, struct virtual_network_place *place,
                         struct end *old)
{
    uint32_t peer = old->link->ends[1 - old->side].place;
    struct error why;

    error_set(&why, -ESTALE, "place %u was restarted", peer);
    virtual_network_end_close(old->link, old->side);
    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_DOWN, place->place, peer, NULL);
    place->events->down(place->context, peer, &why);
}

/* Decides between an existing link or attempt of the two places and a new one.  Returns true if the
 * existing one is removed. */
static bool gives_way(struct virtual_network *net, struct virtual_network_place *place,
                      struct end *old, struct virtual_network_link *link)
{
    if (old->state == END_CONNECTING) {
        link->is_crossed = place->place < link->ends[0].place;
        if (link->is_crossed)
            schedule_timeout(net, link); /* in case ours never arrives */
        else
            virtual_network_end_close(old->link, old->side);
        return !link->is_crossed;
    }
    if (link->incarnations[0] <= old->link->incarnations[1 - old->side]) {
        link->is_declined = true;
        virtual_network_schedule_down(
            net, link, 0, net->now_ns + virtual_network_delay_to_ns(net, &link->ends[0]));
        return false;
    }
    replace_link(net, place, old);
    return place->alive && link->ends[0].state == END_CONNECTING; /* the upcall may have ended us */
}

void virtual_network_link_accept(struct virtual_network *net, struct virtual_network_place *place,
                                 struct virtual_network_link *link)
{
    struct end *from = &link->ends[0];
    const struct virtual_network_place *peer = &net->places[from->slot];
    struct end *old = virtual_network_end_find(net, place->slot, from->place);
    uint64_t answer_ns;

    if (from->state != END_CONNECTING)
        return;
    if (!place->alive || place->secret != peer->secret) {
        link->is_refused = !place->alive;
        virtual_network_schedule_down(net, link, 0,
                                      net->now_ns + virtual_network_delay_to_ns(net, from));
        return;
    }
    if (old != NULL && !gives_way(net, place, old, link))
        return;
    answer_ns = net->now_ns + virtual_network_delay_to_ns(net, from);
    link->incarnations[1] = place->incarnation;
    end_open(net, link, 1, END_UP);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        from->last_ns[class] = answer_ns;
    answer_connect(net, link, answer_ns);
    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_UP, place->place, from->place, NULL);
    place->events->up(place->context, from->place, link->incarnations[0]);
}

void virtual_network_link_connected(struct virtual_network *net,
                                    struct virtual_network_place *place,
                                    struct virtual_network_link *link)
{
    const struct end *peer = &link->ends[1];

    if (link->ends[0].state != END_CONNECTING)
        return;
    link->ends[0].state = END_UP;
    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_UP, place->place, peer->place, NULL);
    place->events->up(place->context, peer->place, net->places[peer->slot].incarnation);
}

/* The other end may not know yet that the old link is closed. */
static bool tries_again(struct virtual_network *net, struct virtual_network_link *link)
{
    if (!link->is_declined || link->retries == TRANSPORT_RETRIES_MAX)
        return false;
    link->is_declined = false;
    ask_for_link(net, link, TRANSPORT_RETRY_NS << link->retries++);
    return true;
}

/* The codes are those of fabric/transport.h. */
static void say_why(const struct virtual_network_link *link, const struct end *other,
                    bool is_timeout, struct error *ret_why)
{
    if (is_timeout && link->is_taken)
        error_set(ret_why, -ETIME, "place %u accepts the connection but sends nothing",
                  other->place);
    else if (is_timeout && link->is_crossed)
        error_set(ret_why, -ECONNABORTED, "both places connected at once");
    else if (is_timeout)
        error_set(ret_why, -ETIMEDOUT, "place %u does not answer", other->place);
    else if (link->is_declined)
        error_set(ret_why, -EEXIST, "place %u has another link to us", other->place);
    else if (link->is_refused)
        error_set(ret_why, -ECONNREFUSED, "nobody listens at place %u", other->place);
    else
        error_set(ret_why, -ECONNRESET, "place %u has died", other->place);
}

void virtual_network_link_down(struct virtual_network *net, struct virtual_network_place *place,
                               const struct virtual_network_event *event)
{
    struct error why = ERROR_NONE;
    struct virtual_network_link *link = event->link;
    struct end *other = &link->ends[1 - event->side];

    if (!virtual_network_end_is_open(&link->ends[event->side]))
        return;
    if (event->flag && link->ends[0].state != END_CONNECTING)
        return; /* it has been answered since */
    if (!event->flag && link->ends[0].state == END_CONNECTING && tries_again(net, link))
        return;
    virtual_network_end_close(link, event->side);
    if (event->flag && virtual_network_end_is_open(other))
        virtual_network_schedule_down(net, link, other->side,
                                      net->now_ns + virtual_network_delay_to_ns(net, other));
    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_DOWN, place->place, other->place, NULL);
    say_why(link, other, event->flag, &why);
    place->events->down(place->context, other->place, &why);
}
