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
#include "fabric/sim_internal.h"

#define SLICE_NS 3000000ull /* the time slice Linux grants on a contended core */

void sim_cpu_init(struct sim *sim)
{
    const struct sim_network *network = &sim->config.network;

    sim->has_cores = network->cpu_send_ns > 0 || network->cpu_send_byte_ps > 0 ||
                     network->cpu_receive_ns > 0 || network->cpu_receive_byte_ps > 0 ||
                     network->cpu_connect_ns > 0 || network->cpu_accept_ns > 0 ||
                     network->cpu_wake_ns > 0 || network->cpu_read_ns > 0 ||
                     network->cpu_write_ns > 0 || network->cores > 0;
    sim->cores_free = network->cores;
}

static bool is_shared(const struct sim *sim)
{
    return sim->config.network.cores > 0;
}

/* Frames of one link that wait are read at once. */
static uint64_t read_ns(struct sim *sim, struct sim_core *core, const struct sim_event *event)
{
    if (event->rides || core->read == event->link)
        return 0;
    core->read = event->link;
    sim->cpu_use.reads++;
    return sim->config.network.cpu_read_ns;
}

static uint64_t cost_ns(struct sim *sim, struct sim_core *core, const struct sim_event *event)
{
    const struct sim_network *network = &sim->config.network;
    uint64_t bytes;

    switch (event->kind) {
    case EVENT_FRAME:
        bytes = event->frame.payload != NULL ? event->frame.payload->length_bytes : 0;
        return read_ns(sim, core, event) + network->cpu_receive_ns +
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

static void when_done(struct sim *sim, struct sim_place *place, uint64_t time_ns,
                      struct sim_event *pending)
{
    sim_schedule(
        sim, &(struct sim_event){
                 .kind = EVENT_CORE, .time_ns = time_ns, .slot = place->slot, .pending = pending});
}

static uint64_t use(struct sim *sim, const struct sim_place *place, uint64_t cost_ns)
{
    sim->cpu_use.time_ns += cost_ns * place->slow;
    return cost_ns * place->slow;
}

/* The place has a core and something to do. */
static void start(struct sim *sim, struct sim_place *place, uint64_t more_ns)
{
    struct sim_core *core = &place->machinery->core;
    struct sim_event *event = sim_queue_pop(&core->work);
    bool matters = place->alive || event->kind == EVENT_WORK;
    uint64_t time_ns = matters ? more_ns + cost_ns(sim, core, event) : 0;

    core->queued--;
    core->batch--;
    when_done(sim, place, sim->now_ns + use(sim, place, time_ns), event);
}

static void start_turn(struct sim *sim, struct sim_place *place, uint64_t more_ns)
{
    struct sim_core *core = &place->machinery->core;

    core->turn++;
    core->batch = core->queued;
    core->read = NULL;
    start(sim, place, more_ns);
}

static uint64_t wake_ns(const struct sim *sim, const struct sim_core *core)
{
    const struct sim_network *network = &sim->config.network;
    uint64_t others = sim->cpu_use.wakes - core->wakes;

    if (!is_shared(sim) || others == 0)
        return network->cpu_wake_ns;
    return network->cpu_wake_ns + network->cpu_cold_ns * others / (others + network->cache_places);
}

static void wake(struct sim *sim, struct sim_place *place)
{
    struct sim_core *core = &place->machinery->core;
    uint64_t cost_ns = wake_ns(sim, core);

    assert(core->busy && core->queued > 0);
    sim->cores_free--;
    sim->cpu_use.wakes++;
    core->since_ns = sim->now_ns;
    core->wakes = sim->cpu_use.wakes;
    start_turn(sim, place, cost_ns);
}

static void begin(struct sim *sim, struct sim_place *place)
{
    struct sim_core *core = &place->machinery->core;

    core->busy = true;
    if (!is_shared(sim) || sim->cores_free > 0) {
        wake(sim, place);
        return;
    }
    core->waiting = NULL;
    if (sim->waiting_first == NULL)
        sim->waiting_first = place;
    else
        sim->waiting_last->machinery->core.waiting = place;
    sim->waiting_last = place;
}

static void release(struct sim *sim, struct sim_place *place)
{
    struct sim_place *next = sim->waiting_first;

    assert(place->machinery->core.busy);
    place->machinery->core.busy = false;
    sim->cores_free++;
    if (next != NULL && sim->cores_free > 0) {
        sim->waiting_first = next->machinery->core.waiting;
        wake(sim, next);
    }
    if (place->machinery->core.queued > 0)
        begin(sim, place);
}

/* The core has finished one piece of work. */
static void go_on(struct sim *sim, struct sim_place *place)
{
    struct sim_core *core = &place->machinery->core;

    if (core->batch > 0)
        start(sim, place, 0);
    else if (core->queued > 0 &&
             (sim->waiting_first == NULL || sim->now_ns < core->since_ns + SLICE_NS))
        start_turn(sim, place, 0);
    else
        release(sim, place);
}

void sim_cpu_do(struct sim *sim, struct sim_event *event)
{
    struct sim_place *place = &sim->places[event->slot];

    if (!sim->has_cores) {
        sim_tell(sim, event);
        return;
    }
    sim_queue_append(&place->machinery->core.work, event);
    place->machinery->core.queued++;
    if (!place->machinery->core.busy)
        begin(sim, place);
}

void sim_cpu_done(struct sim *sim, struct sim_place *place, struct sim_event *pending)
{
    struct sim_core *core = &place->machinery->core;

    if (pending != NULL) {
        if (core->free_ns < sim->now_ns)
            core->free_ns = sim->now_ns;
        sim_tell(sim, pending);
    }
    if (core->free_ns > sim->now_ns)
        when_done(sim, place, core->free_ns, NULL);
    else
        go_on(sim, place);
}

/* What a place sends over one link in one turn is written at once. */
uint64_t sim_cpu_send_ns(struct sim *sim, struct sim_place *place, struct end *to, bool *ret_rides)
{
    const struct sim_network *network = &sim->config.network;
    struct sim_core *core = &place->machinery->core;

    *ret_rides = core->busy && to->turn == core->turn;
    if (*ret_rides)
        return network->cpu_send_ns;
    if (!core->busy)
        core->turn++;
    to->turn = core->turn;
    sim->cpu_use.writes++;
    return network->cpu_send_ns + network->cpu_write_ns;
}

/* A charge while the place is idle needs a core, which may not be free. */
uint64_t sim_cpu_charge(struct sim *sim, struct sim_place *place, uint64_t cost_ns)
{
    struct sim_core *core;

    if (!sim->has_cores)
        return sim->now_ns;
    core = &place->machinery->core;
    if (core->free_ns < sim->now_ns)
        core->free_ns = sim->now_ns;
    core->free_ns += use(sim, place, cost_ns);
    if (!core->busy && cost_ns > 0) {
        core->busy = true;
        sim->cores_free--;
        when_done(sim, place, core->free_ns, NULL);
    }
    return core->free_ns;
}

void sim_cpu_fini(struct sim *sim)
{
    for (uint32_t slot = 0; sim->has_cores && slot < sim->slots; slot++) {
        struct sim_event *event;

        while ((event = sim_queue_pop(&sim->places[slot].machinery->core.work)) != NULL)
            sim_event_free(sim, event);
    }
}
