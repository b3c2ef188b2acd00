/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What jobs get of the nodes that they share: slots, and cores if they are bound; and which nodes are
 * asked for their machines for that.  A list names who holds which core where.
 */
#include "config.h"

#include "launch/job/instance.h"

#include <string.h>

#include "test/support/job_world.h"
#include "test/support/tap.h"

static struct job_world *world_of(uint32_t nodes, uint32_t slots, uint32_t cores)
{
    struct job_world *world = job_world_create_with(nodes, slots, INSTANCE_STAYS);

    world->cores = cores;
    world->rule = (struct placement_rule){.policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_CORE};
    job_world_complete(world);
    return world;
}

static void ends(struct job_world *world, uint32_t job)
{
    for (uint32_t place = 1; place <= world->nodes; place++)
        job_world_part_starts(world, place, job);
    for (uint32_t place = 1; place <= world->nodes; place++)
        job_world_part_ends(world, place, job);
}

/* "n1: 0,1 n2: 0": each process of a job with what it is bound to, "-" if that is nothing. */
static void is_bound(struct job_world *world, uint32_t job, const char *expected, const char *what)
{
    struct buffer text = {0};

    for (uint32_t place = 1; place <= world->nodes; place++) {
        const struct instance *instance = world->places[place].instance;
        const struct job_local *part = instance ? instance_part(instance, job) : NULL;

        if (part == NULL)
            continue;
        buffer_printf(&text, "%sn%u:", text.length_bytes > 0 ? " " : "", place);
        for (uint32_t i = 0; i < part->count; i++) {
            buffer_append_string(&text, i > 0 ? "," : " ");
            if (i >= part->bindings.count || ranges_is_empty(&part->bindings.items[i].cpus))
                buffer_append_string(&text, "-");
            else
                ranges_print(&part->bindings.items[i].cpus, &text);
        }
    }
    is_string(buffer_string(&text), expected, "%s", what);
    buffer_fini(&text);
}

static void is_asked(const struct job_world *world, const char *expected, const char *what)
{
    struct buffer text = {0};

    for (uint32_t place = 1; place <= world->nodes; place++)
        buffer_printf(&text, "%u", world->places[place].surveys);
    is_string(buffer_string(&text), expected, "%s", what);
    buffer_fini(&text);
}

static void test_cores(void)
{
    struct job_world *world = world_of(2, 4, 4);

    job_world_run(world, 2);
    job_world_run(world, 3);
    is_bound(world, 1, "n1: 0,1", "a bound job has its cores");
    is_bound(world, 2, "n1: 2,3 n2: 0", "the next has others");
    job_world_run(world, 4);
    is_uint(world->end.status, 125, "what does not fit is refused");
    is_string(
        world->end.text,
        "4 processes requested, but there are 8 slots on 2 nodes, of which 3 are free; use -n 3 "
        "or fewer, or --oversubscribe; other jobs of this instance have 5 of its 8 slots and "
        "are bound to 5 of the 8 cores there",
        "in one line");
    ends(world, 1);
    job_world_run(world, 4);
    is_bound(world, 4, "n1: 0,1 n2: 1,2", "cores that were given back are taken first");
    ends(world, 2);
    ends(world, 4);
    is_uint(instance_kept_jobs(world->places[0].instance), 0, "nothing is kept");
    job_world_destroy(world);
}

/* Fewer cores than slots: what counts is what is scarcer. */
static void test_fewer_cores(void)
{
    struct job_world *world = world_of(2, 8, 4);

    job_world_run(world, 3);
    job_world_run(world, 2);
    is_bound(world, 2, "n1: 3 n2: 0", "slots without cores are of no use to a bound job");
    job_world_run(world, 4);
    is_uint(world->end.status, 125, "three cores are left, not four");
    world->rule.policy = PLACEMENT_BY_SLOT;
    job_world_run(world, 11);
    is_bound(world, 4, "n1: -,-,-,- n2: -,-,-,-,-,-,-", "a job that binds nothing has all slots");
    job_world_destroy(world);
}

static void test_several_cores_each(void)
{
    struct job_world *world = world_of(1, 4, 4);

    world->rule = (struct placement_rule){.policy = PLACEMENT_BY_SLOT, .pe = 3};
    job_world_run(world, 1);
    is_bound(world, 1, "n1: 0-2", "three cores for a process");
    job_world_run(world, 1);
    is_uint(world->end.status, 125, "for the next there is one only");
    world->rule.pe = 1;
    job_world_run(world, 1);
    is_bound(world, 3, "n1: 3", "which is enough for another job");
    job_world_destroy(world);
}

/* Its user says that it may share what is full: it starts, and is bound to nobody else's cores. */
static void test_oversubscribe(void)
{
    static const struct {
        struct placement_rule rule;
        uint32_t processes;
        const char *bound;
    } rows[] = {
        {{.policy = PLACEMENT_BY_SLOT}, 1, "n1: -"},
        {{.policy = PLACEMENT_BY_SLOT}, 3, "n1: -,- n2: -"},
        {{.policy = PLACEMENT_BY_SLOT}, 9, "n1: -,-,-,-,- n2: -,-,-,-"},
        {{.policy = PLACEMENT_BY_NODE}, 3, "n1: -,- n2: -"},
        {{.policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_CORE}, 2, "n1: -,-"},
        {{.policy = PLACEMENT_PER_OBJECT, .level = TOPOLOGY_NODE, .per = 1}, 2, "n1: - n2: -"},
    };

    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job_world *world = world_of(2, 2, 2);

        job_world_run(world, 4);
        world->rule = rows[i].rule;
        job_world_run(world, rows[i].processes);
        is_uint(world->end.status, 125, "all slots are taken (%u)", i);
        world->rule.oversubscribe = 1;
        job_world_run(world, rows[i].processes);
        is_bound(world, 3, rows[i].bound, "a job with --oversubscribe starts all the same");
        ends(world, 3);
        is_uint(world->end.status, 0, "and ends well");
        job_world_destroy(world);
    }
}

/* What is left is used first. */
static void test_oversubscribe_left(void)
{
    struct job_world *world = world_of(2, 2, 2);

    world->rule = (struct placement_rule){.policy = PLACEMENT_BY_SLOT};
    job_world_run(world, 3);
    world->rule.oversubscribe = 1;
    job_world_run(world, 1);
    is_bound(world, 2, "n2: -", "a slot that is free comes first");
    job_world_run(world, 5);
    is_bound(world, 3, "n1: -,-,- n2: -,-", "then all nodes in turn");
    job_world_destroy(world);
}

static void test_overload(void)
{
    struct job_world *world = world_of(1, 4, 2);

    job_world_run(world, 1);
    world->rule.bind = PLACEMENT_BIND_LEVEL;
    world->rule.bind_level = TOPOLOGY_CORE;
    world->rule.overload = world->rule.oversubscribe = 1;
    job_world_run(world, 2);
    is_bound(world, 2, "n1: 1,1", "who may share cores shares its own first");
    job_world_run(world, 1);
    is_bound(world, 3, "n1: 0", "and those of others if there is no other");
    job_world_destroy(world);
}

static void test_surveys(void)
{
    struct job_world *world = world_of(4, 2, 2);

    job_world_run(world, 3);
    is_asked(world, "1100", "only the nodes that it needs are asked");
    is_bound(world, 1, "n1: 0,1 n2: 0", "and it runs there");
    job_world_run(world, 1);
    is_asked(world, "1100", "nobody is asked twice");
    job_world_run(world, 1);
    is_asked(world, "1110", "the next job needs a node more");
    world->rule = (struct placement_rule){.policy = PLACEMENT_BY_SLOT};
    job_world_run(world, 1);
    is_asked(world, "1110", "who binds nothing asks nobody");
    job_world_destroy(world);
}

/* Slots do not say how many nodes it takes: then all others are asked, too. */
static void test_second_survey(void)
{
    struct job_world *world = world_of(4, 4, 2);

    world->rule = (struct placement_rule){.policy = PLACEMENT_BY_SLOT, .pe = 1};
    job_world_trace(world);
    job_world_run(world, 4);
    job_world_happens(world,
                      "root: broadcast SURVEY to 1\n"
                      "n1: inspect the machine\n"
                      "n1: contribute to SURVEY 1 of 1: its machine\n"
                      "root: broadcast SURVEY to 2-4\n"
                      "n2: inspect the machine\n"
                      "n3: inspect the machine\n"
                      "n4: inspect the machine\n"
                      "n2: contribute to SURVEY 2 of 2-4: its machine\n"
                      "n3: contribute to SURVEY 2 of 2-4: its machine\n"
                      "n4: contribute to SURVEY 2 of 2-4: its machine\n"
                      "root: broadcast LAUNCH to 1-2\n"
                      "n1: open\n"
                      "n1: start 2 processes\n"
                      "n2: open\n"
                      "n2: start 2 processes\n",
                      "a survey that was not enough");
    is_bound(world, 1, "n1: 0,1 n2: 0,1", "each process has a core");
    job_world_run(world, 1);
    is_asked(world, "1111", "and each node has been asked once");
    job_world_destroy(world);
}

/* A node dies, and its cores with it. */
static void test_loss(void)
{
    struct job_world *world = world_of(2, 2, 2);

    job_world_run(world, 3);
    job_world_kill(world, 1);
    job_world_part_starts(world, 2, 1);
    job_world_part_ends(world, 2, 1);
    job_world_pass(world, 1000);
    is_uint(world->reports, 1, "a job ends with its node");
    job_world_run(world, 2);
    is_bound(world, 2, "n2: 0,1", "what it had elsewhere is free");
    job_world_run(world, 1);
    is_uint(world->end.status, 125, "and the dead node is nobody's");
    job_world_destroy(world);
}

int main(void)
{
    test_cores();
    test_fewer_cores();
    test_several_cores_each();
    test_oversubscribe();
    test_oversubscribe_left();
    test_overload();
    test_surveys();
    test_second_survey();
    test_loss();
    return done_testing();
}
