/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads base/topology.h's topologies with hwloc: of this machine, or of one described by a file or
 * by hwloc's synthetic syntax.  hwloc is loaded only when this is called: some milliseconds, with
 * devices 10 more.
 */
#ifndef FABRIC_TOPOLOGY_READ_H
#define FABRIC_TOPOLOGY_READ_H

#include "base/error.h"
#include "base/ranges.h"
#include "base/topology.h"

/* This machine, or what HWLOC_SYNTHETIC and HWLOC_XMLFILE describe; complete, plus the kernel's
 * numbers of the threads that this process may run on.  Devices only if asked for. */
int topology_read(int with_devices, struct topology *ret_topology, struct ranges *ret_allowed,
                  struct error *error);
/* "package:2 l3:4 core:8 pu:2", or the path of a file in hwloc's XML (it has a '/' or ends in
 * ".xml"). */
int topology_read_text(const char *text, struct topology *ret_topology, struct ranges *ret_allowed,
                       struct error *error);

#endif
