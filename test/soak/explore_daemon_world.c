/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/soak/explore_daemon.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wire.h"

struct world *world;

void world_wrong(const char *format, ...)
{
    va_list arguments;

    if (world->failure[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof(world->failure), format, arguments);
    va_end(arguments);
}

/* ---- the queue ---- */

void item_push(enum item_kind kind, uint32_t from, uint32_t to, const struct daemon_event *event)
{
    struct item *item = memory_allocate_zeroed(sizeof(*item));

    assert(world->items_count < ITEMS_MAX);
    item->kind = kind;
    item->from = from;
    item->to = to;
    item->event = *event;
    message_reference(event->message);
    if (event->key != NULL) {
        item->key = *event->key;
        item->event.key = &item->key;
    }
    if (event->places != NULL) {
        ranges_copy(&item->places, event->places);
        item->event.places = &item->places;
    }
    if (event->job_event != NULL) {
        item->job_event = *event->job_event;
        item->event.job_event = &item->job_event;
        item->job = event->job_event->job;
    }
    world->items[world->items_count++] = item;
}

void item_free(struct item *item)
{
    message_release(item->event.message);
    ranges_fini(&item->places);
    free(item);
}

void item_remove(uint32_t at)
{
    world->items_count--;
    memmove(world->items + at, world->items + at + 1,
            (world->items_count - at) * sizeof(*world->items));
    world->items[world->items_count] = NULL;
}

static bool is_same_stream(const struct item *a, const struct item *b)
{
    return a->kind == b->kind && a->to == b->to && a->from == b->from && a->job == b->job;
}

bool item_is_first(uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (is_same_stream(world->items[i], world->items[at]))
            return false;
    return true;
}

/* ---- the tree ---- */

static uint32_t place_of(const void *context)
{
    return (uint32_t)((const struct place *)context - world->places);
}

bool place_is_alive(uint32_t place)
{
    return world->places[place].core != NULL;
}

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    struct daemon_event event = {.kind = DAEMON_EVENT_BROADCAST, .message = message};

    assert(place_of(context) == 0);
    for (uint32_t place = 0; place < PLACES; place++)
        if (place_is_alive(place) && (places == NULL || ranges_contains(places, place)))
            item_push(ITEM_ORDERED, 0, place, &event);
    message_release(message);
    return 0;
}

static struct gather *gather_of(const struct operation_name *key, const struct ranges *members)
{
    struct gather *spare = NULL;

    for (uint32_t i = 0; i < GATHERS; i++) {
        struct gather *gather = &world->gathers[i];

        if (!gather->is_used) {
            spare = spare != NULL ? spare : gather;
        } else if (gather->key.set_id == key->set_id && gather->key.kind == key->kind &&
                   gather->key.generation == key->generation) {
            if (!ranges_equal(&gather->members, members))
                world_wrong("members of a gather name different sets");
            return gather;
        }
    }
    assert(spare != NULL);
    spare->is_used = true;
    spare->key = *key;
    ranges_copy(&spare->members, members);
    return spare;
}

static void gather_answer(struct gather *gather, int status, const struct ranges *lost)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_RESULT, .key = &gather->key, .status = status, .places = lost};
    struct buffer merged = {0};

    gather->is_over = true;
    for (uint32_t place = 1; place < PLACES; place++) {
        if (gather->parts[place] != NULL && status == 0)
            job_merges[gather->key.merge](&merged, gather->parts[place]->data,
                                          gather->parts[place]->length_bytes);
        message_release(gather->parts[place]);
        gather->parts[place] = NULL;
        if (place_is_alive(place) && ranges_contains(&gather->called, place))
            item_push(ITEM_RESULT, 0, place, &event);
    }
    if (status == 0)
        event.message = message_from_buffer(&merged);
    item_push(ITEM_RESULT, 0, 0, &event);
    message_release(event.message);
    buffer_fini(&merged);
}

/* Over when all members have called, or one is dead. */
void gather_check(struct gather *gather)
{
    struct ranges lost = {0};

    if (!gather->is_used || gather->is_over)
        return;
    for (uint32_t place = 1; place < PLACES; place++)
        if (!place_is_alive(place) && ranges_contains(&gather->members, place))
            ranges_add(&lost, place, place);
    if (!ranges_is_empty(&lost))
        gather_answer(gather, -EHOSTDOWN, &lost);
    else if (ranges_equal(&gather->called, &gather->members))
        gather_answer(gather, 0, &lost);
    ranges_fini(&lost);
}

static void tree_contribute(void *context, const struct operation_name *key,
                            const struct ranges *places, struct message *message)
{
    uint32_t place = place_of(context);
    struct daemon_event event = {.kind = DAEMON_EVENT_RESULT, .key = key, .places = places};
    bool is_forgotten = world->is_forgotten[key->owner];
    struct gather *gather = is_forgotten ? NULL : gather_of(key, places);

    if (is_forgotten || gather->is_over) {
        event.status = is_forgotten ? -ECANCELED : -EHOSTDOWN;
        item_push(ITEM_RESULT, 0, place, &event);
        message_release(message);
        return;
    }
    if (ranges_contains(&gather->called, place))
        world_wrong("%u contributes twice", place);
    ranges_add(&gather->called, place, place);
    gather->parts[place] = message;
    gather_check(gather);
}

static void tree_forget(void *context, uint32_t owner, const struct ranges *places)
{
    (void)context;
    (void)places;
    world->is_forgotten[owner] = true;
    for (uint32_t i = 0; i < GATHERS; i++) {
        struct gather *gather = &world->gathers[i];

        if (!gather->is_used || gather->key.owner != owner)
            continue;
        if (!gather->is_over)
            world_wrong("an operation of job %u is forgotten that is not over", owner);
        ranges_fini(&gather->members);
        ranges_fini(&gather->called);
        memset(gather, 0, sizeof(*gather));
    }
}

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    struct daemon_event event = {
        .kind = DAEMON_EVENT_RECEIVED, .place = place_of(context), .message = message};

    (void)class;
    if (place_is_alive(place))
        item_push(ITEM_MESSAGE, event.place, place, &event);
    message_release(message);
}

static uint32_t tree_request(void *context, uint32_t place, struct message *message)
{
    (void)context;
    (void)place;
    message_release(message);
    world_wrong("a request, and nobody has any");
    return 1;
}

static void tree_reply(void *context, uint32_t source, uint32_t id, struct message *message)
{
    (void)context;
    (void)source;
    (void)id;
    message_release(message);
    world_wrong("a reply, and nobody has asked");
}

static void tree_place_failed(void *context, uint32_t place)
{
    (void)context;
    (void)place;
}

static void tree_leave(void *context)
{
    (void)context;
    world_wrong("the instance leaves, and it should stay");
}

static int tree_is_complete(void *context)
{
    (void)context;
    return 1;
}

static void tree_missing(void *context, struct ranges *ret_places)
{
    (void)context;
    ranges_clear(ret_places);
}

const struct daemon_tree_ops script_tree_ops = {
    .broadcast = tree_broadcast,
    .contribute = tree_contribute,
    .forget = tree_forget,
    .send = tree_send,
    .request = tree_request,
    .reply = tree_reply,
    .place_failed = tree_place_failed,
    .leave = tree_leave,
    .is_complete = tree_is_complete,
    .missing = tree_missing,
};

/* ---- parts of jobs ---- */

static struct part *part_of(void *context, uint32_t job)
{
    assert(job > 0 && job <= JOBS);
    return &((struct place *)context)->parts[job];
}

static void helper_says(void *context, uint32_t job, enum job_event_kind kind, uint32_t index,
                        int64_t number, bool by_us)
{
    struct job_event happened = {
        .kind = kind, .job = job, .index = index, .number = number, .flag = by_us};
    struct daemon_event event = {.kind = DAEMON_EVENT_JOB, .job_event = &happened};
    uint32_t place = place_of(context);

    item_push(kind == JOB_EVENT_DRAINED ? ITEM_DRAINED : ITEM_HELPER, place, place, &event);
}

void rank_ends(void *context, uint32_t job, uint32_t index, int wait_status, bool by_us)
{
    struct part *part = part_of(context, job);

    part->running &= ~(1u << index);
    part->ended |= 1u << index;
    helper_says(context, job, JOB_EVENT_EXITED, index, wait_status, by_us);
    if (part->running == 0)
        helper_says(context, job, JOB_EVENT_GROUP_EMPTY, 0, 0, false);
}

static void ranks_open(void *context, uint32_t job)
{
    struct part *part = part_of(context, job);

    if (part->is_open)
        world_wrong("job %u is opened twice", job);
    part->is_open = true;
}

static void ranks_close(void *context, uint32_t job)
{
    struct part *part = part_of(context, job);

    if (!part->is_open)
        world_wrong("job %u is closed, and not open", job);
    if (part->running != 0)
        world_wrong("job %u is closed on %u while its processes run", job, place_of(context));
    memset(part, 0, sizeof(*part));
}

static void ranks_start(void *context, uint32_t job, uint32_t first, uint32_t count)
{
    struct part *part = part_of(context, job);

    for (uint32_t index = first; index < first + count; index++) {
        if ((part->running | part->ended) & 1u << index)
            world_wrong("a rank of job %u is started twice", job);
        part->running |= 1u << index;
        helper_says(context, job, JOB_EVENT_STARTED, index, 100, false);
    }
}

static void ranks_seal(void *context, uint32_t job)
{
    (void)context;
    world_wrong("job %u is sealed, and restarts no ranks", job);
}

static void ranks_cancel_starts(void *context, uint32_t job)
{
    (void)context; /* all are under way */
    (void)job;
}

static void ranks_signal(void *context, uint32_t job, int number, const struct ranges *ranks)
{
    (void)context;
    (void)ranks;
    (void)number;
    world_wrong("job %u gets a signal, and nobody sent one", job);
}

static void ranks_end(void *context, uint32_t job, uint32_t grace_ms)
{
    const struct part *part = part_of(context, job);
    bool any = part->running != 0;

    (void)grace_ms;
    for (uint32_t index = 0; index < RANKS_MAX; index++)
        if (part->running & 1u << index)
            rank_ends(context, job, index, 15, true);
    if (!any)
        helper_says(context, job, JOB_EVENT_GROUP_EMPTY, 0, 0, false);
}

static void ranks_end_all(void *context)
{
    (void)context;
    world_wrong("a daemon ends");
}

static void ranks_cut_output(void *context, uint32_t job, uint32_t within_ms, bool discard)
{
    struct part *part = part_of(context, job);

    (void)within_ms;
    (void)discard;
    if (!part->has_drained)
        helper_says(context, job, JOB_EVENT_DRAINED, 0, 0, false);
    part->has_drained = true;
}

static void ranks_credit(void *context, uint32_t job, uint32_t bytes)
{
    (void)context;
    (void)job;
    (void)bytes;
    world_wrong("credit, and there was no output");
}

static void ranks_renew_credit(void *context)
{
    (void)context;
}

static void ranks_input(void *context, uint32_t job, const void *data, size_t bytes)
{
    (void)context;
    (void)job;
    (void)data;
    (void)bytes;
    world_wrong("input, and nobody wrote any");
}

static uint8_t ranks_state(void *context, uint32_t job, uint32_t index)
{
    (void)context;
    (void)job;
    (void)index;
    return 'S';
}

static void ranks_survey(void *context, uint32_t job, uint32_t want, const char *require)
{
    (void)context;
    (void)want;
    (void)require;
    world_wrong("job %u asks what the nodes are like", job);
}

static const struct daemon_rank_ops rank_ops = {
    .open = ranks_open,
    .close = ranks_close,
    .start = ranks_start,
    .seal = ranks_seal,
    .cancel_starts = ranks_cancel_starts,
    .signal = ranks_signal,
    .end = ranks_end,
    .end_all = ranks_end_all,
    .cut_output = ranks_cut_output,
    .credit = ranks_credit,
    .renew_credit = ranks_renew_credit,
    .input = ranks_input,
    .state = ranks_state,
    .survey = ranks_survey,
};

static void pmi_lost(void *context, const struct ranges *places)
{
    (void)context; /* nobody calls PMIx */
    (void)places;
}

static const struct daemon_pmi_ops pmi_ops = {.lost = pmi_lost};

/* ---- clients, clock, starter ---- */

static void clients_send(void *context, uint32_t number, uint8_t type, const void *data,
                         size_t bytes)
{
    struct client *client = &world->clients[number];
    struct control_job_end end;
    struct wire_reader reader;

    (void)context;
    if (client->has_closed)
        world_wrong("client %u is sent something after it has gone", number);
    if (type != CONTROL_JOB_END)
        return;
    wire_reader_init(&reader, data, bytes);
    if (wire_get_u32(&reader) + 1 != number)
        world_wrong("client %u is told of another's job", number);
    if (control_job_end_decode(&end, &reader) < 0)
        world_wrong("a report cannot be decoded");
    if (++client->reports > 1)
        world_wrong("client %u is told twice", number);
    client->status = end.status;
}

static size_t clients_queued(void *context, uint32_t client)
{
    (void)context;
    (void)client;
    return 0;
}

static void clients_drop(void *context, uint32_t client)
{
    (void)context;
    world_wrong("client %u is dropped", client);
}

static void clients_detached(void *context)
{
    (void)context;
}

static const struct daemon_client_ops client_ops = {
    .send = clients_send,
    .queued = clients_queued,
    .drop = clients_drop,
    .detached = clients_detached,
};

static uint64_t ops_now_ns(void *context)
{
    (void)context;
    return world->now_ns;
}

static void ops_timer(void *context, enum daemon_timer timer, uint32_t job, uint64_t deadline_ns)
{
    if (timer == DAEMON_TIMER_JOB && place_of(context) == 0)
        world->deadlines_ns[job] = deadline_ns;
    else
        world_wrong("a daemon sets the timer of its end");
}

static void ops_print(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static void starter_clean(void *context, uint32_t place)
{
    if (place_of(context) != 0 || place_is_alive(place))
        world_wrong("%u is cleaned up, and lives", place);
}

static const char *starter_name(void *context, uint32_t place, char name[HOST_NAME_BYTES_MAX + 1])
{
    (void)context;
    snprintf(name, HOST_NAME_BYTES_MAX + 1, "n%u", place);
    return name;
}

static const struct daemon_starter_ops starter_ops = {.clean = starter_clean, .name = starter_name};

const struct daemon_ops script_ops = {
    .now_ns = ops_now_ns,
    .timer = ops_timer,
    .print = ops_print,
    .ranks = &rank_ops,
    .pmi = &pmi_ops,
    .starter = &starter_ops,
    .clients = &client_ops,
};
