/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_fabric.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "fabric/topology/fabric_read.h"
#include "launch/cli/request/request_shape.h"
#include "overlay/endpoint_types.h"

static int has_a_node(const struct fabric_model *model, const struct allocation *nodes)
{
    for (uint32_t i = 0; i < allocation_nodes(nodes); i++) {
        char name[HOST_NAME_BYTES_MAX + 1];

        hostlist_name(nodes->names, i, name);
        if (fabric_model_find_node(model, name) != FABRIC_NONE)
            return 1;
    }
    return 0;
}

/* The root may be in another directory. */
static char *absolute(const char *topology, const struct request_ops *ops)
{
    if (topology[0] == '/' || ops->directory == NULL || fabric_read_is_generated(topology))
        return memory_copy_string(topology);
    return memory_printf("%s/%s", ops->directory, topology);
}

int request_fabric_choose(const char *given, const struct request_ops *ops,
                          const struct allocation *nodes, char **ret_topology,
                          struct fabric_model *ret_model, struct error *error)
{
    char name[HOST_NAME_BYTES_MAX + 1];
    int rc;

    *ret_topology = NULL;
    *ret_model = (struct fabric_model){.switches = NULL};
    if (given == NULL)
        return 0;
    assert(allocation_nodes(nodes) > 0);
    if (strncmp(given, "/dev/fd/", strlen("/dev/fd/")) == 0)
        return error_set(
            error, -EINVAL,
            "option --fabric-topology: %s is a pipe, and the root reads the description "
            "again while the instance lives: it must be a file",
            given);
    rc = request_shape_read("--fabric-topology", given, ops, ret_model, error);
    if (rc < 0 && !fabric_read_is_generated(given))
        error_prefix(error, "option --fabric-topology");
    if (rc == 0 && !has_a_node(ret_model, nodes)) {
        hostlist_name(nodes->names, 0, name);
        rc = error_set(
            error, -ENOENT,
            "option --fabric-topology: %s describes none of the nodes: %s and the others must have the names that "
            "they have there",
            given, name);
    }
    if (rc == 0)
        *ret_topology = absolute(given, ops);
    return rc;
}

int request_fabric_provider(const char *network, const char **ret_provider)
{
    *ret_provider = NULL;
    if (strcmp(network, "tcp") == 0)
        return 0;
    if (strcmp(network, "ofi") == 0)
        *ret_provider = "";
    else if (strncmp(network, "ofi:", 4) == 0 && network[4] != '\0')
        *ret_provider = network + 4;
    return *ret_provider != NULL ? 0 : -EINVAL;
}

int request_fabric_trees(const char *given, uint8_t *ret_trees, struct error *error)
{
    *ret_trees = ENDPOINT_TREES_CHEAPEST;
    if (given == NULL || strcmp(given, "auto") == 0)
        return 0;
    if (strcmp(given, "1") != 0 && strcmp(given, "2") != 0)
        return error_set(error, -EINVAL, "option --trees: '%.80s' is not one of 1, 2, auto", given);
    *ret_trees = given[0] == '1' ? ENDPOINT_TREES_ONE : ENDPOINT_TREES_TWO;
    return 0;
}

/* auto: libfabric pays off if an instance runs more than one job. */
int request_fabric_transport(const struct request_settings *settings,
                             struct instance_spec *instance, struct error *error)
{
    const char *fabric = settings->fabric, *provider;

    if (fabric == NULL || strcmp(fabric, "auto") == 0)
        return 0;
    if (request_fabric_provider(fabric, &provider) < 0)
        return error_set(error, -EINVAL,
                         "option --fabric: '%.80s' is not one of tcp, ofi, ofi:PROVIDER, auto",
                         fabric);
    if (provider != NULL)
        instance->fabric = memory_copy_string(provider);
    if (instance->fabric != NULL && instance->survive_s > 0)
        return error_set(error, -EINVAL, "option --survive: it needs --fabric tcp");
    return 0;
}
