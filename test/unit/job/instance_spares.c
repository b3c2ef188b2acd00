/* SPDX-License-Identifier: BSD-3-Clause */
/* Spare nodes (launch/job/instance_spares.c), in an instance by hand: when they are used, and for whom. */
#include "config.h"

#include "launch/job/instance.h"

#include <string.h>

#include "launch/job/instance_state.h"
#include "test/support/job_world.h"
#include "test/support/tap.h"

/* The state of each node, in order. */
static void states_are(const struct job_world *world, const char *expected, const char *what)
{
    struct ranges places = {0};
    struct buffer text = {0};
    struct node_list list;

    node_list_init(&list);
    ranges_add(&places, 1, world->nodes);
    instance_nodes_list(world->places[0].instance, &places, &list);
    for (uint32_t i = 0; i < list.groups_count; i++)
        buffer_printf(&text, "%s%u %s", i > 0 ? ", " : "", list.groups[i].nodes,
                      node_list_state_name((enum node_list_state)list.groups[i].state));
    is_string(buffer_string(&text), expected, "%s", what);
    node_list_fini(&list);
    ranges_fini(&places);
    buffer_fini(&text);
}

static uint64_t usable(const struct job_world *world)
{
    return allocation_slots(instance_usable(world->places[0].instance));
}

static void change(struct job_world *world, enum job_event_kind kind, uint32_t place, int flag)
{
    struct ranges places = {0};

    ranges_add(&places, place, place);
    job_world_event(world, 0, (struct job_event){.kind = kind, .places = &places, .flag = flag});
    ranges_fini(&places);
}

static void place_fails(struct job_world *world, uint32_t place)
{
    job_world_event(
        world, 0,
        (struct job_event){.kind = JOB_EVENT_PLACE_FAILED, .place = place, .text = "no route"});
}

static void test_lost(void)
{
    struct job_world *world = job_world_create_spares(5, 2, 2, INSTANCE_STAYS);

    job_world_complete(world);
    states_are(world, "3 up, 2 spare", "the last two nodes are spares");
    is_uint(usable(world), 6, "which give no slots");
    job_world_run(world, 7);
    is_uint(world->end.status, 125, "so a job that needs one is refused");
    has_string(world->end.text, "spare", "which says that there are some");
    job_world_kill(world, 2);
    states_are(world, "1 up, 1 lost, 2 up, 1 spare", "a spare takes the place of a lost node");
    has_string(world->text, "spare node n4 takes the place of n2, which is lost; 1 left",
               "the user is told");
    is_uint(usable(world), 6, "so that there are as many slots as before");
    job_world_run(world, 6);
    is_uint(world->places[4].starts, 2, "later jobs run there");
    is_uint(world->places[5].starts, 0, "and not on the other");
    is_uint(instance_spares_of(world->places[0].instance->root, 2), 4, "who has whose place");
    is_uint(instance_spares_of(world->places[0].instance->root, 3), 0, "others have their own");
    job_world_destroy(world);
}

/* Spares that are lost, drained or removed themselves. */
static void test_of_spares(void)
{
    struct job_world *world = job_world_create_spares(6, 1, 3, INSTANCE_STAYS);

    job_world_complete(world);
    job_world_kill(world, 4);
    states_are(world, "3 up, 1 lost, 2 spare", "a spare that is lost is replaced by none");
    change(world, JOB_EVENT_DRAIN, 5, 1);
    states_are(world, "3 up, 1 lost, 1 drained, 1 spare", "one can be drained");
    job_world_kill(world, 1);
    states_are(world, "1 lost, 2 up, 1 lost, 1 drained, 1 up", "then another one is taken");
    job_world_kill(world, 2);
    states_are(world, "2 lost, 1 up, 1 lost, 1 drained, 1 up", "and none if no other is left");
    change(world, JOB_EVENT_DRAIN, 5, 0);
    states_are(world, "2 lost, 1 up, 1 lost, 1 spare, 1 up",
               "one that is resumed is a spare again");
    change(world, JOB_EVENT_REMOVE, 3, 0);
    job_world_kill(world, 3);
    states_are(world, "4 lost, 1 spare, 1 up", "a node that is removed needs none");
    job_world_kill(world, 6);
    states_are(world, "4 lost, 1 up, 1 lost", "one that has taken a place can be replaced, too");
    job_world_destroy(world);
}

static void test_slots(void)
{
    struct job_world *world = job_world_create(2, 4);
    struct instance_spec spec;
    struct allocation nodes;
    struct instance *instance;
    struct job_actions actions = {0};
    struct ranges lost = {0};

    instance_spec_init(&spec);
    spec.places = 6;
    spec.spares = 3;
    allocation_init(&nodes);
    is_int(allocation_parse_hosts(&nodes, "a:4,b:2,c:1,d:2,e:4", NULL), 0, "nodes that differ");
    instance = instance_create(&spec, 0, &nodes, INSTANCE_STAYS);
    ranges_add(&lost, 1, 1);
    instance_spares_take(instance, &lost, &actions);
    is_uint(instance_spares_of(instance->root, 1), 5, "the first with enough slots is taken");
    ranges_clear(&lost);
    ranges_add(&lost, 5, 5);
    instance_spares_take(instance, &lost, &actions);
    is_uint(instance_spares_of(instance->root, 5), 3, "or else the first");
    ranges_clear(&lost);
    ranges_add(&lost, 1, 2);
    instance_spares_take(instance, &lost, &actions);
    is_uint(instance_spares_of(instance->root, 1), 5, "each node is replaced once");
    is_uint(instance_spares_of(instance->root, 2), 4, "and each by its own");
    is_uint(ranges_count(&instance->root->spares), 0, "none is left");
    job_actions_fini(&actions);
    ranges_fini(&lost);
    instance_destroy(instance);
    allocation_fini(&nodes);
    instance_spec_fini(&spec);
    job_world_destroy(world);
}

static void test_start(void)
{
    struct job_world *world = job_world_create_spares(4, 1, 1, INSTANCE_LEAVES_WITH_JOB);

    job_world_run(world, 3);
    place_fails(world, 2);
    job_world_kill(world, 2);
    job_world_complete(world);
    is_uint(world->places[4].starts, 1, "a spare has the place of a node that does not start");
    has_string(job_world_trace(world), "continuing with 3 of 4 nodes (--spares 1)",
               "it is said that it goes on");
    has_string(world->text, "spare node n4 takes the place of n2, which has not started; 0 left",
               "and who has whose place");
    job_world_destroy(world);

    world = job_world_create_spares(4, 1, 1, INSTANCE_LEAVES_WITH_JOB);
    job_world_run(world, 3);
    place_fails(world, 4);
    job_world_kill(world, 4);
    job_world_complete(world);
    is_uint(world->places[1].starts + world->places[2].starts + world->places[3].starts, 3,
            "the others run without a spare that does not start");
    job_world_destroy(world);

    world = job_world_create_spares(4, 1, 1, INSTANCE_LEAVES_WITH_JOB);
    job_world_run(world, 3);
    place_fails(world, 1);
    place_fails(world, 2);
    job_world_pass(world, 1000);
    job_world_reported(world, 125, "at most 2 of 4 nodes can be used; --spares is 1",
                       "more than the spares can replace end the start");
}

int main(void)
{
    test_lost();
    test_of_spares();
    test_slots();
    test_start();
    return done_testing();
}
