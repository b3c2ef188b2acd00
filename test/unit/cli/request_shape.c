/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_shape.h"

#include <errno.h>
#include <string.h>

#include "alloc/source.h"
#include "test/support/tap.h"

static const struct fabric_model nothing; /* the option has not been read yet */

static const char *file_path = "", *file_text = "";

static int read_file(const char *path, struct buffer *out, struct error *error)
{
    if (strcmp(path, file_path) != 0)
        return error_set(error, -ENOENT, "cannot read %s", path);
    buffer_append_string(out, file_text);
    return 0;
}

static char slurm_conf[] = "SLURM_CONF=/cluster/slurm.conf";
static char slurm_pattern[] = "SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node";
static char *environment[] = {slurm_conf, NULL, NULL};
static const struct request_ops ops = {.environment = environment, .read_file = read_file};

/* The order of n1 to n4, or "" without one. */
static void is_order(const struct request_settings *settings, const struct source *source,
                     const char *expected, const char *expected_notes, const char *name)
{
    struct request_nodes nodes = {.source = source};
    struct error error = ERROR_NONE;
    struct buffer text = {0}, notes = {0};
    struct hostlist *names;

    allocation_init(&nodes.allocation);
    allocation_generate(&nodes.allocation, "n", 4, 1);
    is_int(request_shape_take(settings, &ops, &nodes, &nothing, &nodes.allocation, &notes, &error),
           0, "%s", name);
    names = allocation_tree_names(&nodes.allocation);
    hostlist_print(names, &text);
    is_string(nodes.allocation.order != NULL ? buffer_string(&text) : "", expected, "%s: the order",
              name);
    is_string(buffer_string(&notes), expected_notes, "%s: the notes", name);
    hostlist_destroy(names);
    buffer_fini(&text);
    buffer_fini(&notes);
    request_nodes_fini(&nodes);
}

static void test_orders(void)
{
    struct request_settings none = {.fabric_topology = NULL}, given = {.fabric_topology = "/model"};
    struct request_settings off = {.fabric_topology = "/model", .no_shape = 1};
    const struct source *slurm = source_find("slurm", NULL);

    file_path = "/model";
    file_text = "SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n[2,4]\n";
    is_order(&given, NULL, "n[1,3,2,4]", "", "a model that is given");
    is_order(&off, NULL, "", "", "no shape is wanted");
    is_order(&none, slurm, "", "", "Slurm without a file");
    environment[1] = slurm_pattern;
    is_order(&none, slurm, "",
             "the tree does not follow the fabric: /cluster/topology.conf does not exist: describe "
             "the fabric by --fabric-topology\n",
             "Slurm without a file that knows the switches");
    environment[1] = NULL;
    file_text = "t.a.n1 switch.switch.node\nt.b.n2 switch.switch.node\n"
                "t.a.n3 switch.switch.node\nt.b.n4 switch.switch.node\n";
    is_order(&given, NULL, "n[1,3,2,4]", "", "what the nodes say");
    file_text = "SwitchName=a Nodes=n[1,3]\nSwitchName=b Nodes=n4\n";
    is_order(&given, NULL, "n[1,3-4,2]",
             "not in the model of the fabric, so last in the tree: n2\n", "a node it lacks");
    file_path = "/cluster/topology.conf";
    is_order(&none, NULL, "", "", "Slurm's file, elsewhere");
    is_order(&none, slurm, "n[1,3-4,2]",
             "not in the model of the fabric, so last in the tree: n2\n", "and in a job of Slurm");
    file_text = "Nodes=n1\n";
    is_order(&none, slurm, "",
             "the tree does not follow the fabric: /cluster/topology.conf: line 1: SwitchName or "
             "BlockName is missing\n",
             "one that cannot be read");
    file_text = "SwitchName=a Nodes=n[1-4]\n";
    is_order(&none, slurm, "", "", "one switch");
}

static void is_wrong(const char *model, int code, const char *expected, const char *name)
{
    struct request_settings settings = {.fabric_topology = model};
    struct request_nodes nodes = {.source = NULL};
    struct error error = ERROR_NONE;
    struct buffer notes = {0};

    allocation_init(&nodes.allocation);
    is_int(request_shape_take(&settings, &ops, &nodes, &nothing, &nodes.allocation, &notes, &error),
           code, "%s", name);
    has_string(error.text, expected, "%s: why", name);
    buffer_fini(&notes);
    request_nodes_fini(&nodes);
}

int main(void)
{
    test_orders();
    is_wrong("/nowhere", -ENOENT, "/nowhere", "a file that is missing");
    is_wrong("fat-tree:0", -EINVAL, "option --fabric-topology: ", "a shape that is none");
    return done_testing();
}
