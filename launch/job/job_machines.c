/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/job/job_machines.h"

#include <assert.h>

static void machines_check(const struct job_machines *machines)
{
    struct ranges nodes = {0};
    uint64_t count = 0;

    placement_machines_nodes(&machines->known, &nodes);
    assert(ranges_contains_all(&nodes, &machines->with_devices));
    for (uint32_t i = 0; i < machines->known.kinds_count; i++) {
        assert(ranges_is_empty(&machines->known.kinds[i].taken)); /* that is each job's own view */
        count += ranges_count(&machines->known.kinds[i].nodes);
    }
    assert(count == ranges_count(&nodes)); /* a node is of one kind */
    ranges_fini(&nodes);
}

void job_machines_fini(struct job_machines *machines)
{
    placement_machines_fini(&machines->known);
    ranges_fini(&machines->with_devices);
}

void job_machines_learn(struct job_machines *machines, const struct placement_machines *answer,
                        int with_devices)
{
    struct ranges nodes = {0}, others = {0};

    placement_machines_nodes(answer, &nodes);
    placement_machines_nodes(&machines->known, &others);
    ranges_remove_all(&others, &nodes);
    placement_machines_keep(&machines->known, &others);
    placement_machines_merge(&machines->known, answer);
    ranges_remove_all(&machines->with_devices, &nodes);
    if (with_devices)
        ranges_add_all(&machines->with_devices, &nodes);
    machines_check(machines);
    ranges_fini(&nodes);
    ranges_fini(&others);
}

void job_machines_nodes(const struct job_machines *machines, int with_devices,
                        struct ranges *ret_nodes)
{
    if (with_devices)
        ranges_copy(ret_nodes, &machines->with_devices);
    else
        placement_machines_nodes(&machines->known, ret_nodes);
}
