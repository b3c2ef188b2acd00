/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cores of the simulated world.  A place does one thing at a time, in the order in which things
 * come: receiving a frame takes time before it is told, and what is sent in answer takes time
 * before it leaves.  Where all places share some cores, a place that has something to do waits for
 * one, in turn, and gives it up after one thing.
 */
#include "config.h"

#include <assert.h>

#include "base/message.h"
#include "fabric/sim_internal.h"

void sim_cpu_init(struct sim *sim)
{
    const struct sim_network *network = &sim->config.network;

    sim->has_cores = network->cpu_send_ns > 0 || network->cpu_send_byte_ps > 0 ||
                     network->cpu_receive_ns > 0 || network->cpu_receive_byte_ps > 0 ||
                     network->cpu_connect_ns > 0 || network->cpu_accept_ns > 0 ||
                     network->cores > 0;
    sim->cores_free = network->cores;
}

static bool is_shared(const struct sim *sim)
{
    return sim->config.network.cores > 0;
}

static uint64_t cost_ns(const struct sim *sim, const struct sim_event *event)
{
    const struct sim_network *network = &sim->config.network;
    uint64_t bytes;

    switch (event->kind) {
    case EVENT_FRAME:
        bytes = event->frame.payload != NULL ? event->frame.payload->length_bytes : 0;
        return network->cpu_receive_ns +
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

/* The place has a core and something to do. */
static void start(struct sim *sim, struct sim_place *place)
{
    struct sim_event *event = sim_queue_pop(&place->machinery->core.work);
    bool matters = place->alive || event->kind == EVENT_WORK;
    uint64_t time_ns = matters ? cost_ns(sim, event) * place->slow : 0;

    when_done(sim, place, sim->now_ns + time_ns, event);
}

static void begin(struct sim *sim, struct sim_place *place)
{
    struct sim_core *core = &place->machinery->core;

    core->busy = true;
    if (!is_shared(sim) || sim->cores_free > 0) {
        sim->cores_free--;
        start(sim, place);
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

    place->machinery->core.busy = false;
    sim->cores_free++;
    if (next != NULL && sim->cores_free > 0) {
        sim->waiting_first = next->machinery->core.waiting;
        sim->cores_free--;
        start(sim, next);
    }
    if (place->machinery->core.work.first != NULL)
        begin(sim, place);
}

void sim_cpu_do(struct sim *sim, struct sim_event *event)
{
    struct sim_place *place = &sim->places[event->slot];

    if (!sim->has_cores) {
        sim_tell(sim, event);
        return;
    }
    sim_queue_append(&place->machinery->core.work, event);
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
        release(sim, place);
}

/* What is charged from outside of the place's own doings takes a core that may not be free. */
uint64_t sim_cpu_charge(struct sim *sim, struct sim_place *place, uint64_t cost_ns)
{
    struct sim_core *core;

    if (!sim->has_cores)
        return sim->now_ns;
    core = &place->machinery->core;
    if (core->free_ns < sim->now_ns)
        core->free_ns = sim->now_ns;
    core->free_ns += cost_ns * place->slow;
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
