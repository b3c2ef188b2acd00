/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many cores this process may use, which is all that the front end needs of the machine's
 * topology.  hwloc is loaded only on use: 1.5 ms.
 */
#ifndef FABRIC_OWN_CORES_H
#define FABRIC_OWN_CORES_H

#include "base/error.h"

/* The number of cores that this process may run on, as its binding and cgroup allow; at least 1,
 * or negative errno. */
int own_cores_count(struct error *error);

#endif
