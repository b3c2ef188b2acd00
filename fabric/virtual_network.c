/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/virtual_network.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/message.h"
#include "fabric/virtual_network_internal.h"

/* ---- requests of a place ---- */

/* The frame arrives truncated, or with one byte altered. */
static void damage_frame(struct virtual_network_place *from, struct frame *frame)
{
    struct random_state *random = &from->net->random;
    struct message *payload = frame->payload;
    size_t bytes = payload != NULL ? payload->length_bytes : 0;
    size_t at = bytes > 0 ? random_below(random, bytes) : 0;

    if (bytes == 0) {
        frame->type = (uint8_t)random_below(random, 256);
    } else if (from->damage == VIRTUAL_NETWORK_DAMAGE_TRUNCATE) {
        frame->payload = message_create(payload->data, at);
        message_release(payload);
    } else {
        frame->payload = message_create(payload->data, bytes);
        frame->payload->data[at] ^= (unsigned char)(1 + random_below(random, 255));
        message_release(payload);
    }
    from->damage = VIRTUAL_NETWORK_DAMAGE_NONE;
}

/* Takes the frame's payload. */
static void frame_leaves(struct virtual_network *net, struct end *to, const struct frame *frame)
{
    uint64_t time_ns;
    struct virtual_network_event value = {.kind = EVENT_FRAME,
                                          .side = to->side,
                                          .stage = STAGE_COUNT,
                                          .class = frame->class,
                                          .slot = to->slot,
                                          .link = to->link};

    if (net->machinery != NULL && !virtual_network_is_blocked(net, to->link, to->side)) {
        virtual_network_traffic_send(net, to, frame);
        return;
    }
    time_ns = net->now_ns + virtual_network_delay_to_ns(net, to);
    if (time_ns < to->last_ns[frame->class])
        time_ns = to->last_ns[frame->class];
    to->last_ns[frame->class] = time_ns;
    value.time_ns = time_ns;
    value.frame = *frame;
    to->flying++;
    virtual_network_pass(net, &value);
}

static int transport_send(void *transport, uint32_t place, const struct frame *frame)
{
    struct virtual_network_place *from = transport;
    struct virtual_network *net = from->net;
    struct end *end = virtual_network_end_find(net, from->slot, place);
    struct frame damaged = *frame;

    if (end == NULL || end->state != END_UP) {
        message_release(frame->payload);
        return -ENOTCONN;
    }
    net->frames_sent++;
    net->bytes_sent += FRAME_HEADER_BYTES;
    net->bytes_sent += frame->payload != NULL ? frame->payload->length_bytes : 0;
    if (from->damage == VIRTUAL_NETWORK_DAMAGE_LOSE) {
        from->damage = VIRTUAL_NETWORK_DAMAGE_NONE;
        message_release(frame->payload);
        return 0;
    }
    if (from->damage != VIRTUAL_NETWORK_DAMAGE_NONE)
        damage_frame(from, &damaged);
    frame_leaves(net, &end->link->ends[1 - end->side], &damaged);
    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_SEND, from->place, place,
                               &damaged); /* which may kill a place */
    return 0;
}

static void transport_close(void *transport, uint32_t place)
{
    struct virtual_network_place *from = transport;
    struct virtual_network *net = from->net;
    struct end *end = virtual_network_end_find(net, from->slot, place);
    uint64_t time_ns;
    struct end *other;

    if (end == NULL)
        return;
    other = &end->link->ends[1 - end->side];
    time_ns = net->now_ns + virtual_network_delay_to_ns(net, other);
    if (time_ns < virtual_network_last_arrival_ns(other))
        time_ns = virtual_network_last_arrival_ns(other);
    if (net->machinery != NULL && other->flying > 0)
        other->closing = true;
    else if (virtual_network_end_is_open(other))
        virtual_network_schedule_down(net, end->link, other->side, time_ns);
    virtual_network_end_close(end->link, end->side);
}

static uint64_t transport_now_ns(void *transport)
{
    return ((struct virtual_network_place *)transport)->net->now_ns;
}

static void transport_timer(void *transport, uint64_t deadline_ns)
{
    struct virtual_network_place *place = transport;
    struct virtual_network *net = place->net;

    place->timer_ns = deadline_ns;
    if (deadline_ns == UINT64_MAX)
        return;
    if (deadline_ns < net->now_ns)
        place->timer_ns = deadline_ns = net->now_ns;
    virtual_network_schedule(net, &(struct virtual_network_event){.time_ns = deadline_ns,
                                                                  .kind = EVENT_TIMER,
                                                                  .slot = place->slot});
}

const struct transport_ops *virtual_network_transport_ops(void)
{
    static const struct transport_ops ops = {
        .name = "virtual",
        .connect = virtual_network_connect,
        .send = transport_send,
        .close = transport_close,
        .now_ns = transport_now_ns,
        .timer = transport_timer,
    };

    return &ops;
}

/* ---- events of a place ---- */

static void run_frame(struct virtual_network *net, struct virtual_network_place *place,
                      const struct virtual_network_event *event)
{
    const struct end *end = &event->link->ends[event->side];

    if (end->state == END_UP && net->now_ns <= end->cut_ns)
        place->events->frame(place->context, event->link->ends[1 - event->side].place,
                             &event->frame);
}

static void run_timer(struct virtual_network *net, struct virtual_network_place *place)
{
    if (place->timer_ns > net->now_ns)
        return; /* set to another time since */
    place->timer_ns = UINT64_MAX;
    place->events->timer(place->context);
}

static void run_event(struct virtual_network *net, struct virtual_network_place *place,
                      const struct virtual_network_event *event)
{
    switch (event->kind) {
    case EVENT_ACCEPT:
        virtual_network_link_accept(net, place, event->link);
        break;
    case EVENT_CONNECTED:
        virtual_network_link_connected(net, place, event->link);
        break;
    case EVENT_DOWN:
        virtual_network_link_down(net, place, event);
        break;
    case EVENT_FRAME:
        run_frame(net, place, event);
        break;
    case EVENT_WORK:
        if (event->life == place->life)
            event->call.function(event->call.context, event->call.argument);
        break;
    default:
        run_timer(net, place);
    }
}

void virtual_network_tell(struct virtual_network *net, struct virtual_network_event *event)
{
    struct virtual_network_place *place = &net->places[event->slot];

    if (place->stopped && place->alive) {
        if (event->kind == EVENT_ACCEPT)
            virtual_network_link_taken(net, event->link);
        virtual_network_queue_append(&place->deferred, event);
        return;
    }
    if (place->alive || event->kind == EVENT_ACCEPT || event->kind == EVENT_WORK)
        run_event(net, place, event);
    virtual_network_event_free(net, event);
}

/* Delivers an event to a place, when its core has time. */
static void place_event(struct virtual_network *net, struct virtual_network_event *event)
{
    const struct virtual_network_place *place = &net->places[event->slot];

    if (event->kind == EVENT_FRAME && !event->flag) {
        event->flag = true;
        virtual_network_traffic_arrived(net, &event->link->ends[event->side]);
    }
    if (place->stopped && place->alive)
        virtual_network_tell(net, event);
    else
        virtual_network_cpu_do(net, event);
}

static void world_event(struct virtual_network *net, struct virtual_network_event *event)
{
    struct virtual_network_event *pending;

    switch (event->kind) {
    case EVENT_CALL:
        event->call.function(event->call.context, event->call.argument);
        break;
    case EVENT_CHUNK:
        virtual_network_traffic_chunk(net, event);
        return;
    case EVENT_PORT:
        virtual_network_traffic_port(net, event->port);
        break;
    default:
        pending = event->pending;
        event->pending = NULL;
        virtual_network_cpu_done(net, &net->places[event->slot], pending);
    }
    virtual_network_event_free(net, event);
}

int virtual_network_step(struct virtual_network *net)
{
    struct virtual_network_event *event;

    if (net->heap_count == 0)
        return 0;
    event = virtual_network_event_pop(net);
    assert(event->time_ns >= net->now_ns);
    net->now_ns = event->time_ns;
    net->events_run++;
    if (event->kind < EVENT_CALL)
        place_event(net, event);
    else
        world_event(net, event);
    return 1;
}

void virtual_network_run_until(struct virtual_network *net, uint64_t time_ns)
{
    while (net->heap_count > 0 && net->heap[0].time_ns <= time_ns)
        virtual_network_step(net);
    if (net->now_ns < time_ns)
        net->now_ns = time_ns;
}

/* ---- faults ---- */

void virtual_network_kill(struct virtual_network *net, uint32_t slot)
{
    struct virtual_network_place *place = &net->places[slot];
    struct list *links = &place->links;

    if (!place->alive)
        return;
    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_KILL, place->place, place->place, NULL);
    place->alive = false;
    place->life++;
    while (!list_is_empty(links)) {
        struct end *end = list_entry(list_first(links), struct end, node);
        struct end *other = &end->link->ends[1 - end->side];
        uint64_t cut_ns =
            net->now_ns +
            random_below(&net->random, 2 * virtual_network_delay_to_ns(net, other) + 1);

        /* The peer notices then; anything that would arrive later is lost. */
        other->cut_ns = cut_ns;
        if (virtual_network_end_is_open(other))
            virtual_network_schedule_down(net, end->link, other->side, cut_ns);
        virtual_network_end_close(end->link, end->side);
    }
}

int virtual_network_is_alive(const struct virtual_network *net, uint32_t place)
{
    assert(place < net->slots);
    return net->places[place].alive;
}

void virtual_network_stop(struct virtual_network *net, uint32_t place)
{
    assert(place < net->slots);
    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_STOP, place, place, NULL);
    net->places[place].stopped = true;
}

void virtual_network_continue(struct virtual_network *net, uint32_t place)
{
    struct virtual_network_place *stopped = &net->places[place];
    struct virtual_network_event *event;

    virtual_network_tell_trace(net, VIRTUAL_NETWORK_FACT_CONTINUE, place, place, NULL);
    stopped->stopped = false;
    while ((event = virtual_network_queue_pop(&stopped->deferred)) != NULL) {
        event->time_ns = net->now_ns;
        virtual_network_event_push(net, event);
    }
}

void virtual_network_break(struct virtual_network *net, uint32_t a, uint32_t b)
{
    struct end *end = virtual_network_end_find(net, a, b);

    if (end == NULL)
        end = virtual_network_end_find(net, b, a);
    if (end == NULL)
        return;
    for (int side = 0; side < 2; side++) {
        struct end *cut = &end->link->ends[side];
        uint64_t cut_ns =
            net->now_ns + random_below(&net->random, 2 * virtual_network_delay_to_ns(net, cut) + 1);

        cut->cut_ns = cut_ns;
        virtual_network_schedule_down(net, end->link, side, cut_ns);
    }
}

void virtual_network_set_secret(struct virtual_network *net, uint32_t slot, uint32_t secret)
{
    assert(slot < net->slots);
    net->places[slot].secret = secret;
}

void virtual_network_set_slow(struct virtual_network *net, uint32_t slot, uint32_t factor)
{
    assert(factor > 0);
    assert(slot < net->slots);
    net->places[slot].slow = factor;
}

void virtual_network_set_delay(struct virtual_network *net, uint32_t slot, uint64_t delay_ns)
{
    assert(slot < net->slots);
    net->places[slot].delay_ns = delay_ns;
}

void virtual_network_damage(struct virtual_network *net, uint32_t slot,
                            enum virtual_network_damage damage)
{
    assert(slot < net->slots);
    net->places[slot].damage = (uint8_t)damage;
}

void virtual_network_set_side(struct virtual_network *net, uint32_t slot, int side)
{
    net->places[slot].side = (uint8_t)(side != 0);
}

/* Events held back arrive in the order in which they were sent. */
static void let_go(struct virtual_network *net, struct virtual_network_event *event)
{
    struct end *end = &event->link->ends[event->side];

    event->time_ns = net->now_ns + virtual_network_delay_to_ns(net, end);
    if (event->time_ns < virtual_network_last_arrival_ns(end))
        event->time_ns = virtual_network_last_arrival_ns(end);
    if (event->kind == EVENT_FRAME)
        end->last_ns[event->class] = event->time_ns;
    virtual_network_event_push(net, event);
}

void virtual_network_set_blocked(struct virtual_network *net, int from_side, int to_side,
                                 int blocked)
{
    struct virtual_network_queue parked = net->parked;
    struct virtual_network_event *event;

    net->blocked[from_side != 0][to_side != 0] = blocked != 0;
    net->parked = (struct virtual_network_queue){0};
    while ((event = virtual_network_queue_pop(&parked)) != NULL) {
        if (virtual_network_is_blocked(net, event->link, event->side))
            virtual_network_queue_append(&net->parked, event);
        else
            let_go(net, event);
    }
}

/* ---- life ---- */

struct virtual_network *virtual_network_create(const struct virtual_network_config *config)
{
    struct virtual_network *net = memory_allocate_zeroed(sizeof(*net));

    assert(config->places > 0);
    net->config = *config;
    net->slots = config->places + config->strangers;
    random_init(&net->random, config->seed);
    virtual_network_traffic_init(net);
    virtual_network_cpu_init(net);
    if (net->has_ports || net->has_cores)
        net->machinery = memory_allocate_zeroed(net->slots * sizeof(*net->machinery));
    net->places = memory_allocate_zeroed(net->slots * sizeof(*net->places));
    for (uint32_t i = 0; i < net->slots; i++) {
        net->places[i].net = net;
        net->places[i].slot = i;
        net->places[i].place = i;
        net->places[i].slow = 1;
        net->places[i].timer_ns = UINT64_MAX;
        net->places[i].machinery = net->machinery != NULL ? &net->machinery[i] : NULL;
        list_init(&net->places[i].links);
    }
    return net;
}

static void drop_queue(struct virtual_network *net, struct virtual_network_queue *queue)
{
    struct virtual_network_event *event;

    while ((event = virtual_network_queue_pop(queue)) != NULL)
        virtual_network_event_free(net, event);
}

static void place_fini(struct virtual_network_place *place)
{
    while (!list_is_empty(&place->links)) {
        struct end *end = list_entry(list_first(&place->links), struct end, node);

        virtual_network_end_close(end->link, end->side);
    }
    drop_queue(place->net, &place->deferred);
}

void virtual_network_destroy(struct virtual_network *net)
{
    if (net == NULL)
        return;
    for (uint32_t i = 0; i < net->slots; i++)
        place_fini(&net->places[i]);
    drop_queue(net, &net->parked);
    virtual_network_cpu_fini(net);
    virtual_network_traffic_fini(net);
    virtual_network_events_fini(net);
    free(net->places);
    free(net);
}

void virtual_network_set_trace(struct virtual_network *net,
                               virtual_network_trace_function *function, void *context)
{
    net->trace = function;
    net->trace_context = context;
}

void *virtual_network_transport(struct virtual_network *net, uint32_t place)
{
    assert(place < net->slots);
    return &net->places[place];
}

void virtual_network_address(uint32_t place, struct addresses *ret_addresses)
{
    memset(ret_addresses, 0, sizeof(*ret_addresses));
    ret_addresses->count = 1;
    ret_addresses->items[0].length_bytes = sizeof(place);
    for (size_t i = 0; i < sizeof(place); i++)
        ret_addresses->items[0].bytes[i] = (uint8_t)(place >> (8 * i));
}

void virtual_network_attach(struct virtual_network *net, uint32_t place, uint32_t incarnation,
                            const struct transport_events *events, void *context)
{
    virtual_network_attach_as(net, place, place, incarnation, events, context);
}

void virtual_network_attach_as(struct virtual_network *net, uint32_t slot, uint32_t place,
                               uint32_t incarnation, const struct transport_events *events,
                               void *context)
{
    struct virtual_network_place *attached = &net->places[slot];

    assert(slot < net->slots && events != NULL);
    assert(!attached->alive && (slot == place || slot >= net->config.places));
    drop_queue(net, &attached->deferred);
    attached->place = place;
    attached->alive = true;
    attached->stopped = false;
    attached->timer_ns = UINT64_MAX;
    attached->incarnation = incarnation;
    attached->events = events;
    attached->context = context;
}

uint64_t virtual_network_now_ns(const struct virtual_network *net)
{
    return net->now_ns;
}

void virtual_network_at(struct virtual_network *net, uint64_t time_ns,
                        virtual_network_call_function *function, void *context, uint64_t argument)
{
    virtual_network_schedule(
        net, &(struct virtual_network_event){
                 .time_ns = time_ns, .kind = EVENT_CALL, .call = {function, context, argument}});
}

void virtual_network_work(struct virtual_network *net, uint32_t slot, uint64_t time_ns,
                          uint64_t cost_ns, virtual_network_call_function *function, void *context,
                          uint64_t argument)
{
    assert(slot < net->slots && function != NULL);
    virtual_network_schedule(
        net, &(struct virtual_network_event){.time_ns = time_ns,
                                             .kind = EVENT_WORK,
                                             .slot = slot,
                                             .life = net->places[slot].life,
                                             .cost_ns = cost_ns,
                                             .call = {function, context, argument}});
}

void virtual_network_charge(struct virtual_network *net, uint32_t slot, uint64_t cost_ns)
{
    (void)virtual_network_cpu_charge(net, &net->places[slot], cost_ns);
}

uint64_t virtual_network_events_run(const struct virtual_network *net)
{
    return net->events_run;
}

uint64_t virtual_network_frames_sent(const struct virtual_network *net)
{
    return net->frames_sent;
}

struct virtual_network_cpu_use virtual_network_cpu_used(const struct virtual_network *net)
{
    return net->cpu_use;
}

uint64_t virtual_network_bytes_sent(const struct virtual_network *net)
{
    return net->bytes_sent;
}
