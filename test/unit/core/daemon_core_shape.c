/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole daemons whose tree has an order of its own (launch/core/daemon_core_shape.c): jobs, fences and losses are the same
 * as in a tree in the order of the nodes.  Nodes of different numbers of slots make ranks that go by the tree
 * visible.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/time.h"
#include "launch/core/daemon_core_internal.h"
#include "launch/sim/sim.h"
#include "overlay/tree.h"
#include "test/support/tap.h"

#define NODES_MAX 64u

struct run {
    struct sim_machine *machine;
    uint32_t nodes;
    uint32_t processes[NODES_MAX + 1]; /* that have ended well, by place */
    uint32_t fences[NODES_MAX + 1];
    uint32_t fence_errors;
    struct buffer members; /* of the first fence, in their order */
    char report[1024];
    uint32_t status;
    int has_report;
};

static void on_process(void *context, const struct sim_process_fact *fact)
{
    struct run *run = context;

    if (fact->fate == SIM_FATE_ENDED && fact->number == 0)
        run->processes[fact->place]++;
}

static int compare_places(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* The members have given their numbers; a merge may bring them in any order. */
static void on_fence(void *context, uint32_t job, uint32_t place, uint32_t generation, int status,
                     const struct message *result)
{
    struct run *run = context;
    uint32_t places[NODES_MAX], count = 0;
    struct wire_reader reader;

    run->fences[place]++;
    run->fence_errors += status != 0;
    if (status != 0 || generation != 1 || run->members.length_bytes > 0)
        return;
    wire_reader_init(&reader, result->data, result->length_bytes);
    while (wire_left(&reader) > 0 && count < NODES_MAX)
        places[count++] = wire_get_u32(&reader);
    qsort(places, count, sizeof(*places), compare_places);
    for (uint32_t i = 0; i < count; i++)
        buffer_printf(&run->members, " %u", places[i]);
}

static void on_report(void *context, uint64_t now_ns, uint32_t job,
                      const struct control_job_end *end)
{
    struct run *run = context;

    run->has_report = 1;
    run->status = end->status;
    snprintf(run->report, sizeof(run->report), "%s", end->text);
}

static const struct sim_watch watch = {.process = on_process,
                                       .fence = on_fence,
                                       .report = on_report};

static void make_allocation(struct allocation *allocation, uint32_t nodes, uint64_t seed)
{
    struct random_state random;
    uint32_t order[NODES_MAX];
    char name[16];

    allocation_init(allocation);
    for (uint32_t i = 0; i < nodes; i++) {
        order[i] = i;
        snprintf(name, sizeof(name), "n%u", i + 1);
        allocation_add(allocation, name, 1 + i % 3);
    }
    if (seed == 0)
        return;
    random_init(&random, seed);
    for (uint32_t i = nodes; i > 1; i--) {
        uint32_t other = (uint32_t)random_below(&random, i), kept = order[i - 1];

        order[i - 1] = order[other];
        order[other] = kept;
    }
    allocation->order = node_order_create(order, nodes);
}

/* victim: the index of a node + 1 whose daemon dies under the job; 0: none. */
static void run_job(struct run *run, uint32_t nodes, uint64_t seed, uint32_t processes,
                    uint32_t victim)
{
    struct allocation allocation;
    struct sim_machine_config config = {
        .allocation = &allocation,
        .radix = 3,
        .seed = 5,
        .latency_ns = 20 * NS_PER_US,
        .jitter_ns = 20 * NS_PER_US,
        .daemon_ns = NS_PER_MS,
        .daemon_ns_max = 5 * NS_PER_MS,
        .rule = {.processes = processes},
        .program = {.step_ns_max = 2 * NS_PER_S, .fences = 2, .output_bytes_max = 100},
    };

    *run = (struct run){.nodes = nodes};
    make_allocation(&allocation, nodes, seed);
    run->machine = sim_machine_create(&config, &watch, run);
    if (victim > 0)
        sim_machine_kill_at(run->machine, 500 * NS_PER_MS,
                            node_order_tree_place(allocation.order, victim));
    ok(sim_machine_run(run->machine, 200 * NS_PER_S), "%u nodes, order %u: all ends", nodes,
       (unsigned)seed);
    ok(run->has_report, "and is reported");
    sim_machine_destroy(run->machine);
    allocation_fini(&allocation);
}

static void test_same(uint32_t nodes, uint32_t processes)
{
    struct run listed;

    run_job(&listed, nodes, 0, processes, 0);
    is_uint(listed.status, 0, "as listed: all is well");
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct run shaped;

        run_job(&shaped, nodes, seed, processes, 0);
        is_uint(shaped.status, 0, "with an order: all is well");
        ok(memcmp(shaped.processes, listed.processes, sizeof(listed.processes)) == 0,
           "the same nodes have the same processes");
        ok(memcmp(shaped.fences, listed.fences, sizeof(listed.fences)) == 0, "and the same fences");
        is_uint(shaped.fence_errors, 0, "which succeed");
        is_string(buffer_string(&shaped.members), buffer_string(&listed.members),
                  "and have the same members");
        buffer_fini(&shaped.members);
    }
    buffer_fini(&listed.members);
}

static void test_loss(void)
{
    for (uint64_t seed = 0; seed <= 6; seed++) {
        struct run run;

        run_job(&run, 23, seed, 0, 17);
        has_string(run.report, "n17", "the node that died is named");
        ok(run.status != 0, "and the job fails");
        buffer_fini(&run.members);
    }
}

/* ---- the border itself ---- */

static struct buffer calls;

static int tree_broadcast(void *context, const struct ranges *places, struct message *message)
{
    ranges_print(places, &calls);
    return 0;
}

static void tree_send(void *context, uint32_t place, enum frame_class class,
                      struct message *message)
{
    buffer_printf(&calls, "%u", place);
}

static uint32_t tree_grow(void *context, uint32_t count)
{
    return 6;
}

static const char *starter_name(void *context, uint32_t place, char name[HOST_NAME_BYTES_MAX + 1])
{
    snprintf(name, HOST_NAME_BYTES_MAX + 1, "at %u", place);
    return name;
}

static void heard(const char *expected, const char *name)
{
    is_string(buffer_string(&calls), expected, "%s", name);
    buffer_clear(&calls);
}

/* Positions 1 to 5 of the tree have the nodes with the places 4, 5, 1, 3, 2. */
static void test_root(void)
{
    static const uint32_t nodes[] = {3, 4, 0, 2, 1};
    static const struct daemon_starter_ops starter = {.name = starter_name};
    static const struct daemon_ops ops = {.starter = &starter};
    static const struct daemon_tree_ops tree = {
        .broadcast = tree_broadcast, .send = tree_send, .grow = tree_grow};
    struct daemon_shaped_event shaped;
    struct ranges places = {0};
    struct instance_spec spec;
    struct allocation allocation;
    struct daemon_core_config config = {
        .spec = &spec, .roster = &allocation, .directory = "", .range = {0, 5}, .ops = &ops};
    struct daemon_event event = {.kind = DAEMON_EVENT_LOST, .places = &places};
    char name[HOST_NAME_BYTES_MAX + 1];
    struct daemon_core *core;

    instance_spec_init(&spec);
    spec.places = 6;
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 5, 1);
    config.order = allocation.order = node_order_create(nodes, 5);
    core = daemon_core_create(&config);
    daemon_core_attach(core, &tree, NULL);
    ranges_add(&places, 1, 2);
    core->tree->broadcast(core->tree_context, &places, NULL);
    heard("3,5", "the tree is told its own places");
    core->tree->send(core->tree_context, 5, FRAME_BULK, NULL);
    heard("2", "one by one, too");
    core->tree->send(core->tree_context, 0, FRAME_BULK, NULL);
    heard("0", "but the root is the root");
    is_uint(core->tree->grow(core->tree_context, 1), 6, "and added places are the same");
    is_string(daemon_core_shape_name(core, 5, name), "at 2", "so is the starter");
    ok(daemon_core_shape_event(core, &event, &shaped), "a loss is for the root at once");
    ranges_print(shaped.event.places, &calls);
    heard("4-5", "with the places of the nodes");
    daemon_core_shape_event_fini(&shaped);
    event = (struct daemon_event){.kind = DAEMON_EVENT_RECEIVED, .place = 3};
    ok(daemon_core_shape_event(core, &event, &shaped), "so is a message");
    is_uint(shaped.event.place, 1, "from the node at that place");
    daemon_core_shape_event_fini(&shaped);
    daemon_core_destroy(core);
    allocation_fini(&allocation);
    instance_spec_fini(&spec);
    ranges_fini(&places);
}

/* At a node losses wait for the roster. */
static void test_early(void)
{
    static const uint32_t nodes[] = {3, 4, 0, 2, 1};
    static const struct daemon_ops ops = {.starter = NULL};
    struct node_order *order = node_order_create(nodes, 5);
    struct node_order *own = node_order_slice(order, 1, 2);
    struct daemon_shaped_event shaped;
    struct ranges places = {0};
    struct instance_spec spec;
    struct daemon_core_config config = {
        .spec = &spec, .place = 5, .range = {2, 3}, .order = own, .ops = &ops};
    struct daemon_event event = {.kind = DAEMON_EVENT_LOST, .places = &places};
    struct daemon_core *core;

    instance_spec_init(&spec);
    spec.places = 6;
    core = daemon_core_create(&config);
    ranges_add(&places, 1, 1);
    ok(!daemon_core_shape_event(core, &event, &shaped), "a loss before the roster is kept");
    ok(!daemon_core_shape_losses(core, &shaped), "for as long");
    event = (struct daemon_event){.kind = DAEMON_EVENT_PLACE_FAILED, .place = 3};
    ok(daemon_core_shape_event(core, &event, &shaped), "what concerns the own range is not");
    is_uint(shaped.event.place, 1, "and its order is known");
    daemon_core_shape_event_fini(&shaped);
    daemon_core_destroy(core);
    instance_spec_fini(&spec);
    ranges_fini(&places);
    node_order_destroy(own);
    node_order_destroy(order);
}

int main(void)
{
    test_same(5, 0);
    test_same(40, 0);
    test_same(40, 7);
    test_loss();
    test_root();
    test_early();
    buffer_fini(&calls);
    return done_testing();
}
