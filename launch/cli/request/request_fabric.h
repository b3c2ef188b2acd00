/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Option --fabric-topology: what describes the network between the nodes of an instance.  It is read here so that a
 * wrong one starts nothing, and again by the root, which follows its changes.
 *
 * Cost: O(text + NICs).
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_FABRIC_H
#define LAUNCH_CLI_REQUEST_REQUEST_FABRIC_H

#include "launch/cli/request/request.h"

/* given: NULL if it is not.  *ret_topology: the shape, or the file's absolute path, which the caller frees; NULL if none
 * is given.  Errors are those of the description; -ENOENT if it has none of the nodes. */
int request_fabric_choose(const char *given, const struct request_ops *ops,
                          const struct allocation *nodes, char **ret_topology, struct error *error);

#endif
