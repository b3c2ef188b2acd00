/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/own_cores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

/* hwloc looks for plugins in the folder of its package, which costs more than all the rest; only
 * plugins for I/O exist.  A directory that cannot exist is searched quickly. */
#define PLUGINS_VARIABLE "HWLOC_PLUGINS_PATH"
#define PLUGINS_NOWHERE  "/dev/null/none"

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
    int is_ours = getenv(PLUGINS_VARIABLE) == NULL;
    int rc;

    if (is_ours)
        setenv(PLUGINS_VARIABLE, PLUGINS_NOWHERE, 1);
    if (hwloc_topology_init(&topology) == 0) {
        rc = load_cores(topology);
        if (rc == 0)
            rc = count_cores(topology);
        hwloc_topology_destroy(topology);
    } else {
        rc = -ENOMEM;
    }
    if (is_ours)
        unsetenv(PLUGINS_VARIABLE);
    if (rc < 0)
        error_set(error, rc, "hwloc cannot read the machine's topology: %s", strerror(-rc));
    return rc;
}
