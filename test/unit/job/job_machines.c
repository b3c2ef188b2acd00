/* SPDX-License-Identifier: BSD-3-Clause */
/* What the root knows of its nodes' machines: each is asked once, and again only for its devices. */
#include "config.h"

#include "launch/job/job_machines.h"

#include "test/support/tap.h"

/* Nodes answer: so many cores, with a GPU or without. */
static void learn(struct job_machines *machines, uint32_t first, uint32_t last, uint32_t cores,
                  int with_devices)
{
    struct placement_machines answer = {0};
    struct topology topology;
    struct ranges allowed = {0}, near = {0};

    topology_init(&topology, cores);
    for (uint32_t i = 0; i < cores; i++)
        topology.os[i] = topology.objects[TOPOLOGY_CORE][i] = i;
    topology_number(&topology);
    if (with_devices)
        topology_add_device(&topology, "gpu0", TOPOLOGY_DEVICE_NVIDIA, &near);
    topology_all(&topology, &allowed);
    (void)placement_machines_add(&answer, &topology, &allowed, first, last);
    job_machines_learn(machines, &answer, with_devices);
    placement_machines_fini(&answer);
    topology_fini(&topology);
    ranges_fini(&allowed);
    ranges_fini(&near);
}

static void knows(const struct job_machines *machines, int with_devices, const char *expected,
                  const char *what)
{
    struct ranges nodes = {0};
    struct buffer text = {0};

    job_machines_nodes(machines, with_devices, &nodes);
    ranges_print(&nodes, &text);
    is_string(buffer_string(&text), expected, "%s", what);
    ranges_fini(&nodes);
    buffer_fini(&text);
}

int main(void)
{
    struct job_machines machines = {.known = {0}};

    knows(&machines, 0, "", "nothing is known at first");
    learn(&machines, 0, 99, 8, 0);
    learn(&machines, 200, 299, 8, 0);
    learn(&machines, 100, 109, 4, 0);
    knows(&machines, 0, "0-109,200-299", "who has been asked is known");
    is_uint(machines.known.kinds_count, 2, "by kinds, however many nodes these have");
    knows(&machines, 1, "", "but not for its devices");
    learn(&machines, 50, 104, 8, 1);
    knows(&machines, 1, "50-104", "those that were asked for these, too");
    knows(&machines, 0, "0-109,200-299", "are known as before");
    is_uint(machines.known.kinds_count, 3, "by their new kind");
    is_uint(placement_machines_kind(&machines.known, 100),
            placement_machines_kind(&machines.known, 50), "a node is what it said last");
    learn(&machines, 0, 299, 8, 1);
    is_uint(machines.known.kinds_count, 1, "a kind that has no nodes any more is forgotten");
    is_uint(machines.known.classes_count, 1, "and so is its topology");
    learn(&machines, 7, 7, 8, 0);
    knows(&machines, 1, "0-6,8-299", "an answer without devices says nothing of these");
    job_machines_fini(&machines);
    knows(&machines, 0, "", "nothing is left");
    return done_testing();
}
