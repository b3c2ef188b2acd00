/* SPDX-License-Identifier: BSD-3-Clause */
/* Option --fabric-topology, launch/cli/request/request_fabric.c. */
#include "config.h"

#include "launch/cli/request/request_fabric.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct allocation nodes;

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    if (strcmp(path, "topology.conf") == 0 || strcmp(path, "/etc/topology.conf") == 0)
        buffer_append_string(out, "SwitchName=s Nodes=n[1-4]\n");
    else if (strcmp(path, "bad") == 0)
        buffer_append_string(out, "SwitchName=s Switches=s\n");
    else
        return error_set(error, -ENOENT, "cannot read %s: no such file", path);
    return 0;
}

static const struct request_ops ops = {.directory = "/home/user", .read_file = read_file};

static void taken(const char *given, const char *expected, const char *name)
{
    struct fabric_model model;
    char *topology;

    is_int(request_fabric_choose(given, &ops, &nodes, &topology, &model, NULL), 0, "%s", name);
    if (expected != NULL)
        is_string(topology, expected, "is %s for the root", expected);
    else
        ok(topology == NULL, "is nothing for the root");
    fabric_model_fini(&model);
    free(topology);
}

static void refused(const char *given, int status, const char *why)
{
    struct error error = ERROR_NONE;
    struct fabric_model model;
    char *topology;

    is_int(request_fabric_choose(given, &ops, &nodes, &topology, &model, &error), status, "%s",
           given);
    has_string(error.text, why, "is refused: %s", error.text);
    ok(topology == NULL, "and nothing is left");
    fabric_model_fini(&model);
}

int main(void)
{
    struct hostlist *names = hostlist_create();

    is_int(hostlist_parse(names, "m1,n3", NULL), 0, "two nodes");
    nodes.names = names;
    taken(NULL, NULL, "no option");
    taken("topology.conf", "/home/user/topology.conf", "a file");
    taken("/etc/topology.conf", "/etc/topology.conf", "a path");
    taken("fat-tree:2x2", "fat-tree:2x2", "a shape");
    refused("/dev/fd/63", -EINVAL, "is a pipe");
    refused("none", -ENOENT, "option --fabric-topology: cannot read none");
    refused("bad", -EINVAL, "option --fabric-topology: bad: ");
    refused("fat-tree:2", -ENOENT,
            "option --fabric-topology: fat-tree:2 describes none of the nodes: m1");
    hostlist_destroy(names);
    return done_testing();
}
