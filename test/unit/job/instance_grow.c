/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that are added to a living instance (launch/job/instance_grow.c), by hand. */
#include "config.h"

#include "launch/job/instance_state.h"

#include <errno.h>

#include "test/support/job_world.h"
#include "test/support/tap.h"

static struct job_world *staying(uint32_t nodes, uint32_t slots)
{
    struct job_world *world = job_world_create_with(nodes, slots, INSTANCE_STAYS);

    job_world_complete(world);
    return world;
}

static struct instance *root_of(struct job_world *world)
{
    return world->places[0].instance;
}

static void removes(struct job_world *world, uint32_t place)
{
    struct ranges places = {0};

    ranges_add(&places, place, place);
    job_world_event(world, 0, (struct job_event){.kind = JOB_EVENT_REMOVE, .places = &places});
    ranges_fini(&places);
    job_world_kill(world, place);
}

/* Names of a roster, and its version. */
static void has_roster(struct job_world *world, uint32_t place, const char *names, uint32_t version,
                       const char *what)
{
    const struct instance *instance = world->places[place].instance;
    struct buffer text = {0};

    hostlist_print(instance_roster(instance)->names, &text);
    is_string(buffer_string(&text), names, "%s", what);
    is_uint(instance->roster_version, version, "%s: version", what);
    buffer_fini(&text);
}

static void uses(struct job_world *world, uint32_t number, const char *places, const char *what)
{
    struct buffer text = {0};
    struct ranges set = {0};

    instance_job_places(root_of(world), number, UINT32_MAX, &set);
    ranges_print(&set, &text);
    is_string(buffer_string(&text), places, "%s", what);
    ranges_fini(&set);
    buffer_fini(&text);
}

static void ends(struct job_world *world, uint32_t first, uint32_t last, uint32_t job)
{
    for (uint32_t place = first; place <= last; place++)
        job_world_part_starts(world, place, job);
    for (uint32_t place = first; place <= last; place++)
        job_world_part_ends(world, place, job);
}

static void test_joined(void)
{
    struct job_world *world = staying(2, 1);
    struct error error = ERROR_NONE;
    struct hostlist *names = hostlist_create();

    (void)hostlist_parse(names, "m1,n2", NULL);
    is_int(instance_nodes_are_new(root_of(world), names, &error), -EEXIST, "a name of a node");
    is_string(error.text, "node n2 is part of the instance already", "which");
    hostlist_destroy(names);
    has_roster(world, 2, "n[1-2]", 1, "the first roster");
    job_world_grow(world, "n[3-4]", 2, true);
    has_roster(world, 0, "n[1-4]", 2, "that of the root after two more have joined");
    has_roster(world, 1, "n[1-4]", 2, "that of an old node");
    has_roster(world, 4, "n[1-4]", 2, "and of a new one");
    is_uint(allocation_slots(instance_usable(root_of(world))), 6, "clients see their slots");
    job_world_run(world, 5);
    uses(world, 1, "1-4", "a job gets new nodes, too");
    ends(world, 1, 4, 1);
    is_string(world->end.text, "", "and all of them agree where its processes are");
    is_uint(world->end.status, 0, "it ends well");
    job_world_event(world, 0, (struct job_event){.kind = JOB_EVENT_COMPLETE});
    job_world_leave(world, "ended");
    is_uint(world->leaves, 1, "the instance ends as any other");
    job_world_destroy(world);
}

static void test_queue(void)
{
    struct job_world *world = staying(2, 2);

    world->may_wait = 1;
    job_world_run(world, 3);
    job_world_run(world, 2);
    uses(world, 2, "", "a job waits for slots");
    job_world_grow(world, "x", 1, true);
    uses(world, 2, "2-3", "and starts when a node is added that it fits on");
    ends(world, 1, 1, 1);
    job_world_part_starts(world, 2, 1);
    job_world_part_ends(world, 2, 1);
    ends(world, 2, 3, 2);
    is_uint(world->end.status, 0, "it ends well");
    job_world_destroy(world);
}

/* The answer to who asks for the map of job 1. */
static void learns(struct job_world *world, uint32_t place, const char *what)
{
    const struct allocation *roster = instance_roster(world->places[place].instance);
    struct job_local local;
    struct buffer answer = {0};
    struct buffer places = {0};
    struct wire_reader reader;
    int rc;

    is_int(instance_job_tell(root_of(world), 1, place, &answer), 0, "%s: it is told", what);
    wire_reader_init(&reader, answer.data, answer.length_bytes);
    rc = job_map_learn(&local, roster, 1, &reader);
    is_int(rc, 0, "%s: the map is read", what);
    if (rc == 0) {
        ranges_print(&local.places, &places);
        is_string(buffer_string(&places), "1-2", "%s: and the same", what);
        job_local_fini(&local);
    }
    buffer_fini(&answer);
    buffer_fini(&places);
}

/* A job that has had all nodes when there were two; later ones would get some of its processes otherwise. */
static void test_map(void)
{
    struct job_world *world = staying(2, 2);

    world->rule = (struct placement_rule){.policy = PLACEMENT_BY_NODE};
    job_world_run(world, 4);
    learns(world, 1, "a node");
    job_world_grow(world, "n[3-4]", 2, true);
    learns(world, 1, "a node that has learnt of others since");
    learns(world, 4, "one of these");
    ends(world, 1, 2, 1);
    is_uint(world->end.status, 0, "the job has not noticed");
    job_world_destroy(world);
}

static void test_failed(void)
{
    struct job_world *world = staying(2, 1);
    struct ranges all = {0}, found = {0};

    job_world_grow(world, "n[3-4]", 1, false);
    instance_nodes_all(root_of(world), &all);
    is_uint(ranges_count(&all), 2, "nodes that do not come up are no nodes");
    is_int(instance_nodes_find(root_of(world), "n3", &found, NULL), -ENOENT, "nor have they names");
    is_uint(allocation_slots(instance_usable(root_of(world))), 2, "or slots");
    has_roster(world, 1, "n[1-2],_removed-[3-4]", 2, "the roster counts their places");
    job_world_grow(world, "n3", 1, true);
    has_roster(world, 5, "n[1-2],_removed-[3-4],n3", 3, "one of them comes up another time");
    is_int(instance_nodes_find(root_of(world), "n3", &found, NULL), 0, "it has its name");
    is_uint(ranges_min(&found), 5, "and another place");
    job_world_run(world, 3);
    uses(world, 1, "1-2,5", "jobs use it");
    ends(world, 1, 2, 1);
    ends(world, 5, 5, 1);
    is_uint(world->end.status, 0, "and end well");
    ranges_fini(&all);
    ranges_fini(&found);
    job_world_destroy(world);
}

static void test_again(void)
{
    struct job_world *world = staying(3, 1);
    struct ranges found = {0};

    removes(world, 2);
    has_roster(world, 3, "n[1-3]", 2, "a node is removed");
    job_world_grow(world, "n4,n2", 1, true);
    has_roster(world, 5, "n1,_removed-2,n[3-4,2]", 3, "and comes back");
    (void)instance_nodes_find(root_of(world), "n2", &found, NULL);
    is_uint(ranges_min(&found), 5, "as another place");
    job_world_run(world, 4);
    uses(world, 1, "1,3-5", "jobs use it");
    removes(world, 5);
    is_int(instance_nodes_find(root_of(world), "n2", &found, NULL), -ENOENT, "it is removed again");
    job_world_grow(world, "n2", 1, true);
    has_roster(world, 6, "n1,_removed-2,n[3-4],_removed-5,n2", 5, "and comes back again");
    ranges_fini(&found);
    job_world_destroy(world);
}

int main(void)
{
    test_joined();
    test_queue();
    test_map();
    test_failed();
    test_again();
    return done_testing();
}
