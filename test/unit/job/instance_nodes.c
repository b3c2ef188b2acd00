/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that are drained and lost, and the list of all (launch/job/instance_nodes.c), in an instance by hand. */
#include "config.h"

#include "launch/job/instance.h"

#include <errno.h>

#include "test/support/job_world.h"
#include "test/support/tap.h"

static struct job_world *staying(uint32_t nodes, uint32_t slots)
{
    struct job_world *world = job_world_create_with(nodes, slots, INSTANCE_STAYS);

    job_world_complete(world);
    return world;
}

static void change(struct job_world *world, enum job_event_kind kind, uint32_t first, uint32_t last,
                   int flag)
{
    struct ranges places = {0};

    ranges_add(&places, first, last);
    job_world_event(world, 0, (struct job_event){.kind = kind, .places = &places, .flag = flag});
    ranges_fini(&places);
}

static void drain(struct job_world *world, uint32_t first, uint32_t last, int flag)
{
    change(world, JOB_EVENT_DRAIN, first, last, flag);
}

/* Each group as "nodes state used/slots jobs". */
static void lists(struct job_world *world, uint32_t first, uint32_t last, const char *expected,
                  const char *what)
{
    struct ranges places = {0};
    struct buffer text = {0};
    struct node_list list;

    node_list_init(&list);
    ranges_add(&places, first, last);
    instance_nodes_list(world->places[0].instance, &places, &list);
    for (uint32_t i = 0; i < list.groups_count; i++) {
        const struct node_list_group *group = &list.groups[i];

        buffer_printf(&text, "%s%u %s %u/%u", i > 0 ? ", " : "", group->nodes,
                      node_list_state_name((enum node_list_state)group->state), group->used,
                      group->slots);
        if (!ranges_is_empty(&group->jobs))
            buffer_append_string(&text, " of ");
        ranges_print(&group->jobs, &text);
    }
    is_string(buffer_string(&text), expected, "%s", what);
    is_uint(list.version, 1, "%s: version of the roster", what);
    node_list_fini(&list);
    ranges_fini(&places);
    buffer_fini(&text);
}

static void ends(struct job_world *world, uint32_t first, uint32_t last, uint32_t job)
{
    for (uint32_t place = first; place <= last; place++)
        job_world_part_starts(world, place, job);
    for (uint32_t place = first; place <= last; place++)
        job_world_part_ends(world, place, job);
}

static void test_drain(void)
{
    struct job_world *world = staying(4, 2);

    lists(world, 1, 4, "4 up 0/2", "all are up");
    job_world_run(world, 3);
    lists(world, 1, 4, "1 up 2/2 of 1, 1 up 1/2 of 1, 2 up 0/2", "a job uses some");
    drain(world, 1, 3, 1);
    lists(world, 1, 4, "1 draining 2/2 of 1, 1 draining 1/2 of 1, 1 drained 0/2, 1 up 0/2",
          "three are drained, of which two are used");
    lists(world, 2, 3, "1 draining 1/2 of 1, 1 drained 0/2", "some of the nodes");
    is_uint(allocation_slots(instance_usable(world->places[0].instance)), 2,
            "clients see the slots of the fourth");
    is_uint(allocation_nodes(instance_usable(world->places[0].instance)), 4, "and all nodes");
    job_world_run(world, 2);
    lists(world, 1, 4, "1 draining 2/2 of 1, 1 draining 1/2 of 1, 1 drained 0/2, 1 up 2/2 of 2",
          "the next job gets what is up");
    job_world_run(world, 1);
    is_uint(world->end.status, 125, "one that does not fit there is refused");
    has_string(world->end.text, "slot", "for want of slots");
    ends(world, 1, 2, 1);
    lists(world, 1, 4, "3 drained 0/2, 1 up 2/2 of 2", "what runs on drained nodes ends normally");
    drain(world, 2, 2, 0);
    job_world_run(world, 2);
    lists(world, 1, 4, "1 drained 0/2, 1 up 2/2 of 4, 1 drained 0/2, 1 up 2/2 of 2",
          "one that is resumed is used again");
    ends(world, 4, 4, 2);
    ends(world, 2, 2, 4);
    drain(world, 1, 4, 0);
    lists(world, 1, 4, "4 up 0/2", "all are up again");
    job_world_leave(world, "ended");
    is_uint(world->leaves, 1, "and the instance leaves");
    job_world_destroy(world);
}

/* Slots of drained nodes are not those that a job waits for, also while others have them. */
static void test_count(void)
{
    struct job_world *world = staying(3, 2);

    job_world_run(world, 3);
    drain(world, 1, 1, 1);
    world->may_wait = 1;
    job_world_run(world, 4);
    has_string(job_world_trace(world),
               "job 2 waits for 4 slots; other jobs have 1 of the instance's 4",
               "who waits hears of the slots that can be had");
    world->may_wait = 0;
    job_world_run(world, 4);
    has_string(world->end.text, "other jobs of this instance have 1 of its 4 slots",
               "so does who does not");
    job_world_destroy(world);
}

static void test_together(void)
{
    struct job_world *world = staying(3, 4);

    job_world_run(world, 2);
    job_world_run(world, 2);
    job_world_run(world, 5);
    lists(world, 1, 3, "1 up 4/4 of 1-2, 1 up 4/4 of 3, 1 up 1/4 of 3", "several jobs of a node");
    ends(world, 1, 1, 2);
    lists(world, 1, 3, "1 up 2/4 of 1, 1 up 4/4 of 3, 1 up 1/4 of 3", "one has ended");
    job_world_destroy(world);
}

static void test_lost(void)
{
    struct job_world *world = staying(3, 1);
    struct instance *root = world->places[0].instance;
    struct error error = ERROR_NONE;
    struct ranges places = {0};

    job_world_kill(world, 2);
    lists(world, 1, 3, "1 up 0/1, 1 lost 0/1, 1 up 0/1", "one is lost");
    is_uint(allocation_slots(instance_usable(root)), 2, "its slots are gone");
    drain(world, 2, 3, 1);
    lists(world, 1, 3, "1 up 0/1, 1 lost 0/1, 1 drained 0/1", "and stays so if it is drained");
    ranges_add(&places, 1, 1);
    is_int(instance_nodes_resumable(root, &places, &error), 0, "another could be resumed");
    ranges_add(&places, 2, 2);
    is_int(instance_nodes_resumable(root, &places, &error), -EHOSTDOWN, "that one cannot");
    is_string(error.text, "node n2 is lost: it cannot be resumed", "why");
    ranges_fini(&places);
    job_world_destroy(world);
}

/* The jobs that use nodes 1 to last. */
static void used_by(struct job_world *world, uint32_t last, const char *expected, const char *what)
{
    struct ranges places = {0}, jobs = {0};
    struct buffer text = {0};

    ranges_add(&places, 1, last);
    instance_nodes_users(world->places[0].instance, &places, &jobs);
    ranges_print(&jobs, &text);
    is_string(buffer_string(&text), expected, "%s", what);
    buffer_fini(&text);
    ranges_fini(&places);
    ranges_fini(&jobs);
}

static void test_remove(void)
{
    struct job_world *world = staying(4, 1);
    struct instance *root = world->places[0].instance;
    struct ranges places = {0}, staying_places = {0};

    ok(instance_nodes_can_change(root), "nodes of an instance that is up can be removed");
    job_world_run(world, 2);
    job_world_run(world, 1);
    used_by(world, 1, "1", "who uses the first");
    used_by(world, 4, "1-2", "who uses all");
    for (uint32_t place = 1; place <= 3; place++)
        job_world_part_starts(world, place, place < 3 ? 1 : 2);
    change(world, JOB_EVENT_REMOVE, 2, 2, 0);
    instance_nodes_all(root, &places);
    is_uint(ranges_count(&places), 3, "one is removed");
    is_uint(allocation_slots(instance_usable(root)), 3, "new jobs do not get its slot");
    is_int(instance_nodes_find(root, "n2", &places, NULL), -ENOENT, "it has no name any more");
    ranges_clear(&places);
    ranges_add(&places, 2, 3);
    instance_nodes_staying(root, &places, &staying_places);
    is_uint(ranges_min(&staying_places), 3, "the other of two stays");
    ok(!instance_nodes_have_left(root, &places), "none has left yet");
    job_world_kill(world, 2);
    job_world_part_ends(world, 1, 1);
    job_world_pass(world, 10000); /* output that is lost with it is waited for */
    is_uint(world->end.status, 125, "to a job that used it, it is lost");
    has_string(world->end.text, "lost node n2: it was removed from the instance", "and why");
    ok(!instance_nodes_have_left(root, &places), "the other has not left");
    ranges_remove(&places, 3, 3);
    ok(instance_nodes_have_left(root, &places), "it has");
    used_by(world, 2, "", "the job is over");
    job_world_part_ends(world, 3, 2);
    job_world_leave(world, "ended");
    ok(!instance_nodes_can_change(root), "nothing can be changed when the instance ends");
    ranges_fini(&places);
    ranges_fini(&staying_places);
    job_world_destroy(world);
}

static void test_find(void)
{
    struct job_world *world = staying(4, 1);
    const struct instance *root = world->places[0].instance;
    struct error error = ERROR_NONE;
    struct ranges places = {0};
    struct buffer text = {0};

    is_int(instance_nodes_find(root, "n[3-4],n1", &places, &error), 0, "nodes by name");
    ranges_print(&places, &text);
    is_string(buffer_string(&text), "1,3-4", "their places");
    is_int(instance_nodes_find(root, "n1,m1", &places, &error), -ENOENT, "one that there is not");
    is_string(error.text, "no such node: m1", "which");
    is_int(instance_nodes_find(root, "n[", &places, &error), -EINVAL, "what is no list");
    has_string(error.text, "list of nodes: column 2", "where");
    buffer_fini(&text);
    ranges_fini(&places);
    job_world_destroy(world);
}

int main(void)
{
    test_drain();
    test_count();
    test_together();
    test_lost();
    test_remove();
    test_find();
    return done_testing();
}
