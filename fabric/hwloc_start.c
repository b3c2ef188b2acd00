/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/hwloc_start.h"

#include <errno.h>
#include <stdlib.h>

#define PLUGINS_VARIABLE "HWLOC_PLUGINS_PATH"
#define PLUGINS_NOWHERE  "/dev/null/none" /* cannot exist, so it is searched quickly */

int hwloc_start(hwloc_topology_t *ret_topology)
{
    int is_ours = getenv(PLUGINS_VARIABLE) == NULL;
    int rc;

    if (is_ours)
        setenv(PLUGINS_VARIABLE, PLUGINS_NOWHERE, 1);
    rc = hwloc_topology_init(ret_topology) == 0 ? 0 : -ENOMEM;
    if (is_ours)
        unsetenv(PLUGINS_VARIABLE);
    return rc;
}
