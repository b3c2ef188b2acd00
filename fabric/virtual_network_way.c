/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way of a chunk through the switches: up from the sender's to the lowest that is above both, then down.  The
 * links of a switch, to the one above it, are its uplink and its downlink.  With switch_places there is one level of
 * switches below one that is not modelled; with a fabric, any number of levels.
 *
 * Cost: O(levels) for each link that a chunk passes.
 */
#include "config.h"

#include <assert.h>

#include "base/memory.h"
#include "fabric/virtual_network_internal.h"

static const struct virtual_network_switch *switch_at(const struct virtual_network *net,
                                                      uint32_t number)
{
    assert(number < net->config.network.fabric->switches_count);
    return &net->config.network.fabric->switches[number];
}

static const struct virtual_network_port_at *port_at(const struct virtual_network *net,
                                                     uint32_t slot)
{
    const struct virtual_network_fabric *fabric = net->config.network.fabric;

    return &fabric->ports[slot < fabric->ports_count ? slot : fabric->ports_count - 1];
}

static uint32_t switch_of(const struct virtual_network *net, uint32_t slot)
{
    const struct virtual_network_model *network = &net->config.network;

    if (network->fabric != NULL)
        return port_at(net, slot)->top;
    return network->switch_places > 0 ? slot / network->switch_places : 0;
}

static int costs_bytes(const struct virtual_network *net)
{
    const struct virtual_network_fabric *fabric = net->config.network.fabric;

    if (fabric == NULL)
        return net->config.network.switch_places > 0 && net->config.network.uplink_byte_ps > 0;
    for (uint32_t i = 0; i < fabric->switches_count; i++)
        if (fabric->switches[i].up_byte_ps > 0 || fabric->switches[i].down_byte_ps > 0)
            return 1;
    return 0;
}

void virtual_network_way_init(struct virtual_network *net)
{
    const struct virtual_network_fabric *fabric = net->config.network.fabric;

    if (!costs_bytes(net))
        return;
    net->switches = fabric != NULL ? fabric->switches_count : switch_of(net, net->slots - 1) + 1;
    net->uplinks = memory_allocate_zeroed(2ull * net->switches * sizeof(*net->uplinks));
}

/* ---- with a fabric ---- */

/* The lowest switch above both, or one of them. */
static uint32_t meeting_switch(const struct virtual_network *net, uint32_t one, uint32_t other)
{
    while (one != other) {
        const struct virtual_network_switch *left = switch_at(net, one);
        const struct virtual_network_switch *right = switch_at(net, other);

        if (left->depth >= right->depth)
            one = left->parent;
        if (right->depth >= left->depth)
            other = right->parent;
        if (one == VIRTUAL_NETWORK_NO_SWITCH || other == VIRTUAL_NETWORK_NO_SWITCH)
            return VIRTUAL_NETWORK_NO_SWITCH;
    }
    return one;
}

/* The switch below `above` on the way down to one, which it is not. */
static uint32_t switch_below(const struct virtual_network *net, uint32_t above, uint32_t one)
{
    while (switch_at(net, one)->parent != above)
        one = switch_at(net, one)->parent;
    return one;
}

static uint64_t fabric_way_ns(const struct virtual_network *net, uint32_t from, uint32_t to)
{
    const struct virtual_network_port_at *start = port_at(net, from), *end = port_at(net, to);
    uint32_t meeting = meeting_switch(net, start->top, end->top);
    uint64_t way_ns = start->up_latency_ns + end->down_latency_ns;

    if (meeting == VIRTUAL_NETWORK_NO_SWITCH)
        return way_ns;
    for (uint32_t at = start->top; at != meeting; at = switch_at(net, at)->parent)
        way_ns += switch_at(net, at)->up_latency_ns;
    for (uint32_t at = end->top; at != meeting; at = switch_at(net, at)->parent)
        way_ns += switch_at(net, at)->down_latency_ns;
    return way_ns + switch_at(net, meeting)->across_latency_ns;
}

uint64_t virtual_network_way_ns(const struct virtual_network *net, uint32_t from, uint32_t to)
{
    const struct virtual_network_model *network = &net->config.network;

    if (network->fabric != NULL)
        return from != to ? fabric_way_ns(net, from, to) : 0;
    return switch_of(net, from) != switch_of(net, to) ? network->uplink_latency_ns : 0;
}

/* ---- links ---- */

/* Of both ends of the way. */
struct ends {
    uint32_t from;
    uint32_t to;
    uint32_t meeting;
};

static struct ends ends_of(const struct virtual_network *net,
                           const struct virtual_network_event *chunk)
{
    struct ends ends = {.from = switch_of(net, chunk->link->ends[1 - chunk->side].slot),
                        .to = switch_of(net, chunk->slot)};

    ends.meeting = VIRTUAL_NETWORK_NO_SWITCH;
    if (ends.from == ends.to)
        ends.meeting = ends.from;
    else if (net->config.network.fabric != NULL)
        ends.meeting = meeting_switch(net, ends.from, ends.to);
    return ends;
}

struct virtual_network_uplink *virtual_network_way_link(const struct virtual_network *net,
                                                        const struct virtual_network_event *chunk,
                                                        uint64_t *ret_byte_ps)
{
    const struct virtual_network_model *network = &net->config.network;
    int is_up = chunk->stage == STAGE_UP;

    assert(is_up || chunk->stage == STAGE_DOWN);
    if (net->uplinks == NULL || chunk->at == VIRTUAL_NETWORK_NO_SWITCH)
        return NULL;
    *ret_byte_ps = network->uplink_byte_ps;
    if (network->fabric != NULL)
        *ret_byte_ps =
            is_up ? switch_at(net, chunk->at)->up_byte_ps : switch_at(net, chunk->at)->down_byte_ps;
    return *ret_byte_ps > 0 ? &net->uplinks[2 * chunk->at + (is_up ? 0 : 1)] : NULL;
}

/* Where a way has no link of a stage it stands at no switch. */
static void go_up(const struct virtual_network *net, struct virtual_network_event *chunk)
{
    struct ends ends = ends_of(net, chunk);

    chunk->stage = STAGE_UP;
    chunk->at = ends.from != ends.meeting ? ends.from : VIRTUAL_NETWORK_NO_SWITCH;
    if (net->config.network.fabric != NULL && ends.meeting == VIRTUAL_NETWORK_NO_SWITCH)
        chunk->at = VIRTUAL_NETWORK_NO_SWITCH;
}

static void go_down(const struct virtual_network *net, struct virtual_network_event *chunk)
{
    struct ends ends = ends_of(net, chunk);

    chunk->stage = STAGE_DOWN;
    chunk->at = VIRTUAL_NETWORK_NO_SWITCH;
    if (ends.to == ends.meeting)
        return;
    if (net->config.network.fabric == NULL)
        chunk->at = ends.to;
    else if (ends.meeting != VIRTUAL_NETWORK_NO_SWITCH)
        chunk->at = switch_below(net, ends.meeting, ends.to);
}

void virtual_network_way_on(const struct virtual_network *net, struct virtual_network_event *chunk)
{
    int has_levels = net->config.network.fabric != NULL && net->uplinks != NULL &&
                     chunk->at != VIRTUAL_NETWORK_NO_SWITCH;

    if (net->uplinks == NULL && chunk->stage < STAGE_DOWN) {
        chunk->stage++;
    } else if (chunk->stage == STAGE_OUT) {
        go_up(net, chunk);
    } else if (chunk->stage == STAGE_UP) {
        uint32_t above = has_levels ? switch_at(net, chunk->at)->parent : 0;

        if (has_levels && above != ends_of(net, chunk).meeting)
            chunk->at = above;
        else
            go_down(net, chunk);
    } else if (chunk->stage == STAGE_DOWN && has_levels && chunk->at != ends_of(net, chunk).to) {
        chunk->at = switch_below(net, chunk->at, ends_of(net, chunk).to);
    } else {
        chunk->stage++;
    }
}
