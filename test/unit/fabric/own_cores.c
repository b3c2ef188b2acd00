/* SPDX-License-Identifier: BSD-3-Clause */
/* Cores that this process may use: fabric/own_cores.c, and how hwloc is started: fabric/hwloc_start.c. */
#include "config.h"

#include "fabric/own_cores.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "fabric/hwloc_start.h"
#include "test/support/tap.h"

static void test_start(void)
{
    hwloc_topology_t topology;

    setenv("HWLOC_PLUGINS_PATH", "/elsewhere", 1);
    is_int(hwloc_start(&topology), 0, "hwloc starts");
    is_string(getenv("HWLOC_PLUGINS_PATH"), "/elsewhere", "where plugins are sought is the user's");
    hwloc_topology_destroy(topology);
    unsetenv("HWLOC_PLUGINS_PATH");
    is_int(hwloc_start(&topology), 0, "it starts without that");
    ok(getenv("HWLOC_PLUGINS_PATH") == NULL, "and leaves the environment as it was");
    hwloc_topology_destroy(topology);
}

int main(void)
{
    struct error error = ERROR_NONE;
    cpu_set_t all;
    cpu_set_t one;
    int first = 0;
    int cores = own_cores_count(&error);

    ok(cores >= 1, "this machine has %d cores%s%s", cores, error.code != 0 ? ": " : "", error.text);
    ok(cores <= sysconf(_SC_NPROCESSORS_ONLN), "not more than processors");
    ok(getenv("HWLOC_PLUGINS_PATH") == NULL, "the environment is as before");
    test_start();
    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        bail_out("sched_getaffinity");
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof(one), &one) < 0)
        bail_out("sched_setaffinity");
    is_int(own_cores_count(&error), 1, "a process bound to one processor has one core");
    return done_testing();
}
