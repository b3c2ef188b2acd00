/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/job_world.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/node_pool.h"
#include "base/time.h"
#include "base/wire.h"
#include "launch/proto/survey.h"
#include "test/support/document.h"
#include "test/support/tap.h"

struct delivery {
    struct delivery *next;
    unsigned int hold; /* which HOLD_ keeps it */
    uint32_t place;
    struct job_event event;
    struct operation_name key;
    struct ranges places;
    struct message *message;
};

struct gather {
    struct gather *next;
    struct operation_name key;
    struct ranges members;
    struct ranges called;
    struct message *parts[JOB_WORLD_NODES_MAX + 1];
    int answered;
};

static int is_dead(const struct job_world *world, uint32_t place)
{
    return !world->places[place].instance;
}

/* ---- the queue ---- */

static void push(struct job_world *world, unsigned int hold, uint32_t place,
                 const struct job_event *event)
{
    struct delivery *delivery = memory_allocate_zeroed(sizeof *delivery);

    delivery->hold = hold;
    delivery->place = place;
    delivery->event = *event;
    if (event->key)
        delivery->key = *event->key;
    if (event->places)
        ranges_copy(&delivery->places, event->places);
    delivery->message = message_reference(event->message);
    if (world->last)
        world->last->next = delivery;
    else
        world->first = delivery;
    world->last = delivery;
}

static void delivery_destroy(struct delivery *delivery)
{
    ranges_fini(&delivery->places);
    message_release(delivery->message);
    free(delivery);
}

/* The oldest that is not held, taken out. */
static struct delivery *pop(struct job_world *world)
{
    struct delivery *before = NULL, *delivery = world->first;

    while (delivery && (delivery->hold & world->hold)) {
        before = delivery;
        delivery = delivery->next;
    }
    if (!delivery)
        return NULL;
    if (before)
        before->next = delivery->next;
    else
        world->first = delivery->next;
    if (world->last == delivery)
        world->last = before;
    return delivery;
}

/* ---- gathers ---- */

static int keys_equal(const struct operation_name *a, const struct operation_name *b)
{
    return a->set_id == b->set_id && a->generation == b->generation && a->kind == b->kind;
}

static struct gather *gather_of(struct job_world *world, const struct operation_name *key,
                                const struct ranges *members)
{
    struct gather *gather = world->gathers;

    while (gather && !keys_equal(&gather->key, key))
        gather = gather->next;
    if (gather) {
        assert(ranges_equal(&gather->members, members)); /* all name the same set */
        return gather;
    }
    gather = memory_allocate_zeroed(sizeof *gather);
    gather->key = *key;
    ranges_copy(&gather->members, members);
    gather->next = world->gathers;
    world->gathers = gather;
    return gather;
}

/* The root gets the merged result, the members the status. */
static void answer(struct job_world *world, struct gather *gather, int status,
                   const struct ranges *lost)
{
    struct buffer merged = {0};
    struct job_event event = {
        .kind = JOB_EVENT_RESULT, .key = &gather->key, .status = status, .places = lost};

    gather->answered = 1;
    for (uint32_t place = 1; place <= world->nodes; place++)
        if (gather->parts[place] && status == 0)
            job_merges[gather->key.merge](&merged, gather->parts[place]->data,
                                          gather->parts[place]->length_bytes);
    for (uint32_t place = 1; place <= world->nodes; place++)
        if (ranges_contains(&gather->called, place))
            push(world, HOLD_RESULTS, place, &event);
    if (status == 0)
        event.message = message_from_buffer(&merged);
    push(world, HOLD_RESULTS, 0, &event);
    message_release(event.message);
    buffer_fini(&merged);
}

static void gather_check(struct job_world *world, struct gather *gather)
{
    struct ranges lost = {0};

    for (uint32_t place = 1; place <= world->nodes; place++)
        if (ranges_contains(&gather->members, place) && is_dead(world, place))
            ranges_add(&lost, place, place);
    if (gather->answered)
        ; /* by an error, before this part came */
    else if (!ranges_is_empty(&lost))
        answer(world, gather, -EHOSTDOWN, &lost);
    else if (ranges_equal(&gather->members, &gather->called))
        answer(world, gather, 0, NULL);
    ranges_fini(&lost);
}

static void contribute(struct job_world *world, uint32_t place, struct job_action *action)
{
    struct gather *gather = gather_of(world, &action->key, &action->places);

    assert(ranges_contains(&gather->members, place));
    assert(!ranges_contains(&gather->called, place)); /* once each */
    ranges_add(&gather->called, place, place);
    gather->parts[place] = action->message;
    action->message = NULL;
    gather_check(world, gather);
}

static void gathers_destroy(struct job_world *world)
{
    while (world->gathers) {
        struct gather *gather = world->gathers;

        world->gathers = gather->next;
        for (uint32_t place = 0; place <= world->nodes; place++)
            message_release(gather->parts[place]);
        ranges_fini(&gather->members);
        ranges_fini(&gather->called);
        free(gather);
    }
}

/* ---- the trace ---- */

static const char *operation_name(const struct operation_name *key)
{
    return key->kind == JOB_OPERATION_LAUNCHED ? "LAUNCHED"
           : key->kind == JOB_OPERATION_SURVEY ? "SURVEY"
                                               : "ENDED";
}

static const char *message_name(const struct message *message)
{
    static const char *const names[JOB_MESSAGE_COUNT] = {
        [JOB_MESSAGE_ROSTER] = "ROSTER",
        [JOB_MESSAGE_LAUNCH] = "LAUNCH",
        [JOB_MESSAGE_END] = "END",
        [JOB_MESSAGE_SIGNAL] = "SIGNAL",
        [JOB_MESSAGE_PLACE_FAILED] = "PLACE_FAILED",
        [JOB_MESSAGE_RANK_FAILED] = "RANK_FAILED",
        [JOB_MESSAGE_SURVEY] = "SURVEY",
        [JOB_MESSAGE_NOTICE] = "NOTICE",
        [JOB_MESSAGE_RESTARTED] = "RESTARTED",
        [JOB_MESSAGE_MOVED] = "MOVED",
        [JOB_MESSAGE_RELAUNCH] = "RELAUNCH",
        [JOB_MESSAGE_SPOKEN] = "SPOKEN",
    };

    return names[message->data[0]];
}

static void trace_part(struct buffer *out, const struct job_action *action)
{
    struct job_launched launched = {0};
    struct job_ended ended = {0};

    if (action->key.kind == JOB_OPERATION_LAUNCHED) {
        (void)job_launched_decode(&launched, action->message->data, action->message->length_bytes);
        buffer_printf(out, "%u processes%s", launched.processes,
                      launched.failure.kind ? ", a start failed" : "");
    } else if (action->key.kind == JOB_OPERATION_SURVEY) {
        buffer_append_string(out, "its machine");
    } else {
        (void)job_ended_decode(&ended, action->message->data, action->message->length_bytes);
        buffer_printf(out, "%u processes, status %u, %llu bytes", ended.processes, ended.status,
                      (unsigned long long)ended.output_bytes);
    }
}

static void trace_broadcast(struct buffer *out, const struct job_action *action)
{
    buffer_printf(out, "broadcast %s to ", message_name(action->message));
    if (ranges_is_empty(&action->places))
        buffer_append_string(out, "everyone");
    else
        ranges_print(&action->places, out);
}

static void trace_node(struct buffer *out, const struct job_action *action)
{
    switch (action->kind) {
    case JOB_ACTION_CONTRIBUTE:
        buffer_printf(out, "contribute to %s %u of ", operation_name(&action->key),
                      action->key.generation);
        ranges_print(&action->places, out);
        buffer_append_string(out, ": ");
        trace_part(out, action);
        break;
    case JOB_ACTION_SEND:
        buffer_printf(out, "send %s", message_name(action->message));
        break;
    case JOB_ACTION_SURVEY:
        buffer_append_string(out, "inspect the machine");
        break;
    case JOB_ACTION_OPEN:
        buffer_append_string(out, "open");
        break;
    case JOB_ACTION_START:
        buffer_printf(out, "start %u process%s", action->start.count,
                      action->start.count == 1 ? "" : "es");
        break;
    case JOB_ACTION_SEAL:
        buffer_append_string(out, "no restart any more");
        break;
    case JOB_ACTION_CANCEL_STARTS:
        buffer_append_string(out, "start no more");
        break;
    case JOB_ACTION_SIGNAL:
        buffer_printf(out, "signal %d", action->signal);
        break;
    case JOB_ACTION_END_GROUP:
        buffer_printf(out, "end the processes, grace %u ms", action->grace_ms);
        break;
    case JOB_ACTION_CUT_OUTPUT:
        buffer_printf(out, "last output%s", action->cut.discard ? ", or none" : "");
        break;
    default:
        buffer_append_string(out, "close");
    }
}

static void trace_root(struct buffer *out, const struct job_action *action)
{
    switch (action->kind) {
    case JOB_ACTION_BROADCAST:
        trace_broadcast(out, action);
        break;
    case JOB_ACTION_STARTED:
        buffer_printf(out, "started %u processes on %u nodes", action->started.processes,
                      action->started.nodes);
        break;
    case JOB_ACTION_ENDED:
        buffer_printf(out, "report %u%s%s", action->end->status, action->end->text[0] ? ": " : "",
                      action->end->text);
        break;
    case JOB_ACTION_WAITS:
        buffer_printf(out, "say that %s", action->text.words);
        break;
    case JOB_ACTION_TEXT:
        buffer_printf(out, "say %s", action->text.words);
        break;
    case JOB_ACTION_LEAVE:
        buffer_append_string(out, "leave");
        break;
    case JOB_ACTION_READY:
        buffer_append_string(out, "ready");
        break;
    case JOB_ACTION_LEAVE_OUT:
        buffer_append_string(out, "leave out ");
        ranges_print(&action->places, out);
        break;
    case JOB_ACTION_CHILD:
        buffer_printf(out, "add a job that job %u has spawned", action->parent);
        break;
    case JOB_ACTION_SPAWNED:
        if (action->reply.answer->failure == JOB_SPAWN_OK)
            buffer_printf(out, "reply to %u that %u processes run", action->reply.place,
                          action->reply.answer->processes);
        else
            buffer_printf(out, "reply to %u, failure %u: %s", action->reply.place,
                          action->reply.answer->failure, action->reply.answer->reason);
        break;
    case JOB_ACTION_FORGET:
        buffer_append_string(out, "forget the job at ");
        ranges_print(&action->places, out);
        break;
    default:
        trace_node(out, action);
    }
}

static void trace_action(struct job_world *world, uint32_t place, const struct job_action *action)
{
    if (action->kind == JOB_ACTION_TIMER || action->kind == JOB_ACTION_ACCEPTED)
        return;
    if (place == 0)
        buffer_append_string(&world->trace, "root: ");
    else
        buffer_printf(&world->trace, "n%u: ", place);
    trace_root(&world->trace, action);
    if (action->job > 1)
        buffer_printf(&world->trace, " (job %u)", action->job);
    buffer_append_string(&world->trace, "\n");
}

const char *job_world_trace(struct job_world *world)
{
    static char text[16384];

    assert(world->trace.length_bytes < sizeof text);
    strcpy(text, buffer_string(&world->trace));
    buffer_clear(&world->trace);
    return text;
}

void job_world_happens(struct job_world *world, const char *expected, const char *what)
{
    struct buffer quoted = {0}, document = {0};

    is_string(job_world_trace(world), expected, "%s", what);
    for (const char *line = expected; *line; line = strchr(line, '\n') + 1)
        buffer_printf(&quoted, "    %.*s", (int)strcspn(line, "\n") + 1, line);
    document_read("doc/job.rst", &document);
    ok(strstr(buffer_string(&document), buffer_string(&quoted)), "doc/job.rst says so, too");
    buffer_fini(&quoted);
    buffer_fini(&document);
}

/* ---- actions ---- */

static void broadcast(struct job_world *world, const struct job_action *action)
{
    struct job_event event = {.kind = JOB_EVENT_BROADCAST, .message = action->message};

    for (uint32_t place = 0; place <= world->nodes; place++)
        if (ranges_is_empty(&action->places) || ranges_contains(&action->places, place))
            push(world, HOLD_BROADCASTS, place, &event);
}

static void send_root(struct job_world *world, uint32_t place, const struct job_action *action)
{
    struct job_event event = {
        .kind = JOB_EVENT_RECEIVED, .place = place, .message = action->message};

    assert(action->place == 0);
    push(world, HOLD_MESSAGES, 0, &event);
}

/* A job has as many slots as processes from its launch until nothing is left of it. */
static void check_book(const struct job_world *world)
{
    const struct instance *root = world->places[0].instance;
    const struct node_pool *book = instance_book(root);
    uint64_t used = 0, expected = 0;

    for (uint32_t job = 1; job < JOB_WORLD_JOBS_MAX; job++)
        expected += instance_job_map(root, job) ? instance_job_map(root, job)->processes : 0;

    for (uint32_t node = 0; book != NULL && node < node_pool_count(book); node++) {
        struct node_record record;

        node_pool_node(book, node, &record);
        used += record.slots_used;
    }
    if (used != expected)
        fail("%llu slots are in use, not %llu", (unsigned long long)used,
             (unsigned long long)expected);
}

static void set_timer(struct job_world *world, uint32_t place, uint32_t job, uint64_t deadline_ns)
{
    assert(job < JOB_WORLD_JOBS_MAX);
    assert(place == 0 || job == 1);
    *(place == 0 ? &world->deadlines_ns[job] : &world->places[place].deadline_ns) = deadline_ns;
}

/* The node says what it is like: so many cores of one thread. */
static void survey(struct job_world *world, uint32_t place, uint32_t job)
{
    struct survey answer = {.why = ""};
    struct job_event event = {.kind = JOB_EVENT_SURVEYED, .job = job};
    struct topology topology;
    struct ranges allowed = {0};
    struct buffer payload = {0};

    world->places[place].surveys++;
    if (world->cores == 0)
        return;
    topology_init(&topology, world->cores);
    for (uint32_t i = 0; i < world->cores; i++)
        topology.os[i] = topology.objects[TOPOLOGY_CORE][i] = i;
    topology_number(&topology);
    topology_all(&topology, &allowed);
    (void)placement_machines_add(&answer.machines, &topology, &allowed, place - 1, place - 1);
    survey_encode(&answer, &payload);
    event.message = message_from_buffer(&payload);
    push(world, 0, place, &event);
    message_release(event.message);
    survey_fini(&answer);
    topology_fini(&topology);
    ranges_fini(&allowed);
    buffer_fini(&payload);
}

static void do_action(struct job_world *world, uint32_t place, struct job_action *action)
{
    struct job_world_place *at = &world->places[place];

    trace_action(world, place, action);
    switch (action->kind) {
    case JOB_ACTION_BROADCAST:
        broadcast(world, action);
        break;
    case JOB_ACTION_CONTRIBUTE:
        contribute(world, place, action);
        break;
    case JOB_ACTION_SEND:
        send_root(world, place, action);
        break;
    case JOB_ACTION_SURVEY:
        survey(world, place, action->job);
        break;
    case JOB_ACTION_OPEN:
        at->opened++;
        break;
    case JOB_ACTION_START:
        at->starts += action->start.count;
        at->start_first = action->start.first;
        break;
    case JOB_ACTION_SEAL:
        at->seals++;
        break;
    case JOB_ACTION_CANCEL_STARTS:
        at->cancelled_starts++;
        break;
    case JOB_ACTION_SIGNAL:
        at->signal = action->signal;
        break;
    case JOB_ACTION_END_GROUP:
        at->end_grace_ms = action->grace_ms;
        break;
    case JOB_ACTION_CUT_OUTPUT:
        at->cut = action->cut.discard;
        break;
    case JOB_ACTION_CLOSE:
        at->closed++;
        break;
    case JOB_ACTION_STARTED:
        world->started++;
        check_book(world);
        break;
    case JOB_ACTION_ENDED:
        check_book(world);
        world->reports++;
        world->end = *action->end;
        break;
    case JOB_ACTION_TEXT:
        snprintf(world->text, sizeof world->text, "%s", action->text.words);
        break;
    case JOB_ACTION_LEAVE:
        world->leaves++;
        break;
    case JOB_ACTION_TIMER:
        set_timer(world, place, action->job, action->deadline_ns);
        break;
    default:
        break;
    }
}

static void step(struct job_world *world, uint32_t place, struct job_event *event)
{
    struct job_actions actions;

    if (is_dead(world, place))
        return;
    job_actions_init(&actions);
    event->now_ns = world->now_ns;
    instance_step(world->places[place].instance, event, &actions);
    for (uint32_t i = 0; i < actions.count; i++)
        do_action(world, place, &actions.items[i]);
    job_actions_fini(&actions);
}

void job_world_release(struct job_world *world)
{
    struct delivery *delivery;

    while ((delivery = pop(world))) {
        delivery->event.key = &delivery->key;
        delivery->event.places = &delivery->places;
        delivery->event.message = delivery->message;
        step(world, delivery->place, &delivery->event);
        delivery_destroy(delivery);
    }
}

void job_world_drop_held(struct job_world *world)
{
    unsigned int hold = world->hold;
    struct delivery *delivery;

    job_world_release(world);
    world->hold = 0;
    while ((delivery = pop(world)))
        delivery_destroy(delivery);
    world->hold = hold;
}

void job_world_event(struct job_world *world, uint32_t place, struct job_event event)
{
    step(world, place, &event);
    job_world_release(world);
}

void job_world_kill(struct job_world *world, uint32_t place)
{
    struct ranges places = {0};
    struct job_event seen = {
        .kind = JOB_EVENT_SEEN, .places = &places, .status = ENDPOINT_LOSS_CLOSED};
    struct job_event event = {.kind = JOB_EVENT_LOST, .places = &places};

    instance_destroy(world->places[place].instance);
    world->places[place].instance = NULL;
    ranges_add(&places, place, place);
    push(world, 0, 0, &seen);
    for (uint32_t i = 0; i <= world->nodes; i++)
        push(world, 0, i, &event);
    for (struct gather *gather = world->gathers; gather; gather = gather->next)
        gather_check(world, gather);
    ranges_fini(&places);
    job_world_release(world);
}

/* The job (0: the instance) whose time comes next. */
static uint32_t next_timer(const struct job_world *world)
{
    uint32_t next = 0;

    for (uint32_t job = 1; job < JOB_WORLD_JOBS_MAX; job++)
        if (world->deadlines_ns[job] < world->deadlines_ns[next])
            next = job;
    return next;
}

/* One after the other: they do not meet meanwhile. */
static void part_passes(struct job_world *world, uint32_t place, uint64_t end_ns)
{
    struct job_world_place *at = &world->places[place];

    while (at->deadline_ns <= end_ns) {
        world->now_ns = at->deadline_ns;
        at->deadline_ns = UINT64_MAX;
        job_world_event(world, place, (struct job_event){.kind = JOB_EVENT_TIMER, .job = 1});
    }
}

void job_world_pass(struct job_world *world, uint32_t milliseconds)
{
    uint64_t end_ns = world->now_ns + milliseconds * NS_PER_MS;
    uint32_t job;

    while (world->deadlines_ns[job = next_timer(world)] <= end_ns) {
        world->now_ns = world->deadlines_ns[job];
        world->deadlines_ns[job] = UINT64_MAX;
        job_world_event(world, 0,
                        (struct job_event){.kind = JOB_EVENT_TIMER,
                                           .job = job,
                                           .places = job ? NULL : &world->missing});
    }
    for (uint32_t place = 1; place <= world->nodes; place++)
        part_passes(world, place, end_ns);
    world->now_ns = end_ns;
}

/* ---- life ---- */

struct job_world *job_world_create(uint32_t nodes, uint32_t slots)
{
    return job_world_create_with(nodes, slots, INSTANCE_LEAVES_WITH_JOB);
}

struct job_world *job_world_create_with(uint32_t nodes, uint32_t slots, enum instance_policy policy)
{
    return job_world_create_spares(nodes, slots, 0, policy);
}

struct job_world *job_world_create_spares(uint32_t nodes, uint32_t slots, uint32_t spares,
                                          enum instance_policy policy)
{
    struct job_world *world = memory_allocate_zeroed(sizeof *world);

    assert(nodes <= JOB_WORLD_NODES_MAX);
    instance_spec_init(&world->instance);
    world->instance.start_retries = 0;
    world->instance.places = nodes + 1;
    world->instance.spares = spares;
    allocation_init(&world->allocation);
    allocation_generate(&world->allocation, "n", nodes, slots);
    world->nodes = nodes;
    world->now_ns = NS_PER_MS;
    for (uint32_t job = 0; job < JOB_WORLD_JOBS_MAX; job++)
        world->deadlines_ns[job] = UINT64_MAX;
    for (uint32_t place = 0; place <= nodes; place++) {
        world->places[place].end_grace_ms = world->places[place].cut = -1;
        world->places[place].deadline_ns = UINT64_MAX;
        world->places[place].instance = instance_create(
            &world->instance, place, place == 0 ? &world->allocation : NULL, policy);
    }
    return world;
}

void job_world_destroy(struct job_world *world)
{
    job_world_drop_held(world);
    gathers_destroy(world);
    for (uint32_t place = 0; place <= world->nodes; place++)
        instance_destroy(world->places[place].instance);
    ranges_fini(&world->missing);
    allocation_fini(&world->allocation);
    instance_spec_fini(&world->instance);
    buffer_fini(&world->trace);
    free(world);
}
