/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of machines: equal nodes are one, whatever was said of them in which order; cores of other jobs
 * make kinds of their own; what is kept and what travels is the same. */
#include "config.h"

#include "alloc/placement_machines.h"

#include <string.h>

#include "test/support/tap.h"

/* So many cores of two threads; the kernel counts second threads after all first ones. */
static void add(struct placement_machines *machines, uint32_t cores, uint32_t first, uint32_t last)
{
    struct topology topology;
    struct ranges allowed = {0};

    topology_init(&topology, 2 * cores);
    for (uint32_t i = 0; i < topology.threads; i++) {
        topology.os[i] = i % 2 * cores + i / 2;
        topology.objects[TOPOLOGY_CORE][i] = i / 2;
    }
    topology_number(&topology);
    topology_all(&topology, &allowed);
    is_int(placement_machines_add(machines, &topology, &allowed, first, last), 0,
           "%u cores on %u-%u", cores, first, last);
    topology_fini(&topology);
    ranges_fini(&allowed);
}

static void take(struct placement_machines *machines, uint32_t first, uint32_t last,
                 uint32_t thread)
{
    struct ranges nodes = {0}, threads = {0};

    ranges_add(&nodes, first, last);
    ranges_add(&threads, thread, thread);
    placement_machines_take(machines, &nodes, &threads);
    ranges_fini(&nodes);
    ranges_fini(&threads);
}

/* "0-3,8 of 4 cores, 1,5 taken; ..." */
static void is_machines(const struct placement_machines *machines, const char *expected,
                        const char *what)
{
    struct buffer text = {0};

    for (uint32_t i = 0; i < machines->kinds_count; i++) {
        const struct placement_kind *kind = &machines->kinds[i];

        buffer_append_string(&text, i > 0 ? "; " : "");
        ranges_print(&kind->nodes, &text);
        buffer_printf(&text, " of %u cores", kind->view.counts[TOPOLOGY_CORE]);
        if (ranges_is_empty(&kind->taken))
            continue;
        buffer_append_string(&text, ", taken ");
        ranges_print(&kind->taken, &text);
    }
    is_string(buffer_string(&text), expected, "%s", what);
    buffer_fini(&text);
}

static void test_kinds(void)
{
    struct placement_machines machines = {0}, others = {0};
    struct ranges nodes = {0};

    add(&machines, 4, 0, 3);
    add(&machines, 2, 4, 4);
    add(&machines, 4, 6, 6);
    is_machines(&machines, "0-3,6 of 4 cores; 4 of 2 cores", "equal nodes are one kind");
    is_uint(placement_machines_kind(&machines, 4), 1, "a node has its kind");
    is_uint(placement_machines_kind(&machines, 5), UINT32_MAX, "or none");
    add(&others, 2, 5, 5);
    add(&others, 8, 7, 7);
    placement_machines_merge(&machines, &others);
    is_machines(&machines, "0-3,6 of 4 cores; 4-5 of 2 cores; 7 of 8 cores", "a merge");
    is_uint(machines.classes_count, 3, "has three topologies");
    ranges_add(&nodes, 4, 7);
    placement_machines_keep(&machines, &nodes);
    is_machines(&machines, "6 of 4 cores; 4-5 of 2 cores; 7 of 8 cores", "some nodes of each");
    ranges_remove(&nodes, 6, 6);
    placement_machines_keep(&machines, &nodes);
    is_machines(&machines, "4-5 of 2 cores; 7 of 8 cores", "a kind without nodes goes");
    is_uint(machines.classes_count, 2, "and its topology");
    placement_machines_nodes(&machines, &nodes);
    is_uint(ranges_count(&nodes), 3, "all nodes that are known");
    placement_machines_fini(&machines);
    placement_machines_fini(&others);
    ranges_fini(&nodes);
}

static void test_taken(void)
{
    struct placement_machines machines = {0};

    add(&machines, 4, 0, 9);
    take(&machines, 2, 3, 5);
    is_machines(&machines, "0-1,4-9 of 4 cores; 2-3 of 4 cores, taken 1,5",
                "a thread takes its core with it");
    take(&machines, 2, 2, 1);
    is_uint(machines.kinds_count, 2, "what is taken already is not taken again");
    take(&machines, 3, 5, 2);
    is_machines(&machines,
                "0-1,6-9 of 4 cores; 2 of 4 cores, taken 1,5; 4-5 of 4 cores, taken 2,6; "
                "3 of 4 cores, taken 1-2,5-6",
                "each node has what is taken of it");
    take(&machines, 4, 5, 1);
    is_machines(&machines,
                "0-1,6-9 of 4 cores; 2 of 4 cores, taken 1,5; 3-5 of 4 cores, taken 1-2,5-6",
                "nodes of which the same is taken are one kind, whatever came first");
    is_uint(placement_machines_taken(&machines.kinds[2], TOPOLOGY_CORE), 2, "cores are counted");
    is_uint(placement_machines_taken(&machines.kinds[2], TOPOLOGY_THREAD), 4, "or threads");
    is_uint(placement_machines_taken(&machines.kinds[0], TOPOLOGY_CORE), 0, "or none");
    take(&machines, 0, 9, 63);
    is_uint(machines.kinds_count, 3, "a thread that a machine does not have takes nothing");
    placement_machines_fini(&machines);
}

static void test_wire(void)
{
    struct placement_machines machines = {0}, copy = {0};
    struct buffer bytes = {0}, again = {0};
    struct wire_reader reader;

    add(&machines, 4, 0, 9);
    add(&machines, 2, 10, 10);
    take(&machines, 2, 3, 1);
    placement_machines_encode(&machines, &bytes);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    is_int(placement_machines_decode(&copy, &reader), 0, "they travel");
    placement_machines_encode(&copy, &again);
    ok(bytes.length_bytes == again.length_bytes &&
           memcmp(bytes.data, again.data, bytes.length_bytes) == 0,
       "as they are");
    placement_machines_fini(&copy);
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        wire_reader_init(&reader, bytes.data, length);
        if (placement_machines_decode(&copy, &reader) == 0 || copy.kinds_count > 0)
            fail("%zu of %zu bytes are taken for all", length, bytes.length_bytes);
    }
    placement_machines_fini(&machines);
    buffer_fini(&bytes);
    buffer_fini(&again);
}

int main(void)
{
    test_kinds();
    test_taken();
    test_wire();
    return done_testing();
}
