/* SPDX-License-Identifier: BSD-3-Clause */
/* Places that come and places that are asked to leave, among everything else. */
#include "config.h"

#include "test/soak/soak.h"

#include "overlay/tree.h"

static uint64_t now_ns(const struct world *world)
{
    return virtual_network_now_ns(world->cluster->sim);
}

static void call_start_new(void *context, uint64_t place)
{
    struct world *world = context;

    world_disturb(world);
    cluster_start(world->cluster, (uint32_t)place);
}

/* Most come, some late, some die on the way, and some never come, which their starter tells. */
static void plan_newcomer(struct world *world, uint32_t place)
{
    uint32_t dice = world_below(world, 16);

    world->told[place].broadcasts_from = world->broadcasts_sent;
    if (dice == 0) {
        plan_kill_now(world, place);
        plan_failed(world, place);
        return;
    }
    virtual_network_at(world->cluster->sim, now_ns(world) + world_below(world, 30 * (uint32_t)MS),
                       call_start_new, world, place);
    if (dice == 1)
        plan_kill(world, place, now_ns(world) + world_below(world, 60 * (uint32_t)MS));
}

static void call_grow(void *context, uint64_t count)
{
    struct world *world = context;
    struct endpoint *root = world->cluster->places[0].node;
    uint32_t left = world->capacity - world->population;
    uint32_t first;

    if (count > left)
        count = left;
    if (root == NULL || count == 0)
        return;
    first = endpoint_grow(root, (uint32_t)count);
    if (first != world->population) {
        world_fault(world, "the new places begin at %u, not at %u", first, world->population);
        return;
    }
    world->population += (uint32_t)count;
    world_disturb(world);
    for (uint32_t place = first; place < world->population; place++)
        plan_newcomer(world, place);
    plan_late_set(world);
}

static void call_shrink(void *context, uint64_t unused)
{
    struct world *world = context;
    struct endpoint *root = world->cluster->places[0].node;
    uint32_t first = 1 + world_below(world, world->population - 1);
    uint32_t run =
        world_below(world, 2) == 0 ? 1 : 1 + world_below(world, world->population / 3 + 1);
    struct ranges leaving = {0};

    (void)unused;
    if (root == NULL)
        return;
    if (world_below(world, 12) == 0) {
        first = 1;
        run = world->population;
    }
    ranges_add(&leaving, first, first + run - 1);
    if (world_below(world, 3) == 0)
        ranges_add(&leaving, 1 + first / 2, 1 + first / 2);
    ranges_clip(&leaving, 1, world->population - 1);
    if (endpoint_shrink(root, &leaving) < 0)
        world_fault(world, "the instance does not shrink");
    ranges_add_all(&world->left, &leaving);
    world_disturb(world);
    ranges_fini(&leaving);
}

/* In every second world; some come and go when the dust has not settled yet. */
void plan_growth(struct world *world, uint64_t span_ns)
{
    uint32_t grows = world_below(world, 4);
    uint32_t shrinks = world_below(world, 3);

    if (world_below(world, 2) == 0)
        return;
    for (uint32_t i = 0; i < grows + shrinks; i++) {
        uint64_t long_ns = world_below(world, 4) == 0 ? 6000 * MS : 60 * MS;
        uint64_t at_ns = 40 * MS + random_below(&world->random, span_ns + long_ns);
        uint32_t count = 1 + world_below(world, world_below(world, 2) == 0 ? 3 : world->capacity);

        if (i < grows)
            virtual_network_at(world->cluster->sim, at_ns, call_grow, world, count);
        else
            virtual_network_at(world->cluster->sim, at_ns, call_shrink, world, 0);
        if (world->settled_ns < at_ns)
            world->settled_ns = at_ns;
    }
}
