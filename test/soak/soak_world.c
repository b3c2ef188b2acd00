/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/soak/soak.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void world_fault(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->failure[0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(world->failure, sizeof(world->failure), format, arguments);
    va_end(arguments);
}

static struct world *world_of(const struct cluster *cluster)
{
    return cluster->config.context;
}

void world_disturb(struct world *world)
{
    world->fault_ns = virtual_network_now_ns(world->cluster->sim);
}

/* Who is counted as dead may do something as long as its lease can last, and no longer. */
static void check_lease(struct world *world, uint32_t place)
{
    uint64_t dead_ns = world->told[place].dead_ns;

    if (dead_ns > 0 && virtual_network_now_ns(world->cluster->sim) > dead_ns + LEASE_NS / 2 * 3)
        world_fault(world, "%u acts %.1f s after it was counted as dead", place,
                    (double)(virtual_network_now_ns(world->cluster->sim) - dead_ns) / 1e9);
}

/* One draw in an expression: their order would be the compiler's, and a seed another world. */
uint32_t world_below(struct world *world, uint32_t bound)
{
    return (uint32_t)random_below(&world->random, bound);
}

bool world_survives(const struct world *world, uint32_t place)
{
    return cluster_is_alive(world->cluster, place);
}

/* ---- the programs of the members ---- */

static void merge_concatenate(struct buffer *merged, const void *other, size_t other_bytes)
{
    buffer_append(merged, other, other_bytes);
}

static endpoint_merge_function *const merges[] = {merge_concatenate};

int program_member(const struct program *program, uint32_t place)
{
    uint32_t low = 0;
    uint32_t high = program->members_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (program->members[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low < program->members_count && program->members[low] == place ? (int)low : -1;
}

struct outcome *program_outcome(const struct program *program, uint32_t generation, int member)
{
    return &program->outcomes[(size_t)(generation - 1) * program->members_count + (size_t)member];
}

uint8_t world_filler(uint32_t set, uint32_t generation, uint32_t place)
{
    return (uint8_t)(set * 31 + generation * 7 + place);
}

/* Very unequal: some have much, most little. */
static struct message *contribution(const struct program *program, uint32_t set,
                                    uint32_t generation, uint32_t place)
{
    uint64_t dice = hash_mix(((uint64_t)place << 32) + set * 64 + generation);
    uint32_t words[4] = {set, generation, place, 0};
    struct buffer out = {0};
    struct message *message;

    if (program->filler_bytes > 0 && dice % 3 != 0)
        words[3] = (uint32_t)((dice >> 8) % program->filler_bytes) >> (dice >> 40) % 8;
    buffer_append(&out, words, sizeof(words));
    memset(buffer_reserve(&out, words[3] + 1), world_filler(set, generation, place), words[3] + 1);
    buffer_commit(&out, words[3]);
    message = message_from_buffer(&out);
    buffer_fini(&out);
    return message;
}

/* Calls what the window allows. */
void program_run(struct world *world, uint32_t set, uint32_t place)
{
    struct program *program = &world->sets[set];
    int member = program_member(program, place);
    uint32_t open = 0;

    for (uint32_t generation = 1; generation <= program->generations; generation++) {
        struct outcome *outcome = program_outcome(program, generation, member);
        struct operation_name key = {.set_id = 1000 + set,
                                     .owner = 1 + set,
                                     .generation = generation,
                                     .kind = (uint8_t)(set % 3),
                                     .target = program->target};

        if (outcome->told)
            continue;
        if (++open > program->window)
            break;
        if (outcome->called)
            continue;
        outcome->called = true;
        world_disturb(world);
        endpoint_contribute(world->cluster->places[place].node, &key, &program->set,
                            contribution(program, set, generation, place));
    }
}

/* ---- what they are told ---- */

static uint64_t hash_outcome(const struct ranges *lost, const struct message *payload)
{
    uint64_t hash = 1;

    if (payload != NULL)
        hash = hash_bytes(payload->data, payload->length_bytes, hash);
    for (uint32_t i = 0; i < lost->count; i++)
        hash = hash_bytes(&lost->items[i], sizeof(lost->items[i]), hash);
    return hash;
}

/* Most results equal the first success, which is a comparison and no hash. */
static uint64_t outcome_hash(struct program *program, uint32_t generation, int status,
                             const struct ranges *lost, const struct message *payload)
{
    const struct buffer *success = &program->success[generation - 1];

    if (status == 0 && program->succeeded[generation - 1] && payload != NULL &&
        payload->length_bytes == success->length_bytes &&
        memcmp(payload->data, success->data, success->length_bytes) == 0)
        return program->success_hash[generation - 1];
    return hash_outcome(lost, payload);
}

static void check_lost(struct world *world, const struct program *program,
                       const struct ranges *lost)
{
    if (ranges_is_empty(lost) || !ranges_contains_all(&program->set, lost))
        world_fault(world, "an error names nobody, or who is not a member");
    for (uint32_t i = 0; i < lost->count; i++) {
        for (uint32_t place = lost->items[i].first; place <= lost->items[i].last; place++) {
            if (!ranges_contains(&world->killed, place) && !ranges_contains(&world->left, place) &&
                !ranges_contains(&world->evictable, place))
                world_fault(world, "an error names %u, which lives", place);
        }
    }
}

static void on_result(struct cluster *cluster, uint32_t place, const struct operation_name *key,
                      int status, const struct ranges *lost, struct message *payload)
{
    struct world *world = world_of(cluster);
    uint32_t set = (uint32_t)(key->set_id - 1000);
    struct program *program = &world->sets[set];
    int member = program_member(program, place);
    struct outcome *outcome = member >= 0 ? program_outcome(program, key->generation, member)
                                          : &program->at_root[key->generation - 1];

    if (member < 0 && (place != 0 || program->target != ENDPOINT_TARGET_ROOT))
        world_fault(world, "%u is told of an operation that is not its own", place);
    if (outcome->told)
        world_fault(world, "%u is told twice of set %u generation %u", place, set, key->generation);
    if (member >= 0 && !outcome->called)
        world_fault(world, "%u is told of what it has not called", place);
    check_lease(world, place);
    outcome->told = true;
    outcome->status = status;
    outcome->hash = outcome_hash(program, key->generation, status, lost, payload);
    if (status == -EHOSTDOWN)
        check_lost(world, program, lost);
    else if (status != 0)
        world_fault(world, "status %d", status);
    if (status == 0 && (program->target == ENDPOINT_TARGET_ALL || place == 0) &&
        !program->succeeded[key->generation - 1]) {
        program->succeeded[key->generation - 1] = true;
        program->success_hash[key->generation - 1] = outcome->hash;
        if (payload != NULL)
            buffer_append(&program->success[key->generation - 1], payload->data,
                          payload->length_bytes);
    }
    if (member >= 0)
        program_run(world, set, place);
}

static void append_number(uint32_t **numbers, uint32_t *count, uint32_t number)
{
    *numbers = memory_resize(*numbers, (*count + 1) * sizeof(**numbers));
    (*numbers)[(*count)++] = number;
}

static void on_broadcast(struct cluster *cluster, uint32_t place, struct message *payload)
{
    struct world *world = world_of(cluster);
    struct told *told = &world->told[place];
    uint32_t id;

    memcpy(&id, payload->data, sizeof(id));
    for (size_t i = sizeof(id); i < payload->length_bytes; i++) {
        if (payload->data[i] != world_filler(id, (uint32_t)(i - sizeof(id)), 1)) {
            world_fault(world, "broadcast %u comes changed to %u", id, place);
            break;
        }
    }
    if (id != LAST && payload->length_bytes != world->broadcast_bytes[id])
        world_fault(world, "%u has %zu bytes of broadcast %u", place, payload->length_bytes, id);
    append_number(&told->broadcasts, &told->broadcasts_count, id);
}

/* Who has come now, or knows now of all members, begins. */
static void begin_late(struct world *world, uint32_t place)
{
    for (uint32_t set = 0; set < world->sets_count; set++) {
        const struct program *program = &world->sets[set];

        if (program->is_late && program_member(program, place) >= 0 &&
            ranges_max(&program->set) < endpoint_population(world->cluster->places[place].node))
            program_run(world, set, place);
    }
}

static void on_joined(struct cluster *cluster, uint32_t place)
{
    struct world *world = world_of(cluster);

    if (world->told[place].joined || place == 0)
        world_fault(world, "%u joins twice", place);
    world->told[place].joined = true;
    begin_late(world, place);
}

static void on_complete(struct cluster *cluster)
{
    struct world *world = world_of(cluster);

    if (world->complete)
        world_fault(world, "complete is told twice");
    world->complete = true;
}

static void on_request(struct cluster *cluster, uint32_t place, uint32_t source, uint32_t id,
                       struct message *payload)
{
    endpoint_reply(cluster->places[place].node, source, id, message_reference(payload));
}

static void on_reply(struct cluster *cluster, uint32_t place, uint32_t id, int status,
                     struct message *payload)
{
    struct world *world = world_of(cluster);

    for (uint32_t i = 0; i < world->requests_count; i++) {
        struct request *request = &world->requests[i];

        if (!request->sent || request->from != place || request->id != id)
            continue;
        if (++request->answers > 1)
            world_fault(world, "a request is answered twice");
        request->status = status;
        if (status == 0 && (payload == NULL || memcmp(payload->data, &i, sizeof(i)) != 0))
            world_fault(world, "a request gets the answer to another");
        return;
    }
    world_fault(world, "%u gets an answer to nothing", place);
}

static void note_gone(struct world *world, uint32_t place, const struct ranges *places,
                      uint32_t mark)
{
    struct told *told = &world->told[place];

    check_lease(world, place);
    for (uint32_t i = 0; i < places->count; i++) {
        for (uint32_t gone = places->items[i].first; gone <= places->items[i].last; gone++) {
            append_number(&told->deaths, &told->deaths_count, gone | mark);
            if (place == 0)
                world->told[gone].dead_ns = virtual_network_now_ns(world->cluster->sim);
        }
    }
}

static void on_lost(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    note_gone(world_of(cluster), place, places, 0);
}

static void on_left(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    struct world *world = world_of(cluster);

    note_gone(world, place, places, MARK_LEFT);
    if (!ranges_contains_all(&world->left, places))
        world_fault(world, "somebody leaves who was not asked to");
}

static void on_grown(struct cluster *cluster, uint32_t place, const struct ranges *places)
{
    struct world *world = world_of(cluster);
    struct told *told = &world->told[place];

    check_lease(world, place);
    append_number(&told->deaths, &told->deaths_count, ranges_min(places) | MARK_GROWN);
    if (place == 0) {
        world->complete = false;
        for (uint32_t i = ranges_min(places); i <= ranges_max(places); i++)
            world->told[i].deaths_from = told->deaths_count;
    }
    begin_late(world, place);
}

static void on_received(struct cluster *cluster, uint32_t place, uint32_t source, uint8_t class,
                        struct message *payload)
{
    struct world *world = world_of(cluster);
    uint32_t words[2];

    if (payload->length_bytes != sizeof(words) || class != FRAME_BULK) {
        world_fault(world, "a send changes on its way");
        return;
    }
    memcpy(words, payload->data, sizeof(words));
    check_lease(world, place);
    if (words[0] != source || words[1] <= world->told[place].last_received)
        world_fault(world, "sends come out of order");
    world->told[place].last_received = words[1];
}

static void on_ended(struct cluster *cluster, uint32_t place, enum endpoint_end end)
{
    struct world *world = world_of(cluster);

    if (world->is_traced)
        fprintf(stderr, "%u ends (%d)\n", place, end);
    world_disturb(world);
    if (!world->complete)
        plan_failed(world, place); /* its starter sees it end */
    if (end == ENDPOINT_END_LEFT && ranges_contains(&world->left, place))
        return;
    /* Who was asked to leave, and could not be told so, does not come back. */
    if (end == ENDPOINT_END_LEASE && ranges_contains(&world->left, place) &&
        ranges_contains(&world->cut_off, place))
        return;
    if (end != ENDPOINT_END_REFUSED && ranges_contains(&world->evictable, place))
        return;
    /* Who loses its parent to a death while all leave may find nobody left. */
    if (world->leaving && end != ENDPOINT_END_REFUSED && world->ambushes_count > 0)
        return;
    if (!world->leaving || end != ENDPOINT_END_LEFT)
        world_fault(world, "%u ends (%d)", place, end);
}

static const struct cluster_events cluster_events = {
    .joined = on_joined,
    .complete = on_complete,
    .broadcast = on_broadcast,
    .result = on_result,
    .received = on_received,
    .request = on_request,
    .reply = on_reply,
    .lost = on_lost,
    .grown = on_grown,
    .left = on_left,
    .ended = on_ended,
};

/* ---- life ---- */

static uint32_t random_places(struct world *world)
{
    static const uint32_t limits[] = {4, 8, 8, 30, 30, 30, 100, 300};
    uint32_t limit = limits[world_below(world, 8)];

    if (getenv("PLACES") != NULL)
        return (uint32_t)strtoul(getenv("PLACES"), NULL, 10);
    if (world_below(world, 200) == 0)
        limit = 5000;
    return 2 + world_below(world, limit - 1);
}

void world_init(struct world *world, uint64_t seed)
{
    struct cluster_config config = {
        .merges = merges, .merges_count = 1, .events = &cluster_events, .context = world};

    memset(world, 0, sizeof(*world));
    world->seed = seed;
    random_init(&world->random, seed);
    world->places = random_places(world);
    world->radix = 2 + world_below(world, world_below(world, 2) == 0 ? 3 : 31);
    world->population = world->places;
    world->capacity = world->places + 4 + world_below(world, world->places);
    config.radix = world->radix;
    config.long_set_ranges = seed % 2; /* every second world holds all sets in slices */
    config.stall_ns = seed % 3 == 0 ? 0 : STALL_NEVER_NS; /* it heals what it should not have to */
    config.places = world->places;
    config.sim = (struct virtual_network_config){
        .places = world->capacity, .seed = seed, .latency_ns = 20000 + world_below(world, 500000)};
    if (world_below(world, 2) == 1)
        config.sim.jitter_ns = world_below(world, 5000000);
    world->hop_ns = config.sim.latency_ns + config.sim.jitter_ns;
    world->cluster = cluster_create(&config);
    world->told = memory_allocate_zeroed(world->capacity * sizeof(*world->told));
    plan_all(world);
}

void world_fini(struct world *world)
{
    cluster_destroy(world->cluster);
    for (uint32_t i = 0; i < world->capacity; i++) {
        free(world->told[i].broadcasts);
        free(world->told[i].deaths);
    }
    free(world->told);
    for (uint32_t i = 0; i < SETS_MAX; i++) {
        ranges_fini(&world->sets[i].set);
        free(world->sets[i].members);
        free(world->sets[i].outcomes);
        for (uint32_t j = 0; j < GENERATIONS_MAX; j++)
            buffer_fini(&world->sets[i].success[j]);
    }
    for (uint32_t i = 0; i < BROADCASTS_MAX; i++)
        ranges_fini(&world->broadcast_sets[i]);
    ranges_fini(&world->killed);
    ranges_fini(&world->left);
    ranges_fini(&world->evictable);
    ranges_fini(&world->cut_off);
}
