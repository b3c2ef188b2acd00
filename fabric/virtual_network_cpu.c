/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cores of the simulated world.  A place does one thing at a time, in order of arrival:
 * receiving a frame takes time before it is delivered, and an answer takes time before it leaves.
 * Like a daemon's loop, a place works in turns: it handles what had arrived when the turn began,
 * and what it sends over one link meanwhile is one write.  Where all places share some cores, a
 * place that has something to do waits for one, in turn, and keeps it until it has nothing left to
 * do; if others wait, for at most SLICE_NS and the turn in which they end.
 */
#include "config.h"

#include <assert.h>

#include "base/message.h"
#include "fabric/virtual_network_internal.h"

#define SLICE_NS 3000000ull /* the time slice Linux grants on a contended core */

void virtual_network_cpu_init(struct virtual_network *net)
{
    const struct virtual_network_model *network = &net->config.network;

    net->has_cores = network->cpu_send_ns > 0 || network->cpu_send_byte_ps > 0 ||
                     network->cpu_receive_ns > 0 || network->cpu_receive_byte_ps > 0 ||
                     network->cpu_connect_ns > 0 || network->cpu_accept_ns > 0 ||
                     network->cpu_wake_ns > 0 || network->cpu_read_ns > 0 ||
                     network->cpu_write_ns > 0 || network->cores > 0;
    net->cores_free = network->cores;
}

static bool is_shared(const struct virtual_network *net)
{
    return net->config.network.cores > 0;
}

/* Frames of one link that wait are read at once. */
static uint64_t read_ns(struct virtual_network *net, struct sim_core *core,
                        const struct virtual_network_event *event)
{
    if (event->rides || core->read == event->link)
        return 0;
    core->read = event->link;
    net->cpu_use.reads++;
    return net->config.network.cpu_read_ns;
}

static uint64_t cost_ns(struct virtual_network *net, struct sim_core *core,
                        const struct virtual_network_event *event)
{
    const struct virtual_network_model *network = &net->config.network;
    uint64_t bytes;

    switch (event->kind) {
    case EVENT_FRAME:
        bytes = event->frame.payload != NULL ? event->frame.payload->length_bytes : 0;
        return read_ns(net, core, event) + network->cpu_receive_ns +
               network->cpu_receive_byte_ps * (FRAME_HEADER_BYTES + bytes) / 1000;
    case EVENT_ACCEPT:
        return network->cpu_accept_ns;
    case EVENT_CONNECTED:
        return network->cpu_connect_ns;
    case EVENT_WORK:
        return event->cost_ns;
    default:
        return 0;
    }
}

static void when_done(struct virtual_network *net, struct virtual_network_place *place,
                      uint64_t time_ns, struct virtual_network_event *pending)
{
    virtual_network_schedule(
        net, &(struct virtual_network_event){
                 .kind = EVENT_CORE, .time_ns = time_ns, .slot = place->slot, .pending = pending});
}

static uint64_t use_cpu(struct virtual_network *net, const struct virtual_network_place *place,
                        uint64_t cost_ns)
{
    net->cpu_use.time_ns += cost_ns * place->slow;
    return cost_ns * place->slow;
}

/* The place has a core and something to do. */
static void start_work(struct virtual_network *net, struct virtual_network_place *place,
                       uint64_t more_ns)
{
    struct sim_core *core = &place->machinery->core;
    struct virtual_network_event *event = virtual_network_queue_pop(&core->work);
    bool matters = place->alive || event->kind == EVENT_WORK;
    uint64_t time_ns = matters ? more_ns + cost_ns(net, core, event) : 0;

    core->queued--;
    core->batch--;
    when_done(net, place, net->now_ns + use_cpu(net, place, time_ns), event);
}

static void start_turn(struct virtual_network *net, struct virtual_network_place *place,
                       uint64_t more_ns)
{
    struct sim_core *core = &place->machinery->core;

    core->turn++;
    core->batch = core->queued;
    core->read = NULL;
    start_work(net, place, more_ns);
}

static uint64_t wake_ns(const struct virtual_network *net, const struct sim_core *core)
{
    const struct virtual_network_model *network = &net->config.network;
    uint64_t others = net->cpu_use.wakes - core->wakes;

    if (!is_shared(net) || others == 0)
        return network->cpu_wake_ns;
    return network->cpu_wake_ns + network->cpu_cold_ns * others / (others + network->cache_places);
}

static void wake_core(struct virtual_network *net, struct virtual_network_place *place)
{
    struct sim_core *core = &place->machinery->core;
    uint64_t cost_ns = wake_ns(net, core);

    assert(core->busy && core->queued > 0);
    net->cores_free--;
    net->cpu_use.wakes++;
    core->since_ns = net->now_ns;
    core->wakes = net->cpu_use.wakes;
    start_turn(net, place, cost_ns);
}

static void claim_core(struct virtual_network *net, struct virtual_network_place *place)
{
    struct sim_core *core = &place->machinery->core;

    core->busy = true;
    if (!is_shared(net) || net->cores_free > 0) {
        wake_core(net, place);
        return;
    }
    core->waiting = NULL;
    if (net->waiting_first == NULL)
        net->waiting_first = place;
    else
        net->waiting_last->machinery->core.waiting = place;
    net->waiting_last = place;
}

static void release_core(struct virtual_network *net, struct virtual_network_place *place)
{
    struct virtual_network_place *next = net->waiting_first;

    assert(place->machinery->core.busy);
    place->machinery->core.busy = false;
    net->cores_free++;
    if (next != NULL && net->cores_free > 0) {
        net->waiting_first = next->machinery->core.waiting;
        wake_core(net, next);
    }
    if (place->machinery->core.queued > 0)
        claim_core(net, place);
}

/* The core has finished one piece of work. */
static void go_on(struct virtual_network *net, struct virtual_network_place *place)
{
    struct sim_core *core = &place->machinery->core;

    if (core->batch > 0)
        start_work(net, place, 0);
    else if (core->queued > 0 &&
             (net->waiting_first == NULL || net->now_ns < core->since_ns + SLICE_NS))
        start_turn(net, place, 0);
    else
        release_core(net, place);
}

void virtual_network_cpu_do(struct virtual_network *net, struct virtual_network_event *event)
{
    struct virtual_network_place *place = &net->places[event->slot];

    if (!net->has_cores) {
        virtual_network_tell(net, event);
        return;
    }
    virtual_network_queue_append(&place->machinery->core.work, event);
    place->machinery->core.queued++;
    if (!place->machinery->core.busy)
        claim_core(net, place);
}

void virtual_network_cpu_done(struct virtual_network *net, struct virtual_network_place *place,
                              struct virtual_network_event *pending)
{
    struct sim_core *core = &place->machinery->core;

    if (pending != NULL) {
        if (core->free_ns < net->now_ns)
            core->free_ns = net->now_ns;
        virtual_network_tell(net, pending);
    }
    if (core->free_ns > net->now_ns)
        when_done(net, place, core->free_ns, NULL);
    else
        go_on(net, place);
}

/* What a place sends over one link in one turn is written at once. */
uint64_t virtual_network_cpu_send_ns(struct virtual_network *net,
                                     struct virtual_network_place *place, struct end *to,
                                     bool *ret_rides)
{
    const struct virtual_network_model *network = &net->config.network;
    struct sim_core *core = &place->machinery->core;

    *ret_rides = core->busy && to->turn == core->turn;
    if (*ret_rides)
        return network->cpu_send_ns;
    if (!core->busy)
        core->turn++;
    to->turn = core->turn;
    net->cpu_use.writes++;
    return network->cpu_send_ns + network->cpu_write_ns;
}

/* A charge while the place is idle needs a core, which may not be free. */
uint64_t virtual_network_cpu_charge(struct virtual_network *net,
                                    struct virtual_network_place *place, uint64_t cost_ns)
{
    struct sim_core *core;

    if (!net->has_cores)
        return net->now_ns;
    core = &place->machinery->core;
    if (core->free_ns < net->now_ns)
        core->free_ns = net->now_ns;
    core->free_ns += use_cpu(net, place, cost_ns);
    if (!core->busy && cost_ns > 0) {
        core->busy = true;
        net->cores_free--;
        when_done(net, place, core->free_ns, NULL);
    }
    return core->free_ns;
}

void virtual_network_cpu_fini(struct virtual_network *net)
{
    for (uint32_t slot = 0; net->has_cores && slot < net->slots; slot++) {
        struct virtual_network_event *event;

        while ((event = virtual_network_queue_pop(&net->places[slot].machinery->core.work)) != NULL)
            virtual_network_event_free(net, event);
    }
}
