/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/soak/soak.h"

#include <stdlib.h>

#include "base/hash.h"
#include "overlay/overlay_wire.h"
#include "overlay/tree.h"

static void begin_member(void *context, uint64_t what)
{
    struct world *world = context;
    uint32_t place = (uint32_t)what;

    if (world_survives(world, place))
        program_run(world, (uint32_t)(what >> 32), place);
}

void plan_begin(struct world *world, uint32_t set, uint32_t place, uint64_t at_ns)
{
    virtual_network_work(world->cluster->sim, place, at_ns, 0, begin_member, world,
                         place + ((uint64_t)set << 32));
}

static void call_start(void *context, uint64_t place)
{
    cluster_start(((struct world *)context)->cluster, (uint32_t)place);
}

static void call_failed(void *context, uint64_t place)
{
    struct world *world = context;

    if (!world_survives(world, 0)) /* not up yet */
        virtual_network_at(world->cluster->sim, virtual_network_now_ns(world->cluster->sim) + MS,
                           call_failed, world, place);
    else
        endpoint_place_failed(world->cluster->places[0].node, (uint32_t)place);
}

void plan_failed(struct world *world, uint32_t place)
{
    virtual_network_at(world->cluster->sim,
                       virtual_network_now_ns(world->cluster->sim) +
                           world_below(world, 50 * (uint32_t)MS),
                       call_failed, world, place);
}

static void call_kill(void *context, uint64_t place)
{
    struct world *world = context;

    if (world->cluster->places[place].killed)
        return;
    ranges_add(&world->killed, (uint32_t)place, (uint32_t)place);
    cluster_kill(world->cluster, (uint32_t)place);
    world_disturb(world);
    /* A starter sees what dies before it was ever counted. */
    if (!world->complete || world_below(world, 8) == 0)
        plan_failed(world, (uint32_t)place);
}

/* Every third is large; what follows the word is its hash. */
static struct message *broadcast_payload(struct world *world, uint32_t word)
{
    struct buffer out = {0};
    struct message *message;
    uint32_t more = 0;

    if (word != LAST && hash_mix(world->seed + word) % 3 == 0)
        more = (uint32_t)(hash_mix(world->seed + word) >> 8) % (8000000 / (world->places + 20));
    buffer_append(&out, &word, sizeof(word));
    for (uint32_t i = 0; i < more; i++) {
        uint8_t byte = world_filler(word, i, 1);

        buffer_append(&out, &byte, 1);
    }
    message = message_from_buffer(&out);
    if (word != LAST)
        world->broadcast_bytes[word] = message->length_bytes;
    buffer_fini(&out);
    return message;
}

static void call_broadcast(void *context, uint64_t id)
{
    struct world *world = context;
    uint32_t word = (uint32_t)id;

    world->broadcast_order[world->broadcasts_sent++] = word;
    endpoint_broadcast(world->cluster->places[0].node,
                       id == LAST || ranges_is_empty(&world->broadcast_sets[id])
                           ? NULL
                           : &world->broadcast_sets[id],
                       broadcast_payload(world, word));
}

static void call_request(void *context, uint64_t index)
{
    struct world *world = context;
    struct request *request = &world->requests[index];
    uint32_t word = (uint32_t)index;

    if (!world_survives(world, request->from))
        return;
    request->sent = true;
    request->id = endpoint_request(world->cluster->places[request->from].node, request->to,
                                   message_create(&word, sizeof(word)));
}

/* The root sends a numbered stream to one place, or back. */
static void call_send(void *context, uint64_t number)
{
    struct world *world = context;
    uint32_t to = 1 + (uint32_t)(hash_mix(world->seed) % (world->places - 1));
    uint32_t words[2] = {0, (uint32_t)number};

    endpoint_send(world->cluster->places[0].node, to, FRAME_BULK,
                  message_create(words, sizeof(words)));
}

static void random_set(struct world *world, uint32_t places, struct ranges *set)
{
    uint32_t kind = world_below(world, 4);
    uint32_t first = world_below(world, places);
    uint32_t length = 1 + world_below(world, places - first);
    uint32_t step = 1 + world_below(world, 4);

    ranges_clear(set);
    if (kind == 0) { /* everyone, with or without the root */
        ranges_add(set, world_below(world, 2) < places - 1 ? world_below(world, 2) : 0, places - 1);
    } else if (kind == 1) { /* a few anywhere */
        for (uint32_t i = 0; i < 1 + world_below(world, 5); i++) {
            uint32_t place = world_below(world, places);

            ranges_add(set, place, place);
        }
    } else { /* a run, with gaps or not */
        for (uint32_t place = first; place < first + length; place += kind == 2 ? 1 : step)
            ranges_add(set, place, place);
    }
}

struct program *plan_program(struct world *world, uint32_t places, const struct ranges *without)
{
    struct program *program = &world->sets[world->sets_count];

    if (world->sets_count == SETS_MAX)
        return NULL;
    random_set(world, places, &program->set);
    ranges_remove_all(&program->set, without);
    if (ranges_is_empty(&program->set))
        return NULL;
    world->sets_count++;
    program->members_count = (uint32_t)ranges_count(&program->set);
    program->members = memory_allocate(program->members_count * sizeof(uint32_t));
    program->generations = 1 + world_below(world, GENERATIONS_MAX - ROUNDS_MAX);
    program->window = 1 + world_below(world, 3);
    program->target = world_below(world, 4) == 0 ? ENDPOINT_TARGET_ROOT : ENDPOINT_TARGET_ALL;
    program->outcomes = memory_allocate_zeroed((size_t)GENERATIONS_MAX * program->members_count *
                                               sizeof(struct outcome));
    if (world_below(world, 2) == 0)
        program->filler_bytes = 1 + 3000000 / (program->members_count + 20);
    program->lazy = TREE_NO_PLACE;
    for (uint32_t i = 0, place = 0; ranges_next(&program->set, place, &place); place++, i++)
        program->members[i] = place;
    return program;
}

void plan_late_set(struct world *world)
{
    const struct ranges nobody = {0};
    struct program *program = plan_program(world, world->population, &nobody);

    if (program != NULL)
        program->is_late = true;
}

static void plan_set(struct world *world, uint64_t span_ns)
{
    const struct ranges nobody = {0};
    uint32_t index = world->sets_count;
    struct program *program = plan_program(world, world->places, &nobody);

    if (world->places < 100 && world_below(world, 20) == 0)
        program->lazy = ranges_max(&program->set);
    for (uint32_t place = 0; ranges_next(&program->set, place, &place); place++) {
        uint64_t at_ns = 40 * MS + random_below(&world->random, span_ns);

        if (place == program->lazy)
            at_ns += LAZY_NS;
        plan_begin(world, index, place, at_ns);
    }
}

static void call_check_lazy(void *context, uint64_t unused)
{
    (void)unused;
    check_lazy(context);
}

void plan_kill_now(struct world *world, uint32_t place)
{
    call_kill(world, place);
}

void plan_kill(struct world *world, uint32_t place, uint64_t at_ns)
{
    if (place == 0 || place >= world->population)
        return;
    world->deaths_planned++;
    virtual_network_at(world->cluster->sim, at_ns, call_kill, world, place);
}

/* Single deaths, a parent with its heirs, or whole runs at almost the same time. */
static void plan_kills(struct world *world, uint64_t span_ns)
{
    uint32_t events = world_below(world, 3) == 0 ? 0 : 1 + world_below(world, 4);

    for (uint32_t i = 0; i < events; i++) {
        uint64_t at_ns = random_below(&world->random, span_ns + 60 * MS);
        uint32_t place = 1 + world_below(world, world->places - 1);
        uint32_t run =
            world_below(world, 3) == 0 ? 1 + world_below(world, world->places / 4 + 2) : 1;
        uint64_t apart_ns = world_below(world, 2) == 0 ? 1 : MS;

        if (world_below(world, 2) == 0) /* rather someone high up */
            place = 1 + world_below(world, place);
        for (uint32_t j = 0; j < run; j++)
            plan_kill(world, place + j, at_ns + random_below(&world->random, apart_ns));
        if (run > 8 && i > 0)
            break;
    }
}

/* The link to the parent breaks; the order of things counts the place as lost then. */
static void call_break(void *context, uint64_t place)
{
    struct world *world = context;
    uint32_t parent;

    if (!world_survives(world, (uint32_t)place))
        return;
    parent = endpoint_parent(world->cluster->places[place].node);
    if (parent == TREE_NO_PLACE)
        return;
    ranges_add(&world->evictable, (uint32_t)place, (uint32_t)place);
    virtual_network_break(world->cluster->sim, (uint32_t)place, parent);
    world_disturb(world);
}

static void call_stop(void *context, uint64_t place)
{
    struct world *world = context;

    if (world_survives(world, (uint32_t)place))
        virtual_network_stop(world->cluster->sim, (uint32_t)place);
}

static void call_continue(void *context, uint64_t place)
{
    struct world *world = context;

    world_disturb(world);
    virtual_network_continue(world->cluster->sim, (uint32_t)place);
}

/* The child range of the root that a place is in. */
static struct range branch_of(const struct world *world, uint32_t place)
{
    struct tree tree = {.places = world->places, .radix = world->radix};
    struct range branch = {0, world->places - 1};

    if (place >= world->places) /* whose branches are others; all of them may be one */
        return (struct range){world->places, world->capacity - 1};
    for (uint32_t i = 0; place != 0; i++) {
        branch = tree_cut(&tree, (struct range){0, world->places - 1}, i);
        if (branch.first <= place && place <= branch.last)
            break;
    }
    return branch;
}

/* Stopped for a while: what is short must harm nobody, what is long may cost the place, and that of
 * the root everybody. */
void plan_stop(struct world *world, uint32_t place, uint64_t at_ns, uint64_t length_ns)
{
    struct virtual_network *sim = world->cluster->sim;

    if (place == 0 && (length_ns > STOP_NS || world->deaths_planned > 0)) {
        ranges_add(&world->evictable, 1, world->capacity - 1);
    } else if (length_ns > STOP_NS) {
        struct range branch = branch_of(world, place);

        ranges_add(&world->evictable, place, place);
        ranges_add(&world->cut_off, branch.first, branch.last);
    }
    virtual_network_at(sim, at_ns, call_stop, world, place);
    virtual_network_at(sim, at_ns + length_ns, call_continue, world, place);
    if (world->settled_ns < at_ns + length_ns)
        world->settled_ns = at_ns + length_ns;
}

void plan_break_tree(struct world *world, uint32_t place, uint64_t at_ns)
{
    virtual_network_at(world->cluster->sim, at_ns, call_break, world, place);
}

/* For less or more than it may be. */
static uint64_t random_stop_ns(struct world *world)
{
    if (world_below(world, 2) == 0)
        return random_below(&world->random, STOP_NS);
    return STOP_NS + random_below(&world->random, LEASE_NS / 2 * 3);
}

/* In every fourth world links break or places stop, beside the deaths. */
static void plan_troubles(struct world *world, uint64_t span_ns)
{
    uint32_t events = world_below(world, 4) == 0 ? 1 + world_below(world, 4) : 0;

    world->deaths_planned += events > 1 ? events : 0;
    for (uint32_t i = 0; i < events; i++) {
        uint64_t at_ns = 40 * MS + random_below(&world->random, span_ns);
        uint32_t place = 1 + world_below(world, world->places - 1);

        if (world_below(world, 2) == 0)
            plan_break_tree(world, place, at_ns);
        else
            plan_stop(world, place, at_ns, random_stop_ns(world));
    }
}

void plan_leave(struct world *world)
{
    world->leaving = true;
    if (world_below(world, 4) == 0) {
        world->ambushes_count = 1;
        world->ambushes[0] = (struct ambush){.type = OVERLAY_ENTRY,
                                             .ordinal = 1 + world_below(world, world->places)};
    }
    endpoint_leave(world->cluster->places[0].node);
}

/* In every second world somebody dies right when it sends, or is sent, a certain message. */
static void plan_ambushes(struct world *world)
{
    static const uint8_t types[] = {
        OVERLAY_CONTRIBUTE, OVERLAY_RELEASE, OVERLAY_RELEASE, OVERLAY_ENTRY,    OVERLAY_QUERY,
        OVERLAY_JOIN,       OVERLAY_WELCOME, OVERLAY_LOST,    OVERLAY_REDIRECT, OVERLAY_GO,
        OVERLAY_OPEN,       OVERLAY_CHUNK,   OVERLAY_DONE,    OVERLAY_OVER,     OVERLAY_LATERAL,
        OVERLAY_BROKEN,     OVERLAY_ASK,     OVERLAY_RISE};

    world->ambushes_count = world_below(world, 2) == 1 ? 1 + world_below(world, AMBUSHES_MAX) : 0;
    world->deaths_planned += world->ambushes_count;
    for (uint32_t i = 0; i < world->ambushes_count; i++) {
        struct ambush *ambush = &world->ambushes[i];

        ambush->type = types[world_below(world, sizeof(types))];
        ambush->ordinal = 1 + world_below(world, 3 * world->places);
        ambush->receiver = world_below(world, 4) == 0;
    }
}

void plan_ambush(struct world *world, uint32_t from, uint32_t to, uint8_t type)
{
    for (uint32_t i = 0; i < world->ambushes_count; i++) {
        struct ambush *ambush = &world->ambushes[i];
        uint32_t victim = ambush->receiver ? to : from;

        if (ambush->type == type && victim != 0 && ambush->ordinal > 0 && --ambush->ordinal == 0)
            call_kill(world, victim);
    }
}

static bool is_of_the_tree(const struct world *world, uint32_t a, uint32_t b)
{
    return endpoint_parent(world->cluster->places[a].node) == b ||
           endpoint_parent(world->cluster->places[b].node) == a;
}

static void call_break_lateral(void *context, uint64_t pair)
{
    struct world *world = context;
    uint32_t a = (uint32_t)pair;
    uint32_t b = (uint32_t)(pair >> 32);

    if (!world_survives(world, a) || !world_survives(world, b) || is_of_the_tree(world, a, b))
        return;
    if (world->deaths_planned > 0) /* it may be about to become one of the tree */
        ranges_add(&world->evictable, a > b ? a : b, a > b ? a : b);
    virtual_network_break(world->cluster->sim, a, b);
    world_disturb(world);
}

void plan_break(struct world *world, uint32_t from, uint32_t to)
{
    if (world->breaks == 0 || world->break_chunks-- > 0)
        return;
    world->breaks--;
    world->break_chunks = world_below(world, 50);
    virtual_network_at(world->cluster->sim, virtual_network_now_ns(world->cluster->sim),
                       call_break_lateral, world, from + ((uint64_t)to << 32));
}

void plan_broadcast(struct world *world, uint64_t at_ns)
{
    uint32_t id = world->broadcasts_count;

    if (id == BROADCASTS_MAX)
        return;
    world->broadcasts_count++;
    if (world_below(world, 2) == 0)
        random_set(world, world->places, &world->broadcast_sets[id]);
    virtual_network_work(world->cluster->sim, 0, at_ns, 0, call_broadcast, world, id);
}

void plan_all(struct world *world)
{
    uint32_t sets = 1 + world_below(world, SETS_MAX - ROUNDS_MAX);
    uint32_t broadcasts = world_below(world, BROADCASTS_MAX - ROUNDS_MAX);
    uint64_t start_ns = world_below(world, 3) == 0 ? 1 : 30 * MS;
    uint64_t span_ns = (1 + world_below(world, 100)) * MS;
    struct virtual_network *sim = world->cluster->sim;

    for (uint32_t place = 0; place < world->places; place++)
        virtual_network_at(sim, random_below(&world->random, start_ns), call_start, world, place);
    for (uint32_t i = 0; i < sets; i++)
        plan_set(world, span_ns);
    for (uint32_t i = 0; i < broadcasts; i++)
        plan_broadcast(world, start_ns + random_below(&world->random, span_ns + 40 * MS));
    world->requests_count = world_below(world, REQUESTS_MAX);
    for (uint32_t i = 0; i < world->requests_count; i++) {
        world->requests[i].from = world_below(world, world->places);
        world->requests[i].to = world_below(world, world->places);
        virtual_network_at(sim, start_ns + random_below(&world->random, span_ns + 40 * MS),
                           call_request, world, i);
    }
    for (uint32_t i = 1; i < 20; i++)
        virtual_network_at(sim, start_ns + i * span_ns / 10, call_send, world, i);
    virtual_network_at(sim, LAZY_NS, call_check_lazy, world, 0);
    plan_kills(world, span_ns);
    plan_ambushes(world);
    world->breaks = world_below(world, 3) == 0 ? 1 + world_below(world, 4) : 0;
    world->break_chunks = world_below(world, 100);
    plan_troubles(world, span_ns);
    plan_growth(world, span_ns);
    world->rounds = world_below(world, world->places > 300 ? 2 : 1 + ROUNDS_MAX);
}

static void forget(struct world *world, uint32_t set)
{
    struct program *program = &world->sets[set];

    if (program->forgotten)
        return;
    program->forgotten = true;
    endpoint_forget(world->cluster->places[0].node, 1 + set, &program->set);
}

/* Every member that lives has been told all it will ever be. */
static bool is_over(const struct world *world, const struct program *program)
{
    for (uint32_t generation = 1; generation <= program->generations; generation++) {
        if (program->target == ENDPOINT_TARGET_ROOT && !program->at_root[generation - 1].told)
            return false;
        for (uint32_t i = 0; i < program->members_count; i++) {
            uint32_t place = program->members[i];

            if (!program_outcome(program, generation, (int)i)->told &&
                !ranges_contains(endpoint_dead(world->cluster->places[0].node), place))
                return false;
        }
    }
    return true;
}

void plan_forget_some(struct world *world)
{
    for (uint32_t set = 0; set < world->sets_count; set++) {
        if (!world->sets[set].forgotten && hash_mix(world->seed + set) % 4 == 0 &&
            world_survives(world, 0) && is_over(world, &world->sets[set]))
            forget(world, set);
    }
}

void plan_forget(struct world *world)
{
    world->ambushes_count = 0; /* what follows is to be checked at rest */
    call_broadcast(world, LAST);
    for (uint32_t set = 0; set < world->sets_count; set++)
        forget(world, set);
}
