/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology of hwloc that is still to be loaded. */
#ifndef FABRIC_HWLOC_START_H
#define FABRIC_HWLOC_START_H

#include <hwloc.h>

/* hwloc_topology_init() without plugins: to look for them in the folder of hwloc's package costs more than all the rest,
 * and only plugins for I/O exist.  Unless HWLOC_PLUGINS_PATH says where to look; the environment is as before.  -ENOMEM. */
int hwloc_start(hwloc_topology_t *ret_topology);

#endif
