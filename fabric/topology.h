/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of the machine's topology that the front end needs.  hwloc is loaded only on use: 1.5
 * ms.
 */
#ifndef FABRIC_TOPOLOGY_H
#define FABRIC_TOPOLOGY_H

#include "base/error.h"

/* The number of cores that this process may run on, as its binding and cgroup allow; at least 1,
 * or negative errno. */
int topology_cores(struct error *error);

#endif
