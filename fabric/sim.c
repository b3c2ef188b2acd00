/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/message.h"
#include "fabric/sim_internal.h"

/* ---- requests of a place ---- */

/* The frame arrives truncated, or with one byte altered. */
static void damage_frame(struct sim_place *from, struct frame *frame)
{
    struct random_state *random = &from->sim->random;
    struct message *payload = frame->payload;
    size_t bytes = payload != NULL ? payload->length_bytes : 0;
    size_t at = bytes > 0 ? random_below(random, bytes) : 0;

    if (bytes == 0) {
        frame->type = (uint8_t)random_below(random, 256);
    } else if (from->damage == SIM_DAMAGE_TRUNCATE) {
        frame->payload = message_create(payload->data, at);
        message_release(payload);
    } else {
        frame->payload = message_create(payload->data, bytes);
        frame->payload->data[at] ^= (unsigned char)(1 + random_below(random, 255));
        message_release(payload);
    }
    from->damage = SIM_DAMAGE_NONE;
}

/* Takes the frame's payload. */
static void frame_leaves(struct sim *sim, struct end *to, const struct frame *frame)
{
    uint64_t time_ns;
    struct sim_event value = {.kind = EVENT_FRAME,
                              .side = to->side,
                              .stage = STAGE_COUNT,
                              .class = frame->class,
                              .slot = to->slot,
                              .link = to->link};

    if (sim->machinery != NULL && !sim_is_blocked(sim, to->link, to->side)) {
        sim_network_send(sim, to, frame);
        return;
    }
    time_ns = sim->now_ns + sim_delay_to_ns(sim, to);
    if (time_ns < to->last_ns[frame->class])
        time_ns = to->last_ns[frame->class];
    to->last_ns[frame->class] = time_ns;
    value.time_ns = time_ns;
    value.frame = *frame;
    to->flying++;
    sim_pass(sim, &value);
}

static int transport_send(void *transport, uint32_t place, const struct frame *frame)
{
    struct sim_place *from = transport;
    struct sim *sim = from->sim;
    struct end *end = sim_end_find(sim, from->slot, place);
    struct frame damaged = *frame;

    if (end == NULL || end->state != END_UP) {
        message_release(frame->payload);
        return -ENOTCONN;
    }
    sim->frames_sent++;
    sim->bytes_sent += FRAME_HEADER_BYTES;
    sim->bytes_sent += frame->payload != NULL ? frame->payload->length_bytes : 0;
    if (from->damage == SIM_DAMAGE_LOSE) {
        from->damage = SIM_DAMAGE_NONE;
        message_release(frame->payload);
        return 0;
    }
    if (from->damage != SIM_DAMAGE_NONE)
        damage_frame(from, &damaged);
    frame_leaves(sim, &end->link->ends[1 - end->side], &damaged);
    sim_tell_trace(sim, SIM_FACT_SEND, from->place, place, &damaged); /* which may kill a place */
    return 0;
}

static void transport_close(void *transport, uint32_t place)
{
    struct sim_place *from = transport;
    struct sim *sim = from->sim;
    struct end *end = sim_end_find(sim, from->slot, place);
    uint64_t time_ns;
    struct end *other;

    if (end == NULL)
        return;
    other = &end->link->ends[1 - end->side];
    time_ns = sim->now_ns + sim_delay_to_ns(sim, other);
    if (time_ns < sim_last_arrival_ns(other))
        time_ns = sim_last_arrival_ns(other);
    if (sim->machinery != NULL && other->flying > 0)
        other->closing = true;
    else if (sim_end_is_open(other))
        sim_schedule_down(sim, end->link, other->side, time_ns);
    sim_end_close(end->link, end->side);
}

static uint64_t transport_now_ns(void *transport)
{
    return ((struct sim_place *)transport)->sim->now_ns;
}

static void transport_timer(void *transport, uint64_t deadline_ns)
{
    struct sim_place *place = transport;
    struct sim *sim = place->sim;

    place->timer_ns = deadline_ns;
    if (deadline_ns == UINT64_MAX)
        return;
    if (deadline_ns < sim->now_ns)
        place->timer_ns = deadline_ns = sim->now_ns;
    sim_schedule(
        sim, &(struct sim_event){.time_ns = deadline_ns, .kind = EVENT_TIMER, .slot = place->slot});
}

const struct transport_ops *sim_transport_ops(void)
{
    static const struct transport_ops ops = {
        .name = "sim",
        .connect = sim_connect,
        .send = transport_send,
        .close = transport_close,
        .now_ns = transport_now_ns,
        .timer = transport_timer,
    };

    return &ops;
}

/* ---- events of a place ---- */

static void run_frame(struct sim *sim, struct sim_place *place, const struct sim_event *event)
{
    const struct end *end = &event->link->ends[event->side];

    if (end->state == END_UP && sim->now_ns <= end->cut_ns)
        place->events->frame(place->context, event->link->ends[1 - event->side].place,
                             &event->frame);
}

static void run_timer(struct sim *sim, struct sim_place *place)
{
    if (place->timer_ns > sim->now_ns)
        return; /* set to another time since */
    place->timer_ns = UINT64_MAX;
    place->events->timer(place->context);
}

static void run_event(struct sim *sim, struct sim_place *place, const struct sim_event *event)
{
    switch (event->kind) {
    case EVENT_ACCEPT:
        sim_link_accept(sim, place, event->link);
        break;
    case EVENT_CONNECTED:
        sim_link_connected(sim, place, event->link);
        break;
    case EVENT_DOWN:
        sim_link_down(sim, place, event);
        break;
    case EVENT_FRAME:
        run_frame(sim, place, event);
        break;
    case EVENT_WORK:
        if (event->life == place->life)
            event->call.function(event->call.context, event->call.argument);
        break;
    default:
        run_timer(sim, place);
    }
}

void sim_tell(struct sim *sim, struct sim_event *event)
{
    struct sim_place *place = &sim->places[event->slot];

    if (place->stopped && place->alive) {
        if (event->kind == EVENT_ACCEPT)
            sim_link_taken(sim, event->link);
        sim_queue_append(&place->deferred, event);
        return;
    }
    if (place->alive || event->kind == EVENT_ACCEPT || event->kind == EVENT_WORK)
        run_event(sim, place, event);
    sim_event_free(sim, event);
}

/* Delivers an event to a place, when its core has time. */
static void place_event(struct sim *sim, struct sim_event *event)
{
    const struct sim_place *place = &sim->places[event->slot];

    if (event->kind == EVENT_FRAME && !event->flag) {
        event->flag = true;
        sim_network_arrived(sim, &event->link->ends[event->side]);
    }
    if (place->stopped && place->alive)
        sim_tell(sim, event);
    else
        sim_cpu_do(sim, event);
}

static void world_event(struct sim *sim, struct sim_event *event)
{
    struct sim_event *pending;

    switch (event->kind) {
    case EVENT_CALL:
        event->call.function(event->call.context, event->call.argument);
        break;
    case EVENT_CHUNK:
        sim_network_chunk(sim, event);
        return;
    case EVENT_PORT:
        sim_network_port(sim, event->port);
        break;
    default:
        pending = event->pending;
        event->pending = NULL;
        sim_cpu_done(sim, &sim->places[event->slot], pending);
    }
    sim_event_free(sim, event);
}

int sim_step(struct sim *sim)
{
    struct sim_event *event;

    if (sim->heap_count == 0)
        return 0;
    event = sim_event_pop(sim);
    assert(event->time_ns >= sim->now_ns);
    sim->now_ns = event->time_ns;
    sim->events_run++;
    if (event->kind < EVENT_CALL)
        place_event(sim, event);
    else
        world_event(sim, event);
    return 1;
}

void sim_run_until(struct sim *sim, uint64_t time_ns)
{
    while (sim->heap_count > 0 && sim->heap[0].time_ns <= time_ns)
        sim_step(sim);
    if (sim->now_ns < time_ns)
        sim->now_ns = time_ns;
}

/* ---- faults ---- */

void sim_kill(struct sim *sim, uint32_t slot)
{
    struct sim_place *place = &sim->places[slot];
    struct list *links = &place->links;

    if (!place->alive)
        return;
    sim_tell_trace(sim, SIM_FACT_KILL, place->place, place->place, NULL);
    place->alive = false;
    place->life++;
    while (!list_is_empty(links)) {
        struct end *end = list_entry(list_first(links), struct end, node);
        struct end *other = &end->link->ends[1 - end->side];
        uint64_t cut_ns =
            sim->now_ns + random_below(&sim->random, 2 * sim_delay_to_ns(sim, other) + 1);

        /* The peer notices then; anything that would arrive later is lost. */
        other->cut_ns = cut_ns;
        if (sim_end_is_open(other))
            sim_schedule_down(sim, end->link, other->side, cut_ns);
        sim_end_close(end->link, end->side);
    }
}

int sim_is_alive(const struct sim *sim, uint32_t place)
{
    assert(place < sim->slots);
    return sim->places[place].alive;
}

void sim_stop(struct sim *sim, uint32_t place)
{
    assert(place < sim->slots);
    sim_tell_trace(sim, SIM_FACT_STOP, place, place, NULL);
    sim->places[place].stopped = true;
}

void sim_continue(struct sim *sim, uint32_t place)
{
    struct sim_place *stopped = &sim->places[place];
    struct sim_event *event;

    sim_tell_trace(sim, SIM_FACT_CONTINUE, place, place, NULL);
    stopped->stopped = false;
    while ((event = sim_queue_pop(&stopped->deferred)) != NULL) {
        event->time_ns = sim->now_ns;
        sim_event_push(sim, event);
    }
}

void sim_break(struct sim *sim, uint32_t a, uint32_t b)
{
    struct end *end = sim_end_find(sim, a, b);

    if (end == NULL)
        end = sim_end_find(sim, b, a);
    if (end == NULL)
        return;
    for (int side = 0; side < 2; side++) {
        struct end *cut = &end->link->ends[side];
        uint64_t cut_ns =
            sim->now_ns + random_below(&sim->random, 2 * sim_delay_to_ns(sim, cut) + 1);

        cut->cut_ns = cut_ns;
        sim_schedule_down(sim, end->link, side, cut_ns);
    }
}

void sim_set_secret(struct sim *sim, uint32_t slot, uint32_t secret)
{
    assert(slot < sim->slots);
    sim->places[slot].secret = secret;
}

void sim_set_slow(struct sim *sim, uint32_t slot, uint32_t factor)
{
    assert(factor > 0);
    assert(slot < sim->slots);
    sim->places[slot].slow = factor;
}

void sim_set_delay(struct sim *sim, uint32_t slot, uint64_t delay_ns)
{
    assert(slot < sim->slots);
    sim->places[slot].delay_ns = delay_ns;
}

void sim_damage(struct sim *sim, uint32_t slot, enum sim_damage damage)
{
    assert(slot < sim->slots);
    sim->places[slot].damage = (uint8_t)damage;
}

void sim_set_side(struct sim *sim, uint32_t slot, int side)
{
    sim->places[slot].side = (uint8_t)(side != 0);
}

/* Events held back arrive in the order in which they were sent. */
static void let_go(struct sim *sim, struct sim_event *event)
{
    struct end *end = &event->link->ends[event->side];

    event->time_ns = sim->now_ns + sim_delay_to_ns(sim, end);
    if (event->time_ns < sim_last_arrival_ns(end))
        event->time_ns = sim_last_arrival_ns(end);
    if (event->kind == EVENT_FRAME)
        end->last_ns[event->class] = event->time_ns;
    sim_event_push(sim, event);
}

void sim_set_blocked(struct sim *sim, int from_side, int to_side, int blocked)
{
    struct sim_queue parked = sim->parked;
    struct sim_event *event;

    sim->blocked[from_side != 0][to_side != 0] = blocked != 0;
    sim->parked = (struct sim_queue){0};
    while ((event = sim_queue_pop(&parked)) != NULL) {
        if (sim_is_blocked(sim, event->link, event->side))
            sim_queue_append(&sim->parked, event);
        else
            let_go(sim, event);
    }
}

/* ---- life ---- */

struct sim *sim_create(const struct sim_config *config)
{
    struct sim *sim = memory_allocate_zeroed(sizeof(*sim));

    assert(config->places > 0);
    sim->config = *config;
    sim->slots = config->places + config->strangers;
    random_init(&sim->random, config->seed);
    sim_network_init(sim);
    sim_cpu_init(sim);
    if (sim->has_ports || sim->has_cores)
        sim->machinery = memory_allocate_zeroed(sim->slots * sizeof(*sim->machinery));
    sim->places = memory_allocate_zeroed(sim->slots * sizeof(*sim->places));
    for (uint32_t i = 0; i < sim->slots; i++) {
        sim->places[i].sim = sim;
        sim->places[i].slot = i;
        sim->places[i].place = i;
        sim->places[i].slow = 1;
        sim->places[i].timer_ns = UINT64_MAX;
        sim->places[i].machinery = sim->machinery != NULL ? &sim->machinery[i] : NULL;
        list_init(&sim->places[i].links);
    }
    return sim;
}

static void drop_queue(struct sim *sim, struct sim_queue *queue)
{
    struct sim_event *event;

    while ((event = sim_queue_pop(queue)) != NULL)
        sim_event_free(sim, event);
}

static void place_fini(struct sim_place *place)
{
    while (!list_is_empty(&place->links)) {
        struct end *end = list_entry(list_first(&place->links), struct end, node);

        sim_end_close(end->link, end->side);
    }
    drop_queue(place->sim, &place->deferred);
}

void sim_destroy(struct sim *sim)
{
    if (sim == NULL)
        return;
    for (uint32_t i = 0; i < sim->slots; i++)
        place_fini(&sim->places[i]);
    drop_queue(sim, &sim->parked);
    sim_cpu_fini(sim);
    sim_network_fini(sim);
    sim_events_fini(sim);
    free(sim->places);
    free(sim);
}

void sim_set_trace(struct sim *sim, sim_trace_function *function, void *context)
{
    sim->trace = function;
    sim->trace_context = context;
}

void *sim_transport(struct sim *sim, uint32_t place)
{
    assert(place < sim->slots);
    return &sim->places[place];
}

void sim_address(uint32_t place, struct addresses *ret_addresses)
{
    memset(ret_addresses, 0, sizeof(*ret_addresses));
    ret_addresses->count = 1;
    ret_addresses->items[0].length_bytes = sizeof(place);
    for (size_t i = 0; i < sizeof(place); i++)
        ret_addresses->items[0].bytes[i] = (uint8_t)(place >> (8 * i));
}

void sim_attach(struct sim *sim, uint32_t place, uint32_t incarnation,
                const struct transport_events *events, void *context)
{
    sim_attach_as(sim, place, place, incarnation, events, context);
}

void sim_attach_as(struct sim *sim, uint32_t slot, uint32_t place, uint32_t incarnation,
                   const struct transport_events *events, void *context)
{
    struct sim_place *attached = &sim->places[slot];

    assert(slot < sim->slots && events != NULL);
    assert(!attached->alive && (slot == place || slot >= sim->config.places));
    drop_queue(sim, &attached->deferred);
    attached->place = place;
    attached->alive = true;
    attached->stopped = false;
    attached->timer_ns = UINT64_MAX;
    attached->incarnation = incarnation;
    attached->events = events;
    attached->context = context;
}

uint64_t sim_now_ns(const struct sim *sim)
{
    return sim->now_ns;
}

void sim_at(struct sim *sim, uint64_t time_ns, sim_call_function *function, void *context,
            uint64_t argument)
{
    sim_schedule(sim, &(struct sim_event){.time_ns = time_ns,
                                          .kind = EVENT_CALL,
                                          .call = {function, context, argument}});
}

void sim_work(struct sim *sim, uint32_t slot, uint64_t time_ns, uint64_t cost_ns,
              sim_call_function *function, void *context, uint64_t argument)
{
    assert(slot < sim->slots && function != NULL);
    sim_schedule(sim, &(struct sim_event){.time_ns = time_ns,
                                          .kind = EVENT_WORK,
                                          .slot = slot,
                                          .life = sim->places[slot].life,
                                          .cost_ns = cost_ns,
                                          .call = {function, context, argument}});
}

void sim_charge(struct sim *sim, uint32_t slot, uint64_t cost_ns)
{
    (void)sim_cpu_charge(sim, &sim->places[slot], cost_ns);
}

uint64_t sim_events_run(const struct sim *sim)
{
    return sim->events_run;
}

uint64_t sim_frames_sent(const struct sim *sim)
{
    return sim->frames_sent;
}

struct sim_cpu_use sim_cpu_used(const struct sim *sim)
{
    return sim->cpu_use;
}

uint64_t sim_bytes_sent(const struct sim *sim)
{
    return sim->bytes_sent;
}
