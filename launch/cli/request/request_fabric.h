/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network of an instance.  Option --fabric: what carries the traffic of daemons.  Option --fabric-topology: what
 * describes the network between the nodes; it is read here so that a wrong one starts nothing, and again by the root,
 * which follows its changes.
 *
 * Cost: O(text + NICs).
 */
#ifndef LAUNCH_CLI_REQUEST_REQUEST_FABRIC_H
#define LAUNCH_CLI_REQUEST_REQUEST_FABRIC_H

#include "fabric/topology/fabric_model.h"
#include "launch/cli/request/request.h"
#include "launch/cli/request/request_settings.h"

/* given: NULL if it is not.  *ret_topology: the shape, or the file's absolute path, which the caller frees; NULL if none
 * is given.  ret_model is empty then, and the caller finishes it.  Errors are those of the description; -ENOENT if it has
 * none of the nodes. */
int request_fabric_choose(const char *given, const struct request_ops *ops,
                          const struct allocation *nodes, char **ret_topology,
                          struct fabric_model *ret_model, struct error *error);

/* Of "tcp", "ofi" or "ofi:PROVIDER": NULL, "" for libfabric's first, or the provider.  -EINVAL of anything else. */
int request_fabric_provider(const char *network, const char **ret_provider);

/* Of "1", "2" or "auto" (NULL, too): enum endpoint_trees. */
int request_fabric_trees(const char *given, uint8_t *ret_trees, struct error *error);

/* Sets instance->fabric by option --fabric; the instance knows already whether it survives its root. */
int request_fabric_transport(const struct request_settings *settings,
                             struct instance_spec *instance, struct error *error);

#endif
