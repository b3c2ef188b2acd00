/* SPDX-License-Identifier: BSD-3-Clause */
/* All is at rest: another operation of every set, streams among them, while something befalls
 * somebody; at a time when links are about to be closed as idle, or heartbeats are due. */
#include "config.h"

#include "test/soak/soak.h"

#include "overlay/tree.h"

#define LATERAL_IDLE_NS (10000 * MS)
#define BLUR_NS         (15 * MS) /* longer than a message takes */

static uint64_t now_ns(const struct world *world)
{
    return virtual_network_now_ns(world->cluster->sim);
}

/* The ends of a link close it within a few messages of each other; what is begun just before is on
 * its way then. */
uint64_t round_pause_ns(struct world *world)
{
    uint64_t blur_ns = random_below(&world->random, 7 * world->hop_ns);
    uint64_t idle_ns = world->lateral_ns + LATERAL_IDLE_NS + world->hop_ns;

    switch (world_below(world, 4)) {
    case 0:
        return 1 + blur_ns;
    case 1:
        return LEASE_NS / 8 * (1 + world_below(world, 12)) + blur_ns;
    default:
        return world->lateral_ns > 0 && idle_ns > now_ns(world) + blur_ns
                   ? idle_ns - blur_ns - now_ns(world)
                   : 1 + blur_ns;
    }
}

/* Every eighth of a lease something may be due. */
static void befall_stop(struct world *world, uint64_t at_ns)
{
    uint64_t length_ns = LEASE_NS / 8 * (1 + world_below(world, 12)) - BLUR_NS / 2;
    uint64_t blur_ns = random_below(&world->random, BLUR_NS);
    uint32_t place = world_below(world, 4) == 0 ? 0 : world_below(world, world->population);

    plan_stop(world, place, at_ns + random_below(&world->random, BLUR_NS / 2), length_ns + blur_ns);
}

static void call_delay(void *context, uint64_t place)
{
    struct world *world = context;

    virtual_network_set_delay(world->cluster->sim, (uint32_t)place,
                              random_below(&world->random, LEASE_NS / 8));
}

static void call_delay_ends(void *context, uint64_t place)
{
    struct world *world = context;

    world_disturb(world);
    virtual_network_set_delay(world->cluster->sim, (uint32_t)place, 0);
}

/* What somebody says is late, by less than may cost anybody anything: timers come first. */
static void befall_delay(struct world *world, uint64_t at_ns)
{
    uint32_t place = world_below(world, world->population);
    uint64_t end_ns = at_ns + LEASE_NS / 4;

    virtual_network_at(world->cluster->sim, at_ns, call_delay, world, place);
    virtual_network_at(world->cluster->sim, end_ns, call_delay_ends, world, place);
    if (world->settled_ns < end_ns + LEASE_NS / 8)
        world->settled_ns = end_ns + LEASE_NS / 8;
}

static void befall_death(struct world *world, uint64_t at_ns)
{
    uint32_t place = world_below(world, world->population);

    plan_kill(world, place, at_ns + random_below(&world->random, BLUR_NS));
}

static void befall_break(struct world *world, uint64_t at_ns)
{
    uint32_t place = world_below(world, world->population);

    world->deaths_planned++; /* its own: others may be cut off meanwhile */
    plan_break_tree(world, place, at_ns + random_below(&world->random, BLUR_NS));
}

static void befall(struct world *world, uint64_t at_ns)
{
    switch (world_below(world, 8)) {
    case 0:
    case 1:
        befall_stop(world, at_ns);
        break;
    case 2:
        befall_death(world, at_ns);
        break;
    case 3:
        befall_death(world, at_ns);
        befall_stop(world, at_ns);
        break;
    case 4:
        befall_break(world, at_ns);
        break;
    case 5:
        befall_delay(world, at_ns);
        break;
    case 6:
        world->breaks = 1 + world_below(world, 4);
        world->break_chunks = world_below(world, 100);
        break;
    default:
        break;
    }
}

static void begin_all(struct world *world, uint32_t set, uint64_t at_ns)
{
    const struct program *program = &world->sets[set];
    uint64_t span_ns = 1 + random_below(&world->random, world->hop_ns);

    for (uint32_t i = 0; i < program->members_count; i++)
        plan_begin(world, set, program->members[i], at_ns + random_below(&world->random, span_ns));
}

/* Sets with somebody dead only have errors: one of the living is added. */
static void add_set(struct world *world)
{
    struct ranges gone = {0};

    ranges_copy(&gone, endpoint_dead(world->cluster->places[0].node));
    ranges_add_all(&gone, &world->killed);
    ranges_add_all(&gone, &world->left);
    if (plan_program(world, world->population, &gone) != NULL)
        world->sets[world->sets_count - 1].generations = 1;
    ranges_fini(&gone);
}

void plan_round(struct world *world)
{
    uint64_t at_ns = now_ns(world) + 1;
    uint32_t broadcasts = world_below(world, 3);
    uint32_t sets_count = world->sets_count;

    world->lateral_ns = 0;
    world->deaths_planned = 0;
    for (uint32_t i = 0; i < world->ambushes_count; i++)
        world->deaths_planned += world->ambushes[i].ordinal > 0;
    befall(world, at_ns);
    add_set(world);
    for (uint32_t set = 0; set < world->sets_count; set++) {
        if (set < sets_count &&
            (world->sets[set].generations == GENERATIONS_MAX || world->sets[set].forgotten))
            continue;
        world->sets[set].generations += set < sets_count;
        world->sets[set].lazy = TREE_NO_PLACE; /* has called, or is dead */
        begin_all(world, set, at_ns);
    }
    for (uint32_t i = 0; i < broadcasts; i++)
        plan_broadcast(world, at_ns + i * random_below(&world->random, BLUR_NS));
    world_disturb(world);
}
