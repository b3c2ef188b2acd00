/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "test/soak/soak.h"

#include <string.h>

#include "overlay/tree.h"
#include "test/support/laterals.h"

/* One contribution at the start of bytes; how many it has, or 0 if it is none of the operation. */
static size_t contribution_length(const unsigned char *bytes, size_t left, uint32_t set,
                                  uint32_t generation, uint32_t *ret_place)
{
    uint32_t words[4];

    if (left < CONTRIBUTION_BYTES)
        return 0;
    memcpy(words, bytes, sizeof(words));
    if (words[0] != set || words[1] != generation || words[3] > left - CONTRIBUTION_BYTES)
        return 0;
    for (uint32_t i = 0; i < words[3]; i++) {
        if (bytes[CONTRIBUTION_BYTES + i] != world_filler(set, generation, words[2]))
            return 0;
    }
    *ret_place = words[2];
    return CONTRIBUTION_BYTES + words[3];
}

/* A successful payload holds each member once. */
static void check_success(struct world *world, const struct program *program, uint32_t set,
                          uint32_t generation)
{
    const struct buffer *payload = &program->success[generation - 1];
    struct ranges seen = {0};

    for (size_t at = 0, length; at < payload->length_bytes; at += length) {
        uint32_t place;

        length = contribution_length(payload->data + at, payload->length_bytes - at, set,
                                     generation, &place);
        if (length == 0) {
            world_fault(world, "set %u generation %u: at %zu of %zu is no contribution to it", set,
                        generation, at, payload->length_bytes);
            break;
        }
        if (!ranges_is_empty(&seen) && place <= ranges_max(&seen))
            world_fault(world, "%u is counted twice, or out of order", place);
        ranges_add(&seen, place, place);
    }
    if (!ranges_equal(&seen, &program->set))
        world_fault(world, "set %u generation %u: contributions are not those of the members", set,
                    generation);
    ranges_fini(&seen);
}

static void check_operation(struct world *world, uint32_t set, uint32_t generation)
{
    const struct program *program = &world->sets[set];
    const struct outcome *first = NULL;

    for (uint32_t i = 0; i < program->members_count; i++) {
        const struct outcome *outcome = program_outcome(program, generation, (int)i);

        /* At the root a gather ends with a payload of its own. */
        if (!world_survives(world, program->members[i]) ||
            (program->target == ENDPOINT_TARGET_ROOT && program->members[i] == 0))
            continue;
        if (!outcome->told)
            world_fault(world, "%u waits for set %u generation %u for ever", program->members[i],
                        set, generation);
        else if (first == NULL)
            first = outcome;
        else if (first->status != outcome->status || first->hash != outcome->hash)
            world_fault(world, "survivors of set %u generation %u disagree", set, generation);
    }
    if (program->succeeded[generation - 1])
        check_success(world, program, set, generation);
    if (first != NULL && first->status != 0 && !ranges_overlap_set(&program->set, &world->killed) &&
        !ranges_overlap_set(&program->set, &world->left) &&
        !ranges_overlap_set(&program->set, &world->evictable))
        world_fault(world, "an error though nobody died");
}

static void check_broadcasts(struct world *world, uint32_t place)
{
    const struct told *told = &world->told[place];
    uint32_t at = 0;

    for (uint32_t i = told->broadcasts_from; i < world->broadcasts_sent; i++) {
        uint32_t id = world->broadcast_order[i];

        if (id != LAST && !ranges_is_empty(&world->broadcast_sets[id]) &&
            !ranges_contains(&world->broadcast_sets[id], place))
            continue;
        if (at == told->broadcasts_count && !world_survives(world, place))
            return;
        if (at == told->broadcasts_count || told->broadcasts[at] != id) {
            world_fault(world, "%u misses broadcast %u or has it out of order", place, id);
            return;
        }
        at++;
    }
    if (at != told->broadcasts_count)
        world_fault(world, "%u has broadcasts that are not its own, or twice", place);
}

static void check_place(struct world *world, const struct tree *tree, uint32_t place)
{
    const struct told *root = &world->told[0];
    const struct told *told = &world->told[place];
    struct endpoint *node = world->cluster->places[place].node;
    uint32_t depth = tree_depth(tree);

    if (told->deaths_count + told->deaths_from != root->deaths_count ||
        (told->deaths_count > 0 && memcmp(told->deaths, root->deaths + told->deaths_from,
                                          told->deaths_count * sizeof(uint32_t)) != 0))
        world_fault(world, "%u knows other deaths than the root", place);
    else if (endpoint_population(node) != world->population)
        world_fault(world, "%u knows %u places", place, endpoint_population(node));
    else if (ranges_contains(&world->left, place))
        world_fault(world, "%u stays though it was asked to leave", place);
    else if (endpoint_parent(node) != tree_parent(tree, place))
        world_fault(world, "%u has parent %u, should have %u", place, endpoint_parent(node),
                    tree_parent(tree, place));
    if (endpoint_degree(node) > 1 + tree->radix * depth)
        world_fault(world, "%u has degree %u", place, endpoint_degree(node));
    if (endpoint_kept_entries(node) > 0)
        world_fault(world, "%u keeps log entries for ever", place);
    if (endpoint_kept_series(node) > 0)
        world_fault(world, "%u keeps series for ever", place);
    if (endpoint_kept_operations(node) > 0)
        world_fault(world, "%u keeps operations of forgotten sets", place);
}

void check_lazy(struct world *world)
{
    const struct ranges *dead = endpoint_dead(world->cluster->places[0].node);

    for (uint32_t set = 0; set < world->sets_count; set++) {
        const struct program *program = &world->sets[set];

        if (program->lazy == TREE_NO_PLACE || !ranges_overlap_set(&program->set, dead))
            continue;
        for (uint32_t i = 0; i < program->members_count; i++) {
            if (program->members[i] != program->lazy &&
                world_survives(world, program->members[i]) &&
                !program_outcome(program, program->generations, (int)i)->told)
                world_fault(world, "%u waits for the lazy %u of set %u though others are dead",
                            program->members[i], program->lazy, set);
        }
    }
}

void check_all(struct world *world)
{
    struct tree tree = {
        .places = world->places, .radix = world->radix, .population = world->population};

    if (!world->complete)
        world_fault(world, "the root is never complete");
    if (!ranges_contains_all(endpoint_dead(world->cluster->places[0].node), &world->killed))
        world_fault(world, "a death is never noticed");
    for (uint32_t set = 0; set < world->sets_count; set++) {
        for (uint32_t generation = 1; generation <= world->sets[set].generations; generation++)
            check_operation(world, set, generation);
    }
    tree.dead = endpoint_dead(world->cluster->places[0].node);
    for (uint32_t place = 0; place < world->population; place++) {
        if (world_survives(world, place))
            check_place(world, &tree, place);
        check_broadcasts(world, place);
    }
    for (uint32_t i = 0; i < world->requests_count; i++) {
        const struct request *request = &world->requests[i];

        if (request->sent && world_survives(world, request->from) && request->answers == 0)
            world_fault(world, "request %u of %u to %u is never answered", i, request->from,
                        request->to);
        if (request->answers > 0 && request->status != 0 &&
            !ranges_contains(&world->killed, request->to) &&
            !ranges_contains(&world->left, request->to) &&
            !ranges_contains(&world->evictable, request->to))
            world_fault(world, "a request to the living fails");
    }
}

/* Everything has been told that will be told. */
bool check_is_quiet(const struct world *world)
{
    if (!world->complete || virtual_network_now_ns(world->cluster->sim) < world->settled_ns)
        return false;
    for (uint32_t set = 0; set < world->sets_count; set++) {
        const struct program *program = &world->sets[set];

        for (uint32_t i = 0; i < program->members_count; i++) {
            if (world_survives(world, program->members[i]) &&
                !program_outcome(program, program->generations, (int)i)->told)
                return false;
        }
    }
    for (uint32_t place = 1; place < world->population; place++) {
        if (world_survives(world, place) && ranges_contains(&world->left, place))
            return false;
        if (!world_survives(world, place) &&
            !ranges_contains(endpoint_dead(world->cluster->places[0].node), place))
            return false;
    }
    return true;
}

void check_healed(struct world *world)
{
    uint64_t now_ns = virtual_network_now_ns(world->cluster->sim);
    uint64_t since_ns = world->fault_ns > world->settled_ns ? world->fault_ns : world->settled_ns;

    if (now_ns > since_ns + HEAL_NS)
        world_fault(world, "%s %.1f s after the last fault",
                    check_is_quiet(world) ? "quiet only" : "not quiet",
                    (double)(now_ns - since_ns) / 1e9);
}

static uint32_t laterals_of(const void *context, uint32_t place,
                            struct endpoint_lateral ret_laterals[ENDPOINT_LATERALS_MAX])
{
    const struct world *world = context;

    return world_survives(world, place)
               ? endpoint_laterals(world->cluster->places[place].node, ret_laterals)
               : 0;
}

static bool knows_owner(const void *context, uint32_t place, uint32_t owner)
{
    const struct world *world = context;

    return world_survives(world, place) &&
           endpoint_knows_owner(world->cluster->places[place].node, owner);
}

/* Lateral links that are left belong to series. */
static void check_laterals(struct world *world)
{
    const struct laterals_world laterals = {world->population, laterals_of, knows_owner, world};
    char text[128];

    if (!laterals_are_kept(&laterals, text, sizeof(text)))
        world_fault(world, "%s", text);
}

void check_forgotten(struct world *world)
{
    for (uint32_t place = 0; place < world->population; place++) {
        const struct endpoint *node = world->cluster->places[place].node;

        if (world_survives(world, place) && endpoint_lateral_links(node) > 0)
            world_fault(world, "%u has %u lateral links though all sets are forgotten", place,
                        endpoint_lateral_links(node));
    }
}

void check_rest(struct world *world)
{
    check_laterals(world);
    for (uint32_t place = 0; place < world->population; place++) {
        const struct endpoint *node = world->cluster->places[place].node;

        if (!world_survives(world, place))
            continue;
        if (endpoint_kept_stream_bytes(node) > 0)
            world_fault(world, "%u keeps %llu bytes of streams", place,
                        (unsigned long long)endpoint_kept_stream_bytes(node));
        else if (endpoint_early_opens(node) > 0)
            world_fault(world, "%u keeps %u early OPENs", place, endpoint_early_opens(node));
    }
}

void check_left(struct world *world)
{
    for (uint32_t place = 0; place < world->population; place++) {
        if (world_survives(world, place))
            world_fault(world, "%u never leaves", place);
    }
}
