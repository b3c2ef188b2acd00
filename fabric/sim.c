/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/message.h"
#include "base/random.h"

enum end_state { END_NONE, END_CONNECTING, END_UP, END_CLOSED };

/* One end of a link. */
struct end {
    struct list_node node; /* of its place's links */
    struct sim_link *link;
    int side; /* 0 connected, 1 accepted */
    uint32_t place;
    enum end_state state;
    uint64_t last_ns[FRAME_CLASS_COUNT]; /* arrival of the last frame of a class, here */
    uint64_t cut_ns;                     /* what would arrive here later is lost */
};

/* Lives while an end or an event refers to it. */
struct sim_link {
    struct end ends[2];
    uint32_t references;
};

struct sim_place {
    struct sim *sim;
    uint32_t place;
    uint32_t incarnation;
    bool alive;
    bool stopped;
    const struct transport_events *events;
    void *context;
    struct list links;
    uint64_t timer_ns; /* the armed deadline; older timer events do not match it */
    struct sim_event *deferred;
    uint32_t deferred_count;
};

enum event_kind {
    EVENT_ACCEPT,    /* link asks at ends[1] */
    EVENT_CONNECTED, /* the answer at ends[0] */
    EVENT_DOWN,      /* at ends[side] */
    EVENT_FRAME,     /* at ends[side] */
    EVENT_TIMER,     /* of place */
    EVENT_CALL
};

struct sim_event {
    uint64_t time_ns;
    uint64_t order; /* among equal times: as scheduled */
    enum event_kind kind;
    uint8_t side;
    uint32_t place;
    struct sim_link *link;
    struct frame frame;
    sim_call_function *function;
    void *context;
    uint64_t argument;
};

struct sim {
    struct sim_config config;
    struct random_state random;
    uint64_t now_ns;
    uint64_t order;
    uint64_t events_run;
    uint64_t frames_sent;
    struct sim_event *heap;
    size_t heap_count;
    size_t heap_capacity;
    struct sim_place *places;
    sim_trace_function *trace;
    void *trace_context;
};

/* ---- the heap ---- */

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->order < b->order;
}

static void heap_push(struct sim *sim, const struct sim_event *event)
{
    size_t at = sim->heap_count++;

    if (at == sim->heap_capacity) {
        sim->heap_capacity = sim->heap_capacity > 0 ? 2 * sim->heap_capacity : 256;
        sim->heap = memory_resize(sim->heap, sim->heap_capacity * sizeof(*sim->heap));
    }
    while (at > 0 && is_before(event, &sim->heap[(at - 1) / 2])) {
        sim->heap[at] = sim->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    sim->heap[at] = *event;
}

static struct sim_event heap_pop(struct sim *sim)
{
    struct sim_event top = sim->heap[0];
    struct sim_event last = sim->heap[--sim->heap_count];
    size_t at = 0;

    while (2 * at + 1 < sim->heap_count) {
        size_t child = 2 * at + 1;

        if (child + 1 < sim->heap_count && is_before(&sim->heap[child + 1], &sim->heap[child]))
            child++;
        if (!is_before(&sim->heap[child], &last))
            break;
        sim->heap[at] = sim->heap[child];
        at = child;
    }
    sim->heap[at] = last;
    return top;
}

static void schedule(struct sim *sim, struct sim_event event)
{
    assert(event.time_ns >= sim->now_ns);
    event.order = sim->order++;
    if (event.link != NULL)
        event.link->references++;
    heap_push(sim, &event);
}

/* ---- links ---- */

static uint64_t delay_ns(struct sim *sim)
{
    uint64_t jitter_ns = sim->config.jitter_ns;

    return sim->config.latency_ns + (jitter_ns > 0 ? random_below(&sim->random, jitter_ns) : 0);
}

static void link_release(struct sim_link *link)
{
    if (--link->references == 0)
        free(link);
}

static void end_open(struct sim *sim, struct sim_link *link, int side, enum end_state state)
{
    struct end *end = &link->ends[side];

    end->state = state;
    list_prepend(&sim->places[end->place].links, &end->node);
    link->references++;
}

/* Forgets the link at this end; the link may be freed. */
static void end_close(struct sim_link *link, int side)
{
    struct end *end = &link->ends[side];

    end->state = END_CLOSED;
    list_remove(&end->node);
    link_release(link);
}

static bool end_is_open(const struct end *end)
{
    return end->state == END_CONNECTING || end->state == END_UP;
}

static void trace(struct sim *sim, enum sim_fact fact, uint32_t from, uint32_t to,
                  const struct frame *frame)
{
    if (sim->trace != NULL)
        sim->trace(sim->trace_context, sim->now_ns, fact, from, to, frame);
}

/* Tells one end at a time that the other is gone. */
static void schedule_down(struct sim *sim, struct sim_link *link, int side, uint64_t time_ns)
{
    schedule(sim, (struct sim_event){.time_ns = time_ns,
                                     .kind = EVENT_DOWN,
                                     .side = (uint8_t)side,
                                     .place = link->ends[side].place,
                                     .link = link});
}

/* The open end of a place's link to a peer, or NULL. */
static struct end *end_find(struct sim *sim, uint32_t place, uint32_t peer)
{
    struct list_node *node;
    struct list_node *spare;

    list_for_each(&sim->places[place].links, node, spare)
    {
        struct end *end = list_entry(node, struct end, node);

        if (end->link->ends[1 - end->side].place == peer)
            return end;
    }
    return NULL;
}

static struct sim_link *link_create(uint32_t from, uint32_t to)
{
    struct sim_link *link = memory_allocate_zeroed(sizeof(*link));

    for (int side = 0; side < 2; side++) {
        link->ends[side].link = link;
        link->ends[side].side = side;
        link->ends[side].place = side == 0 ? from : to;
        link->ends[side].cut_ns = UINT64_MAX;
        list_node_init(&link->ends[side].node);
    }
    return link;
}

/* When what was sent last to this end will have arrived. */
static uint64_t last_arrival_ns(const struct end *end)
{
    uint64_t last_ns = 0;

    for (int class = 0; class < FRAME_CLASS_COUNT; class ++) {
        if (end->last_ns[class] > last_ns)
            last_ns = end->last_ns[class];
    }
    return last_ns;
}

/* ---- what a place asks for ---- */

static int transport_connect(void *transport, uint32_t place, const struct addresses *addresses)
{
    struct sim_place *from = transport;
    struct sim *sim = from->sim;
    struct sim_link *link;

    (void)addresses;
    if (!from->alive || place >= sim->config.places || end_find(sim, from->place, place) != NULL)
        return -EALREADY;
    link = link_create(from->place, place);
    end_open(sim, link, 0, END_CONNECTING);
    schedule(sim, (struct sim_event){.time_ns = sim->now_ns + delay_ns(sim),
                                     .kind = EVENT_ACCEPT,
                                     .side = 1,
                                     .place = place,
                                     .link = link});
    return 0;
}

static int transport_send(void *transport, uint32_t place, const struct frame *frame)
{
    struct sim_place *from = transport;
    struct sim *sim = from->sim;
    struct end *end = end_find(sim, from->place, place);
    struct end *other;
    uint64_t time_ns = sim->now_ns + delay_ns(sim);

    if (end == NULL || end->state != END_UP) {
        message_release(frame->payload);
        return -ENOTCONN;
    }
    sim->frames_sent++;
    other = &end->link->ends[1 - end->side];
    if (time_ns < other->last_ns[frame->class])
        time_ns = other->last_ns[frame->class];
    other->last_ns[frame->class] = time_ns;
    schedule(sim, (struct sim_event){.time_ns = time_ns,
                                     .kind = EVENT_FRAME,
                                     .side = (uint8_t)other->side,
                                     .place = place,
                                     .link = end->link,
                                     .frame = *frame});
    trace(sim, SIM_FACT_SEND, from->place, place, frame); /* which may kill somebody */
    return 0;
}

static void transport_close(void *transport, uint32_t place)
{
    struct sim_place *from = transport;
    struct sim *sim = from->sim;
    struct end *end = end_find(sim, from->place, place);
    uint64_t time_ns = sim->now_ns + delay_ns(sim);
    struct end *other;

    if (end == NULL)
        return;
    other = &end->link->ends[1 - end->side];
    if (time_ns < last_arrival_ns(other))
        time_ns = last_arrival_ns(other);
    if (end_is_open(other))
        schedule_down(sim, end->link, other->side, time_ns);
    end_close(end->link, end->side);
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
    schedule(sim, (struct sim_event){
                      .time_ns = deadline_ns, .kind = EVENT_TIMER, .place = place->place});
}

const struct transport_ops *sim_transport_ops(void)
{
    static const struct transport_ops ops = {
        .name = "sim",
        .connect = transport_connect,
        .send = transport_send,
        .close = transport_close,
        .now_ns = transport_now_ns,
        .timer = transport_timer,
    };

    return &ops;
}

/* ---- what happens to a place ---- */

static void run_accept(struct sim *sim, struct sim_place *place, struct sim_link *link)
{
    struct end *from = &link->ends[0];
    uint64_t answer_ns = sim->now_ns + delay_ns(sim);

    if (from->state != END_CONNECTING)
        return;
    if (!place->alive || end_find(sim, place->place, from->place) != NULL) {
        schedule_down(sim, link, 0, answer_ns);
        return;
    }
    end_open(sim, link, 1, END_UP);
    for (int class = 0; class < FRAME_CLASS_COUNT; class ++)
        from->last_ns[class] = answer_ns;
    schedule(sim, (struct sim_event){.time_ns = answer_ns,
                                     .kind = EVENT_CONNECTED,
                                     .side = 0,
                                     .place = from->place,
                                     .link = link});
    trace(sim, SIM_FACT_UP, place->place, from->place, NULL);
    place->events->up(place->context, from->place, sim->places[from->place].incarnation);
}

static void run_connected(struct sim *sim, struct sim_place *place, struct sim_link *link)
{
    uint32_t peer = link->ends[1].place;

    if (link->ends[0].state != END_CONNECTING)
        return;
    link->ends[0].state = END_UP;
    trace(sim, SIM_FACT_UP, place->place, peer, NULL);
    place->events->up(place->context, peer, sim->places[peer].incarnation);
}

static void run_down(struct sim *sim, struct sim_place *place, struct sim_link *link, int side)
{
    struct error why = ERROR_NONE;
    uint32_t peer = link->ends[1 - side].place;

    if (!end_is_open(&link->ends[side]))
        return;
    end_close(link, side);
    trace(sim, SIM_FACT_DOWN, place->place, peer, NULL);
    error_set(&why, -ECONNRESET, "place %u is gone", peer);
    place->events->down(place->context, peer, &why);
}

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

static void run_event(struct sim *sim, const struct sim_event *event)
{
    struct sim_place *place = &sim->places[event->place];

    if (event->kind == EVENT_CALL) {
        event->function(event->context, event->argument);
        return;
    }
    if (event->kind == EVENT_ACCEPT) {
        run_accept(sim, place, event->link);
        return;
    }
    if (!place->alive)
        return;
    switch (event->kind) {
    case EVENT_CONNECTED:
        run_connected(sim, place, event->link);
        break;
    case EVENT_DOWN:
        run_down(sim, place, event->link, event->side);
        break;
    case EVENT_FRAME:
        run_frame(sim, place, event);
        break;
    default:
        run_timer(sim, place);
    }
}

static void event_fini(struct sim_event *event)
{
    message_release(event->frame.payload);
    if (event->link != NULL)
        link_release(event->link);
}

static bool defer(struct sim *sim, const struct sim_event *event)
{
    struct sim_place *place = &sim->places[event->place];

    if (event->kind == EVENT_CALL || !place->stopped || !place->alive)
        return false;
    place->deferred =
        memory_resize(place->deferred, (place->deferred_count + 1) * sizeof(*place->deferred));
    place->deferred[place->deferred_count++] = *event;
    return true;
}

int sim_step(struct sim *sim)
{
    struct sim_event event;

    if (sim->heap_count == 0)
        return 0;
    event = heap_pop(sim);
    sim->now_ns = event.time_ns;
    if (defer(sim, &event))
        return 1;
    sim->events_run++;
    run_event(sim, &event);
    event_fini(&event);
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

void sim_kill(struct sim *sim, uint32_t place)
{
    struct list *links = &sim->places[place].links;

    if (!sim->places[place].alive)
        return;
    trace(sim, SIM_FACT_KILL, place, place, NULL);
    sim->places[place].alive = false;
    while (!list_is_empty(links)) {
        struct end *end = list_entry(list_first(links), struct end, node);
        struct end *other = &end->link->ends[1 - end->side];
        uint64_t cut_ns = sim->now_ns + random_below(&sim->random, 2 * delay_ns(sim) + 1);

        /* Its peer hears of it then; of what is still on its way, what comes later is lost. */
        other->cut_ns = cut_ns;
        if (end_is_open(other))
            schedule_down(sim, end->link, other->side, cut_ns);
        end_close(end->link, end->side);
    }
}

int sim_is_alive(const struct sim *sim, uint32_t place)
{
    return sim->places[place].alive;
}

void sim_stop(struct sim *sim, uint32_t place)
{
    trace(sim, SIM_FACT_STOP, place, place, NULL);
    sim->places[place].stopped = true;
}

void sim_continue(struct sim *sim, uint32_t place)
{
    struct sim_place *stopped = &sim->places[place];

    trace(sim, SIM_FACT_CONTINUE, place, place, NULL);
    stopped->stopped = false;
    for (uint32_t i = 0; i < stopped->deferred_count; i++) {
        struct sim_event *event = &stopped->deferred[i];

        event->time_ns = sim->now_ns;
        schedule(sim, *event);
        if (event->link != NULL)
            link_release(event->link); /* schedule has taken its own reference */
    }
    free(stopped->deferred);
    stopped->deferred = NULL;
    stopped->deferred_count = 0;
}

void sim_break(struct sim *sim, uint32_t a, uint32_t b)
{
    struct end *end = end_find(sim, a, b);

    if (end == NULL)
        end = end_find(sim, b, a);
    if (end == NULL)
        return;
    for (int side = 0; side < 2; side++) {
        uint64_t cut_ns = sim->now_ns + random_below(&sim->random, 2 * delay_ns(sim) + 1);

        end->link->ends[side].cut_ns = cut_ns;
        schedule_down(sim, end->link, side, cut_ns);
    }
}

/* ---- life ---- */

struct sim *sim_create(const struct sim_config *config)
{
    struct sim *sim = memory_allocate_zeroed(sizeof(*sim));

    sim->config = *config;
    random_init(&sim->random, config->seed);
    sim->places = memory_allocate_zeroed(config->places * sizeof(*sim->places));
    for (uint32_t i = 0; i < config->places; i++) {
        sim->places[i].sim = sim;
        sim->places[i].place = i;
        sim->places[i].timer_ns = UINT64_MAX;
        list_init(&sim->places[i].links);
    }
    return sim;
}

static void place_fini(struct sim_place *place)
{
    while (!list_is_empty(&place->links)) {
        struct end *end = list_entry(list_first(&place->links), struct end, node);

        end_close(end->link, end->side);
    }
    for (uint32_t i = 0; i < place->deferred_count; i++)
        event_fini(&place->deferred[i]);
    free(place->deferred);
}

void sim_destroy(struct sim *sim)
{
    if (sim == NULL)
        return;
    for (uint32_t i = 0; i < sim->config.places; i++)
        place_fini(&sim->places[i]);
    for (size_t i = 0; i < sim->heap_count; i++)
        event_fini(&sim->heap[i]);
    free(sim->heap);
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
    struct sim_place *attached = &sim->places[place];

    attached->alive = true;
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
    schedule(sim, (struct sim_event){.time_ns = time_ns,
                                     .kind = EVENT_CALL,
                                     .function = function,
                                     .context = context,
                                     .argument = argument});
}

uint64_t sim_events_run(const struct sim *sim)
{
    return sim->events_run;
}

uint64_t sim_frames_sent(const struct sim *sim)
{
    return sim->frames_sent;
}
