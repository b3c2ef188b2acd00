/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/support/names_world.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

#define DELAY_NS_MAX      (10 * NS_PER_MS)
#define LEARN_NS_MAX      (30 * NS_PER_MS)
#define JOB               1u
#define OPEN_MAX_REQUESTS 8192u /* ids that are far apart may share a place */

enum world_kind { WORLD_REQUEST, WORLD_REPLY, WORLD_LOST, WORLD_DOWN };

struct world_message {
    enum world_kind kind;
    uint64_t time_ns;
    uint32_t source;
    uint32_t place; /* to whom */
    uint32_t id;
    struct message *message;
    struct world_call *call; /* of a process, which is not a message */
    bool is_open;            /* a request that has not been answered */
};

/* ---- Messages ---- */

static uint64_t delay_ns(struct names_world *world)
{
    return world->is_calm ? NS_PER_MS : 1 + random_below(&world->random, DELAY_NS_MAX);
}

static struct world_message *add(struct names_world *world, enum world_kind kind, uint32_t source,
                                 uint32_t place, uint32_t id, struct message *message)
{
    struct world_message *added;

    world->messages =
        memory_resize(world->messages, (world->messages_count + 1) * sizeof(*world->messages));
    added = &world->messages[world->messages_count++];
    *added = (struct world_message){.kind = kind,
                                    .time_ns = world->now_ns + delay_ns(world),
                                    .source = source,
                                    .place = place,
                                    .id = id,
                                    .message = message};
    world->sent += source != place && kind <= WORLD_REPLY;
    return added;
}

static void drop(struct names_world *world, uint32_t index)
{
    message_release(world->messages[index].message);
    world->messages[index] = world->messages[--world->messages_count];
}

/* The context of a place's operations. */
struct world_place {
    struct names_world *world;
    uint32_t place;
};

static struct world_place contexts[NAMES_WORLD_NODES_MAX + 1];

/* Requests that have no answer yet, to find those that fail with a place. */
static struct {
    uint32_t id;
    uint32_t source;
    uint32_t place;
    struct world_call *call;
} open_requests[OPEN_MAX_REQUESTS];

static uint32_t request_place(void *context, uint32_t place, struct message *message)
{
    const struct world_place *from = context;
    struct names_world *world = from->world;
    uint32_t id = ++world->last_request;

    open_requests[id % OPEN_MAX_REQUESTS].id = id;
    open_requests[id % OPEN_MAX_REQUESTS].source = from->place;
    open_requests[id % OPEN_MAX_REQUESTS].place = place;
    open_requests[id % OPEN_MAX_REQUESTS].call = NULL;
    if (!world->is_calm && random_chance(&world->random, 0.05))
        (void)add(world, WORLD_REQUEST, from->place, place, id, message_reference(message));
    if (world->is_dead[place] && world->now_ns >= world->learns_ns[from->place])
        (void)add(world, WORLD_DOWN, place, from->place, id, NULL);
    (void)add(world, WORLD_REQUEST, from->place, place, id, message);
    return id;
}

static void answer_call(struct world_call *call, const struct message *message)
{
    struct pmi_names_found found;
    struct wire_reader reader;

    wire_reader_init(&reader, message->data, message->length_bytes);
    assert(call->status == 1);
    call->status = name_answer_decode(0, &reader);
    if (wire_left(&reader) == 4)
        call->removed = pmi_names_removed_decode(&reader);
    while (wire_left(&reader) > 0) {
        pmi_names_found_decode(&found, &reader);
        assert(wire_status(&reader) == 0 && found.value.length_bytes < sizeof(call->value));
        call->rank = found.rank;
        call->found++;
        snprintf(call->value, sizeof(call->value), "%.*s", (int)found.value.length_bytes,
                 (const char *)found.value.data);
    }
}

static void reply_place(void *context, uint32_t source, uint32_t id, struct message *message)
{
    const struct world_place *from = context;

    assert(!from->world->is_dead[from->place]);
    if (open_requests[id % OPEN_MAX_REQUESTS].id == id &&
        open_requests[id % OPEN_MAX_REQUESTS].call != NULL) {
        answer_call(open_requests[id % OPEN_MAX_REQUESTS].call, message);
        open_requests[id % OPEN_MAX_REQUESTS].id = 0;
        message_release(message);
        return;
    }
    (void)add(from->world, WORLD_REPLY, from->place, source, id, message);
}

static void set_timer(void *context, uint64_t deadline_ns)
{
    const struct world_place *from = context;

    from->world->timer_ns[from->place] = deadline_ns;
}

static uint64_t now_ns(void *context)
{
    return ((struct world_place *)context)->world->now_ns;
}

static bool job_is_running(void *context, uint32_t job)
{
    return !((struct world_place *)context)->world->job_is_over && job == JOB;
}

/* ---- Life ---- */

void names_world_open(struct names_world *world, uint64_t seed, uint32_t nodes)
{
    *world = (struct names_world){.nodes = nodes};
    assert(nodes <= NAMES_WORLD_NODES_MAX);
    random_init(&world->random, seed);
    name_ring_init(&world->ring, nodes);
    memset(open_requests, 0, sizeof(open_requests));
    for (uint32_t place = 0; place <= nodes; place++) {
        struct names_ops ops = {.context = &contexts[place],
                                .request = request_place,
                                .reply = reply_place,
                                .timer = set_timer,
                                .now_ns = now_ns,
                                .job_is_running = job_is_running};

        contexts[place] = (struct world_place){.world = world, .place = place};
        world->timer_ns[place] = UINT64_MAX;
        world->places[place] = names_create(place, nodes, &ops);
    }
}

void names_world_close(struct names_world *world)
{
    for (uint32_t place = 0; place <= world->nodes; place++)
        names_destroy(world->places[place]);
    while (world->messages_count > 0)
        drop(world, 0);
    free(world->messages);
    name_ring_fini(&world->ring);
}

/* A reply to a request that is not open any more, or to one that came twice, is ignored, as in the overlay. */
static void give_reply(struct names_world *world, uint32_t place, uint32_t id, int status,
                       const struct message *message)
{
    if (open_requests[id % OPEN_MAX_REQUESTS].id != id ||
        open_requests[id % OPEN_MAX_REQUESTS].source != place)
        return;
    open_requests[id % OPEN_MAX_REQUESTS].id = 0;
    (void)names_reply(world->places[place], id, status, message);
}

static void give_request(struct names_world *world, const struct world_message *given)
{
    struct buffer answer = {0};
    struct wire_reader reader;
    uint8_t kind;

    wire_reader_init(&reader, given->message->data, given->message->length_bytes);
    kind = wire_get_u8(&reader);
    if (world->loses_copies && kind == JOB_MESSAGE_NAME_COPY) {
        name_answer_encode(0, NULL, &answer);
        reply_place(&contexts[given->place], given->source, given->id,
                    message_from_buffer(&answer));
        buffer_fini(&answer);
        return;
    }
    if (names_request(world->places[given->place], (enum job_message)kind, given->source, given->id,
                      &reader) < 0)
        assert(0 && "a malformed request");
}

static void learn(struct names_world *world, uint32_t place, uint32_t lost)
{
    struct ranges places = {0};

    ranges_add(&places, lost, lost);
    names_lost(world->places[place], &places);
    ranges_fini(&places);
    for (uint32_t i = 0; i < OPEN_MAX_REQUESTS; i++) {
        if (open_requests[i].id != 0 && open_requests[i].source == place &&
            open_requests[i].place == lost && open_requests[i].call == NULL)
            (void)add(world, WORLD_DOWN, lost, place, open_requests[i].id, NULL);
    }
}

static void give(struct names_world *world, struct world_message given)
{
    if (!world->is_dead[given.place] && given.kind == WORLD_REQUEST)
        give_request(world, &given);
    else if (!world->is_dead[given.place] && given.kind == WORLD_REPLY)
        give_reply(world, given.place, given.id, 0, given.message);
    else if (!world->is_dead[given.place] && given.kind == WORLD_LOST)
        learn(world, given.place, given.source);
    else if (!world->is_dead[given.place])
        give_reply(world, given.place, given.id, -EHOSTDOWN, NULL);
    message_release(given.message);
}

static uint32_t first_message(const struct names_world *world)
{
    uint32_t first = 0;

    for (uint32_t i = 1; i < world->messages_count; i++) {
        if (world->messages[i].time_ns < world->messages[first].time_ns)
            first = i;
    }
    return first;
}

/* The place whose timer is next; UINT32_MAX if none runs. */
static uint32_t first_timer(const struct names_world *world)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t place = 0; place <= world->nodes; place++) {
        if (!world->is_dead[place] && world->timer_ns[place] != UINT64_MAX &&
            (first == UINT32_MAX || world->timer_ns[place] < world->timer_ns[first]))
            first = place;
    }
    return first;
}

void names_world_until(struct names_world *world, uint64_t time_ns)
{
    for (;;) {
        uint32_t timer = first_timer(world), index = first_message(world);
        uint64_t timer_ns = timer == UINT32_MAX ? UINT64_MAX : world->timer_ns[timer];
        uint64_t message_ns =
            world->messages_count == 0 ? UINT64_MAX : world->messages[index].time_ns;
        uint64_t next_ns = timer_ns < message_ns ? timer_ns : message_ns;

        if (next_ns == UINT64_MAX || next_ns > time_ns)
            break;
        world->now_ns = next_ns;
        if (timer_ns <= message_ns) {
            world->timer_ns[timer] = UINT64_MAX;
            names_timer(world->places[timer]);
        } else {
            struct world_message given = world->messages[index];

            world->messages[index] = world->messages[--world->messages_count];
            give(world, given);
        }
    }
    if (time_ns != UINT64_MAX)
        world->now_ns = time_ns;
}

void names_world_kill(struct names_world *world, uint32_t lost)
{
    struct ranges places = {0};

    ranges_add(&places, lost, lost);
    (void)name_ring_lose(&world->ring, &places);
    ranges_fini(&places);
    world->is_dead[lost] = true;
    for (uint32_t place = 0; place <= world->nodes; place++) {
        uint64_t time_ns = world->now_ns + random_below(&world->random, LEARN_NS_MAX);

        if (world->is_dead[place])
            continue;
        if (time_ns <= world->learns_ns[place])
            time_ns = world->learns_ns[place] + 1;
        world->learns_ns[place] = time_ns;
        add(world, WORLD_LOST, lost, place, 0, NULL)->time_ns = time_ns;
    }
}

/* ---- What processes ask ---- */

void names_world_ask(struct names_world *world, struct world_call *call, uint32_t rank,
                     enum name_verb verb, const struct pmi_names *how, const char *keys,
                     const char *value, uint32_t timeout_ms)
{
    struct name_request request = {.verb = verb,
                                   .job = JOB,
                                   .rank = rank,
                                   .timeout_ms = timeout_ms,
                                   .namespace = {(const unsigned char *)"ns", 2}};
    struct pmi_names names = *how;
    struct buffer data = {0}, list = {0}, payload = {0};
    char *copy = memory_copy_string(keys), *rest = copy, *key;
    struct wire_reader reader;
    uint32_t id = ++world->last_request;

    *call = (struct world_call){.status = 1};
    while ((key = strsep(&rest, ",")) != NULL && *key != '\0') {
        pmi_names_key_put(&list, key, value, value != NULL ? strlen(value) : 0);
        names.count++;
    }
    names.keys = (struct wire_bytes){list.data, list.length_bytes};
    pmi_names_encode(&names, &data);
    name_request_encode(&request, data.data, data.length_bytes, &payload);
    open_requests[id % OPEN_MAX_REQUESTS].id = id;
    open_requests[id % OPEN_MAX_REQUESTS].source = rank;
    open_requests[id % OPEN_MAX_REQUESTS].call = call;
    wire_reader_init(&reader, payload.data + 1, payload.length_bytes - 1);
    if (names_request(world->places[rank], JOB_MESSAGE_NAMES, rank, id, &reader) < 0)
        assert(0 && "a malformed request");
    buffer_fini(&data);
    buffer_fini(&list);
    buffer_fini(&payload);
    free(copy);
}

int names_world_say(struct names_world *world, struct world_call *call, uint32_t rank,
                    enum name_verb verb, const struct pmi_names *how, const char *keys,
                    const char *value)
{
    names_world_ask(world, call, rank, verb, how, keys, value, 0);
    names_world_until(world, UINT64_MAX);
    return call->status;
}

/* ---- Random worlds ---- */

#define KEYS             24u
#define LOOKUPS          64u
#define RANDOM_NODES_MAX 16u
#define ROUNDS           400u

enum key_state { KEY_ABSENT, KEY_CHANGING, KEY_PRESENT, KEY_UNKNOWN };

/* A key that one rank alone publishes and removes; others try to publish it, too. */
struct world_key {
    uint32_t owner;
    enum key_state state;
    enum name_verb verb; /* under way */
    uint32_t version;    /* of its state */
    bool ends_with_owner;
    char name[16];
    char value[32];
    struct world_call call;
};

struct world_lookup {
    struct world_call call;
    uint32_t rank;
    uint32_t key;
    uint32_t version; /* of the key when it began */
    enum name_verb verb;
    bool is_open;
    bool waits;
};

struct story {
    struct names_world world;
    struct world_key keys[KEYS];
    struct world_lookup lookups[LOOKUPS];
    struct names_totals *totals;
    char *wrong;
};

static void complain(struct story *story, const struct world_key *key, const char *what, int status)
{
    if (story->wrong[0] == '\0')
        snprintf(story->wrong, 256, "%s of rank %u at %.3f ms: %s (%d)", key->name, key->owner,
                 (double)story->world.now_ns / NS_PER_MS, what, status);
}

static void set_state(struct world_key *key, enum key_state state)
{
    key->state = state;
    key->version++;
}

static void settle_key(struct story *story, struct world_key *key)
{
    if (story->world.is_dead[key->owner] && key->state == KEY_CHANGING) {
        set_state(key, KEY_UNKNOWN);
    } else if (story->world.is_dead[key->owner] && key->state == KEY_PRESENT &&
               key->ends_with_owner) {
        set_state(key, KEY_UNKNOWN); /* until all have learnt of it */
    } else if (key->state == KEY_CHANGING && key->call.status != 1) {
        if (key->call.status != 0)
            complain(story, key, "its owner is refused", key->call.status);
        if (key->verb == NAME_UNPUBLISH && key->call.removed != 1 &&
            ranges_is_empty(&story->world.ring.lost)) /* else the request may have been repeated */
            complain(story, key, "was gone when it was removed", (int)key->call.removed);
        story->totals->published += key->verb == NAME_PUBLISH;
        story->totals->removed += key->verb == NAME_UNPUBLISH;
        set_state(key, key->verb == NAME_PUBLISH ? KEY_PRESENT : KEY_ABSENT);
    }
}

/* A request of any rank; a publish is by another than the owner, while the key is there, and must be refused. */
static void settle_lookup(struct story *story, struct world_lookup *lookup)
{
    struct world_key *key = &story->keys[lookup->key];
    bool is_steady = key->version == lookup->version;

    if (!lookup->is_open)
        return;
    if (story->world.is_dead[lookup->rank]) {
        lookup->is_open = false;
        if (lookup->verb == NAME_PUBLISH)
            set_state(key, KEY_UNKNOWN); /* it may come when the key is free again */
        return;
    }
    if (lookup->call.status == 1)
        return;
    lookup->is_open = false;
    if (lookup->verb == NAME_PUBLISH) {
        if (lookup->call.status != -EEXIST && is_steady)
            complain(story, key, "could be published twice", lookup->call.status);
        story->totals->refused += lookup->call.status == -EEXIST;
        return;
    }
    if (lookup->call.status == 0 && lookup->call.rank != key->owner)
        complain(story, key, "has another owner", (int)lookup->call.rank);
    story->totals->found += lookup->call.status == 0;
    story->totals->waited += lookup->waits && lookup->call.status == 0 && !is_steady;
    if (is_steady && key->state == KEY_PRESENT &&
        (lookup->call.status != 0 || strcmp(lookup->call.value, key->value) != 0))
        complain(story, key, "is not found", lookup->call.status);
    if (is_steady && key->state == KEY_ABSENT && lookup->call.status != -ENOENT)
        complain(story, key, "is found", lookup->call.status);
}

static void settle(struct story *story)
{
    for (uint32_t i = 0; i < LOOKUPS; i++)
        settle_lookup(story, &story->lookups[i]);
    for (uint32_t i = 0; i < KEYS; i++)
        settle_key(story, &story->keys[i]);
}

static bool has_rival(const struct story *story, const struct world_key *key)
{
    for (uint32_t i = 0; i < LOOKUPS; i++) {
        if (story->lookups[i].is_open && story->lookups[i].verb == NAME_PUBLISH &&
            key == &story->keys[story->lookups[i].key])
            return true;
    }
    return false;
}

static void change_key(struct story *story, struct world_key *key)
{
    struct pmi_names how = {.range = PMI_NAMES_SESSION,
                            .persistence = key->ends_with_owner ? PMI_NAMES_UNTIL_EXIT
                                                                : PMI_NAMES_UNTIL_REMOVED};

    if (story->world.is_dead[key->owner] ||
        (key->state != KEY_ABSENT && key->state != KEY_PRESENT) || has_rival(story, key))
        return;
    key->verb = key->state == KEY_ABSENT ? NAME_PUBLISH : NAME_UNPUBLISH;
    set_state(key, KEY_CHANGING);
    if (key->verb == NAME_PUBLISH)
        snprintf(key->value, sizeof(key->value), "%u of %u", key->version, key->owner);
    names_world_ask(&story->world, &key->call, key->owner, key->verb, &how, key->name,
                    key->verb == NAME_PUBLISH ? key->value : NULL, 0);
}

static uint32_t living_rank(struct story *story)
{
    uint32_t rank;

    do
        rank = 1 + (uint32_t)random_below(&story->world.random, story->world.nodes);
    while (story->world.is_dead[rank]);
    return rank;
}

static void look(struct story *story, struct world_lookup *lookup)
{
    struct random_state *random = &story->world.random;
    struct pmi_names how = {.range = PMI_NAMES_SESSION, .persistence = PMI_NAMES_UNTIL_REMOVED};
    const struct world_key *key;

    if (lookup->is_open)
        return;
    lookup->key = (uint32_t)random_below(random, KEYS);
    key = &story->keys[lookup->key];
    lookup->rank = living_rank(story);
    lookup->version = key->version;
    lookup->is_open = true;
    lookup->verb = key->state == KEY_PRESENT && !key->ends_with_owner && random_chance(random, 0.2)
                       ? NAME_PUBLISH
                       : NAME_LOOKUP;
    if (lookup->verb == NAME_PUBLISH && lookup->rank == key->owner)
        lookup->verb = NAME_LOOKUP;
    lookup->waits = lookup->verb == NAME_LOOKUP && random_chance(random, 0.3);
    how.waits = lookup->waits;
    names_world_ask(&story->world, &lookup->call, lookup->rank, lookup->verb, &how, key->name,
                    lookup->verb == NAME_PUBLISH ? "rival" : NULL, 0);
}

/* One place, or two at once that are not neighbours in the ring; then there is peace for a while. */
static void kill_some(struct story *story)
{
    struct names_world *world = &story->world;
    uint32_t living = world->nodes - (uint32_t)ranges_count(&world->ring.lost);
    uint32_t first = living_rank(story), second = living_rank(story);

    if (living <= 2)
        return;
    if (second == first || name_ring_next(&world->ring, first) == second ||
        name_ring_next(&world->ring, second) == first)
        second = first;
    names_world_kill(world, first);
    if (second != first)
        names_world_kill(world, second);
    story->totals->killed += 1 + (second != first);
    settle(story);
}

/* At the end each key is found by all or by none, and nobody waits for one that is there. */
static void judge(struct story *story)
{
    struct pmi_names how = {.range = PMI_NAMES_SESSION};
    struct world_call call;

    names_world_until(&story->world, UINT64_MAX);
    settle(story);
    for (uint32_t i = 0; i < LOOKUPS; i++) {
        const struct world_key *key = &story->keys[story->lookups[i].key];

        if (story->lookups[i].is_open && (!story->lookups[i].waits || key->state == KEY_PRESENT))
            complain(story, key, "a request is not answered", 0);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        const struct world_key *key = &story->keys[i];

        for (uint32_t rank = 1; rank <= story->world.nodes; rank++) {
            int status;

            if (story->world.is_dead[rank])
                continue;
            status =
                names_world_say(&story->world, &call, rank, NAME_LOOKUP, &how, key->name, NULL);
            if (key->state == KEY_PRESENT && (status != 0 || strcmp(call.value, key->value) != 0))
                complain(story, key, "is lost", status);
            if (status == 0 && (key->state == KEY_ABSENT ||
                                (key->ends_with_owner && story->world.is_dead[key->owner])))
                complain(story, key, "has stayed", status);
        }
    }
}

void names_world_run(uint64_t seed, bool loses_copies, struct names_totals *totals, char wrong[256])
{
    static struct story story;
    struct random_state *random = &story.world.random;
    uint64_t peace_ns = 0;
    uint32_t nodes;

    story = (struct story){.totals = totals, .wrong = wrong};
    wrong[0] = '\0';
    random_init(random, seed);
    nodes = 1 + (uint32_t)random_below(random, RANDOM_NODES_MAX);
    names_world_open(&story.world, seed, nodes);
    story.world.loses_copies = loses_copies;
    for (uint32_t i = 0; i < KEYS; i++) {
        story.keys[i].owner = 1 + (uint32_t)random_below(random, nodes);
        story.keys[i].ends_with_owner = random_chance(random, 0.3);
        snprintf(story.keys[i].name, sizeof(story.keys[i].name), "key %u", i);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (random_chance(random, 0.4))
            change_key(&story, &story.keys[random_below(random, KEYS)]);
        look(&story, &story.lookups[random_below(random, LOOKUPS)]);
        if (random_chance(random, 0.03) && story.world.now_ns >= peace_ns) {
            kill_some(&story);
            peace_ns = story.world.now_ns + 4 * (LEARN_NS_MAX + DELAY_NS_MAX);
        }
        names_world_until(&story.world, story.world.now_ns + random_below(random, DELAY_NS_MAX));
        settle(&story);
    }
    judge(&story);
    names_world_close(&story.world);
}
