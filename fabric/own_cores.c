/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/own_cores.h"

#include <errno.h>
#include <string.h>

#include <hwloc.h>

#include "fabric/hwloc_start.h"

static unsigned long topology_flags(void)
{
    unsigned long flags = HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM;

#if HWLOC_API_VERSION >= 0x00020500
    flags |= HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING | HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING;
#endif
#if HWLOC_API_VERSION >= 0x00020800
    flags |= HWLOC_TOPOLOGY_FLAG_NO_DISTANCES | HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
             HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
    return flags;
}

/* Cores and their threads only. */
static int load_cores(hwloc_topology_t topology)
{
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_flags(topology, topology_flags());
    return hwloc_topology_load(topology) < 0 ? -errno : 0;
}

static int count_cores(hwloc_topology_t topology)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    hwloc_const_cpuset_t set = hwloc_topology_get_allowed_cpuset(topology);
    int cores;

    if (allowed != NULL && hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) == 0)
        set = allowed;
    cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, HWLOC_OBJ_CORE);
    /* A core of which only some threads are allowed is not inside the set, yet we can run on it. */
    if (cores <= 0)
        cores = hwloc_bitmap_weight(set);
    hwloc_bitmap_free(allowed);
    return cores > 0 ? cores : 1;
}

int own_cores_count(struct error *error)
{
    hwloc_topology_t topology;
    int rc = hwloc_start(&topology);

    if (rc == 0) {
        rc = load_cores(topology);
        if (rc == 0)
            rc = count_cores(topology);
        hwloc_topology_destroy(topology);
    }
    if (rc < 0)
        error_set(error, rc, "hwloc cannot read the machine's topology: %s", strerror(-rc));
    return rc;
}
