/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers: fabric_read.c (generated), fabric_read_slurm.c, fabric_read_infiniband.c,
 * fabric_read_json.c, fabric_read_address.c.
 */
#include "config.h"

#include "fabric/topology/fabric_read.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/support/tap.h"

typedef int reader(struct fabric_model *model, const char *text, struct error *error);

static int read_json(struct fabric_model *model, const char *text, struct error *error)
{
    return fabric_read_json(model, text, strlen(text), error);
}

static uint16_t cost(const struct fabric_model *model, const char *from, const char *to)
{
    uint32_t a = fabric_model_find_vertex(model, from), b = fabric_model_find_vertex(model, to);

    return a != FABRIC_NONE && b != FABRIC_NONE ? fabric_model_cost(model, a, b) : 12345;
}

/* Reads the text, which must be refused with that error. */
static void refuses(reader *read, const char *text, int code, const char *why)
{
    struct fabric_model model = {.switches = NULL};
    struct error error = ERROR_NONE;
    int rc = read(&model, text, &error);

    fabric_model_fini(&model);
    ok(rc == code && strcmp(error.text, why) == 0, "refused: %s", why);
    if (rc != code || strcmp(error.text, why) != 0)
        diag("%d: %s", rc, error.text);
}

static void reads(reader *read, const char *text, struct fabric_model *ret_model, const char *name)
{
    struct error error = ERROR_NONE;

    *ret_model = (struct fabric_model){.switches = NULL};
    is_int(read(ret_model, text, &error), 0, "%s", name);
    if (error.code < 0)
        bail_out("%s", error.text);
}

static void test_generated(void)
{
    struct fabric_model model;

    reads(fabric_read_generate, "fat-tree:4x2x3", &model, "a fat tree");
    is_int((int)model.vertices_count, 24, "its nodes");
    is_int((int)model.switches_count, 6 + 3 + 1 - 0, "its switches");
    is_int(cost(&model, "n1", "n4"), 2, "at one leaf");
    is_int(cost(&model, "n1", "n5"), 4, "in one pod");
    is_int(cost(&model, "n1", "n24"), 6, "across");
    fabric_model_fini(&model);
    reads(fabric_read_generate, "dragonfly:2x3x4", &model, "a dragonfly");
    is_int(cost(&model, "n1", "n2"), 2, "at one router");
    is_int(cost(&model, "n1", "n3"), 3, "in one group");
    is_int(cost(&model, "n1", "n24"), 5, "local, global and local links");
    fabric_model_fini(&model);
    refuses(fabric_read_generate, "fat-tree:", -EINVAL,
            "\"fat-tree:\": numbers from 1, joined by x, expected");
    refuses(fabric_read_generate, "fat-tree:4x", -EINVAL,
            "\"fat-tree:4x\": numbers from 1, joined by x, expected");
    refuses(fabric_read_generate, "fat-tree:4y2", -EINVAL, "\"fat-tree:4y2\": unexpected \"y2\"");
    refuses(fabric_read_generate, "fat-tree:4096x4096", -E2BIG,
            "\"fat-tree:4096x4096\": more than 4194304 nodes");
    refuses(fabric_read_generate, "dragonfly:4x4", -EINVAL,
            "\"dragonfly:4x4\": nodes of a router x routers of a group x groups expected");
    ok(fabric_read_is_generated("dragonfly:1x1x1") && !fabric_read_is_generated("topology.conf"),
       "a text is told from a file");
}

static void test_slurm_tree(void)
{
    struct fabric_model model;

    reads(fabric_read_slurm,
          "# Two racks\n"
          "SwitchName=core Switches=rack[0-1] LinkSpeed=900\n"
          "switchname=rack0 \\\n  nodes=n[1-2] # the first\n"
          "SwitchName=rack1 Nodes=n[3-4],x\r\n",
          &model, "topology/tree");
    is_int((int)model.vertices_count, 5, "its nodes");
    is_int(cost(&model, "n1", "n2"), 2, "in one rack");
    is_int(cost(&model, "n1", "x"), 4, "in two");
    fabric_model_fini(&model);
    refuses(fabric_read_slurm, "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", -EEXIST,
            "line 2: switch a is described twice");
    refuses(fabric_read_slurm, "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n[1-2]\n", -EEXIST,
            "line 2: n1 is connected twice");
    refuses(fabric_read_slurm, "\nSwitchName=a Switches=b\nSwitchName=c Nodes=n1\n", -ENOENT,
            "line 2: switch b is not described");
    refuses(fabric_read_slurm, "SwitchName=a Nodes=n[1\n", -EINVAL,
            "line 1: column 2: unmatched '['");
    refuses(fabric_read_slurm, "SwitchName=a\n", -EINVAL,
            "line 1: switch a has neither Nodes nor Switches");
    refuses(fabric_read_slurm, "Nodes=n1\n", -EINVAL, "line 1: SwitchName or BlockName is missing");
    refuses(fabric_read_slurm, "SwitchNam=a\n", -EINVAL, "line 1: unknown name \"SwitchNam\"");
    refuses(fabric_read_slurm, "word\n", -EINVAL, "line 1: NAME=VALUE expected, not \"word\"");
    refuses(fabric_read_slurm, "# nothing\n", -EINVAL, "no switch or block has nodes");
    refuses(fabric_read_slurm, "SwitchName=a Switches=b Nodes=n1\nSwitchName=b Switches=a\n",
            -ELOOP, "switch a is above itself");
}

static void test_slurm_block(void)
{
    struct fabric_model model;

    reads(fabric_read_slurm,
          "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\n"
          "BlockSizes=2,4\n",
          &model, "topology/block");
    is_int(cost(&model, "n1", "n2"), 2, "in one block");
    is_int(cost(&model, "n1", "n4"), 4, "in two of one aggregate");
    is_int(cost(&model, "n1", "n6"), 6, "in different aggregates");
    fabric_model_fini(&model);
    refuses(fabric_read_slurm, "BlockSizes=4,6\n", -EINVAL,
            "line 1: BlockSizes=4,6: ascending numbers expected, each a multiple of the one "
            "before");
    refuses(fabric_read_slurm, "BlockName=b SwitchName=s Nodes=n\n", -EINVAL,
            "line 1: a switch and a block");
    refuses(fabric_read_slurm, "BlockName=b\n", -EINVAL, "line 1: block b has no Nodes");
}

static int read_text(struct fabric_model *model, const char *text, struct error *error)
{
    return fabric_read_text(model, text, strlen(text), error);
}

static void test_slurm_shown(void)
{
    struct fabric_model model;

    reads(read_text,
          "SwitchName=core Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=rack[0-1]\n"
          "SwitchName=rack0 Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
          "SwitchName=rack1 Level=0 LinkSpeed=1 Nodes=n3\n",
          &model, "what scontrol shows");
    is_int(cost(&model, "n2", "n3"), 4, "between racks");
    fabric_model_fini(&model);
}

static void test_slurm_addresses(void)
{
    static const char no_address[] =
        "line 1: \"n1\" is not an address like switch.switch.node, which Slurm gives with "
        "TopologyPlugin=topology/tree or topology/block";
    struct fabric_model model;

    reads(read_text,
          "# srun sh -c 'echo $SLURM_TOPOLOGY_ADDR $SLURM_TOPOLOGY_ADDR_PATTERN'\n"
          "core.rack0.n1 switch.switch.node\n"
          "core.rack1.n3.example.org switch.switch.node\n\n"
          "core.rack0.n2\tswitch.switch.node\r\n"
          "core.rack0.n1 switch.switch.node\n"
          "core.n4\n",
          &model, "addresses of nodes, one of them twice");
    is_int((int)model.vertices_count, 4, "its nodes");
    is_int((int)model.switches_count, 3, "its switches");
    is_int(cost(&model, "n1", "n2"), 2, "in one rack");
    is_int(cost(&model, "n1", "n3.example.org"), 4, "in two; the pattern tells the name of a node");
    is_int(cost(&model, "n1", "n4"), 3, "at the core");
    fabric_model_fini(&model);
    reads(read_text,
          "Cab.mid.l1.n1 switch.switch.switch.node\nCab..l2.n2 switch.switch.switch.node\n"
          "...n3 switch.switch.switch.node\n.l4.n4 switch.switch.node\n.n5 switch.node\n",
          &model,
          "levels on which a node has no switch, and a name that another format begins with");
    is_int(cost(&model, "n1", "n2"), 5, "through the top, from below and from beside a switch");
    is_uint(fabric_model_find_vertex(&model, "n3"), FABRIC_NONE,
            "a node without switches is left out");
    is_uint(fabric_model_find_vertex(&model, "n5"), FABRIC_NONE, "also of one level");
    fabric_model_fini(&model);
    reads(read_text, "b1.n1 block.node\nb2.n2 block.node\nb1.n3 block.node\n", &model, "blocks");
    is_int(cost(&model, "n1", "n3"), 2, "in one block");
    is_int(cost(&model, "n1", "n2"), 4, "in two");
    fabric_model_fini(&model);
    refuses(read_text, "n1 node\n", -EINVAL, no_address);
    refuses(read_text, "n1\n", -EINVAL, "line 1: NAME=VALUE expected, not \"n1\"");
    refuses(fabric_read_addresses, "s.n1 switch.switch.node\n", -EINVAL,
            "line 1: \"s.n1\" is not an address like switch.switch.node, which Slurm gives with "
            "TopologyPlugin=topology/tree or topology/block");
    refuses(fabric_read_addresses, "\na.b.n1\na.b.n2 node x\n", -EINVAL,
            "line 3: ADDRESS [PATTERN] expected, not \"x\" after them");
    refuses(fabric_read_addresses, "a.b.n1\nc.b.n2\n", -EEXIST,
            "line 2: switch b is below another switch in an earlier line");
    refuses(fabric_read_addresses, "a.b.n1\na.c.n1\n", -EEXIST, "line 2: n1 is connected twice");
    refuses(fabric_read_addresses, "# none\n..n1 switch.switch.node\n", -EINVAL,
            "no line has the address of a node below a switch");
}

/* Four leaves in two pods of two spines each, one core; node01 has two ports. */
static const char infiniband[] =
    "#\n# Topology file: generated on Mon Nov 23 2026\n#\n"
    "vendid=0x2c9\ndevid=0xc738\n"
    "Switch\t36 \"S-000000000000000a\"\t# \"leaf a\" enhanced port 0 lid 3 lmc 0\n"
    "[1]\t\"H-0000000000000001\"[1](1) \t\t# \"node01 HCA-1\" lid 4 4xFDR\n"
    "[2]\t\"H-0000000000000001\"[2](1) \t\t# \"node01 HCA-1\" lid 4 4xFDR\n"
    "[30]\t\"S-00000000000000e1\"[1]\t\t# \"spine\" lid 5 4xFDR\n"
    "[31]\t\"S-00000000000000e2\"[1]\t\t# \"spine\" lid 5 4xFDR\n"
    "\nSwitch\t36 \"S-000000000000000b\"\t# \"leaf b\"\n"
    "[30]\t\"S-00000000000000e1\"[2]\t\t# \"spine\"\n"
    "\nSwitch\t36 \"S-000000000000000c\"\t# \"leaf c\"\n"
    "[30]\t\"S-00000000000000e3\"[1]\t\t# \"spine\"\n"
    "\nSwitch\t36 \"S-000000000000000d\"\t# \"leaf d\"\n"
    "[30]\t\"S-00000000000000e3\"[2]\t\t# \"spine\"\n"
    "\nSwitch\t36 \"S-00000000000000ff\"\t# \"core\"\n"
    "[1]\t\"S-00000000000000e1\"[36]\n"
    "[2]\t\"S-00000000000000e3\"[36]\n"
    "\nCa\t2 \"H-0000000000000001\"\t\t# \"node01 HCA-1\"\n"
    "[1](1) \t\"S-000000000000000a\"[1]\t\t# lid 4 lmc 0 \"leaf a\" lid 3 4xFDR\n"
    "[2](2) \t\"S-000000000000000a\"[2]\t\t# lid 4 lmc 0 \"leaf a\" lid 3 4xFDR\n"
    "\nCa\t1 \"H-0000000000000002\"\t\t# \"node02 mlx5_0\"\n"
    "[1](3) \t\"S-000000000000000b\"[1]\t\t# lid 4\n"
    "\nCa\t1 \"H-0000000000000003\"\t\t# \"node03\"\n"
    "[1](4) \t\"S-000000000000000c\"[1]\t\t# lid 4\n"
    "\nCa\t1 \"H-0000000000000004\"\t\t# \"node04 HCA 1\"\n"
    "[1](5) \t\"S-000000000000000d\"[1]\t\t# lid 4\n";

static void test_infiniband(void)
{
    struct fabric_model model;

    reads(fabric_read_infiniband, infiniband, &model, "ibnetdiscover");
    is_int((int)model.vertices_count, 5, "its ports");
    is_int((int)model.nodes_count, 4, "its nodes");
    is_int(cost(&model, "node01:HCA-1/1", "node01:HCA-1/2"), FABRIC_COST_SAME_NODE, "two ports");
    is_int(cost(&model, "node01:HCA-1/1", "node02:mlx5_0/1"), 4, "in one pod: by a spine");
    is_int(cost(&model, "node03:0/1", "node04:HCA-1/1"), 4, "in the other");
    is_int(cost(&model, "node01:HCA-1/2", "node04:HCA-1/1"), 6, "across the core");
    is_int((int)fabric_model_levels(&model), 3, "levels");
    fabric_model_fini(&model);

    reads(
        fabric_read_infiniband,
        "Switch 8 \"S-1\" # \"a\"\n[1] \"S-2\"[1]\nSwitch 8 \"S-2\" # \"b\"\n"
        "Ca 1 \"H-1\" # \"n1 h\"\n[1](1) \"S-1\"[2]\nCa 1 \"H-2\" # \"n2 h\"\n[1](2) \"S-2\"[2]\n",
        &model, "leaves that are connected directly");
    is_int(cost(&model, "n1:h/1", "n2:h/1"), 3, "are one link apart");
    fabric_model_fini(&model);
    refuses(fabric_read_infiniband, "[1] \"S-1\"[1]\n", -EINVAL,
            "line 1: a port outside of a switch or adapter");
    refuses(fabric_read_infiniband, "Switch 8 \"S-1\"\n[x] \"S-2\"[1]\n", -EINVAL,
            "line 2: [PORT] and the \"GUID\" of a peer expected");
    refuses(fabric_read_infiniband, "Ca 1 \"H-1\"\n", -EINVAL,
            "line 1: a channel adapter without a description after '#'");
    refuses(fabric_read_infiniband, "Switch 8\n", -EINVAL,
            "line 1: the \"GUID\" of the switch expected");
    refuses(fabric_read_infiniband, "", -EINVAL, "no channel adapter is connected to a switch");
}

static void test_json(void)
{
    struct fabric_model model;

    reads(read_json,
          "{\"switches\": [{\"name\": \"leaf\", \"parent\": \"top\", \"up\": 9}, "
          "{\"name\": \"top\", \"across\": 2}],"
          "\"nics\": [{\"nodes\": \"n[1-2]\", \"switch\": \"leaf\"}, "
          "{\"name\": \"x-hfi0\", \"node\": \"x\", \"switch\": \"top\", \"plane\": \"p\", "
          "\"down\": 3}]}",
          &model, "JSON");
    is_int(cost(&model, "n1", "n2"), 2, "a list of nodes");
    is_int(cost(&model, "n1", "x-hfi0"), 1 + 9 + 2 + 3, "a NIC with costs");
    is_int((int)model.planes_count, 2, "planes");
    fabric_model_fini(&model);
    refuses(read_json, "[", -EINVAL, "line 1: ']' expected near end of file");
    refuses(read_json, "[]", -EINVAL, "an object with \"switches\" and \"nics\" expected");
    refuses(read_json, "{\"nics\": []}", -EINVAL, "\"switches\" must be a list");
    refuses(read_json, "{\"switches\": [], \"nics\": []}", -EINVAL, "no NIC is described");
    refuses(read_json, "{\"switches\": [{\"name\": \"a\", \"parant\": \"b\"}], \"nics\": []}",
            -EINVAL, "switches[0]: \"parant\" is unknown");
    refuses(read_json, "{\"switches\": [{\"name\": \"a\", \"parent\": \"b\"}], \"nics\": []}",
            -ENOENT, "switches[0]: \"parent\": there is no switch b");
    refuses(read_json, "{\"switches\": [{\"name\": 1}], \"nics\": []}", -EINVAL,
            "switches[0]: \"name\" must be a string");
    refuses(read_json, "{\"switches\": [{\"name\": \"a\", \"across\": 65535}], \"nics\": []}",
            -EINVAL, "switches[0]: \"across\" must be a whole number from 0 to 65534");
    refuses(read_json, "{\"switches\": [{\"name\": \"a\"}], \"nics\": [{\"switch\": \"a\"}]}",
            -EINVAL, "nics[0]: \"name\" is missing");
    refuses(read_json, "{\"switches\": [{\"name\": \"a\"}], \"nics\": [1]}", -EINVAL,
            "nics[0] must be an object");
}

/* NIC x, and a list of nodes with that "device". */
static void describe_device(const char *device, char ret_text[512])
{
    snprintf(ret_text, 512,
             "{\"switches\": [{\"name\": \"s\"}], \"nics\": [{\"name\": \"x\", \"node\": \"n0\", "
             "\"switch\": \"s\"}, {\"nodes\": \"n[1-2]\", \"switch\": \"s\", \"device\": %s}]}",
             device);
}

static void read_device(const char *device, struct fabric_model *ret_model)
{
    char text[512];

    describe_device(device, text);
    reads(read_json, text, ret_model, "a list of nodes with a device");
}

static void refuses_device(const char *device, const char *why)
{
    char text[512];

    describe_device(device, text);
    refuses(read_json, text, -EINVAL, why);
}

static void test_devices(void)
{
    struct fabric_model model;
    struct nic_facts facts;

    read_device("{\"driver\": \"mlx5_core\", \"vendor\": \"0x02c9\", \"device\": \"0x101b\", "
                "\"address\": \"fe80::1\", \"speed\": 200000000000, \"mtu\": 4096, "
                "\"state\": \"up\", \"type\": \"InfiniBand\", \"pci\": \"0000:c1:00.0\", "
                "\"numa\": 0}",
                &model);
    ok(!fabric_model_facts(&model, 0, &facts), "of another NIC nothing is known");
    ok(fabric_model_facts(&model, 2, &facts), "but of each of the list");
    ok(facts.speed == 200000000000u && facts.mtu == 4096 && facts.numa == 0 &&
           facts.state == NIC_UP,
       "its numbers");
    is_string(facts.texts[NIC_DRIVER], "mlx5_core", "its driver");
    is_string(facts.texts[NIC_VENDOR], "0x02c9", "its vendor");
    is_string(facts.texts[NIC_DEVICE], "0x101b", "its device");
    is_string(facts.texts[NIC_ADDRESS], "fe80::1", "its address");
    is_string(facts.texts[NIC_TYPE], "InfiniBand", "its type");
    is_string(facts.texts[NIC_PCI], "0000:c1:00.0", "its PCI address");
    fabric_model_fini(&model);
    read_device("{}", &model);
    ok(!fabric_model_facts(&model, 1, &facts) && model.devices_count == 0, "no facts, no memory");
    fabric_model_fini(&model);
    read_device("{\"state\": \"down\"}", &model);
    ok(fabric_model_facts(&model, 1, &facts) && facts.state == NIC_DOWN && facts.speed == 0 &&
           facts.numa == NIC_NUMA_UNKNOWN && facts.texts[NIC_PCI][0] == '\0',
       "one fact, the others are unknown");
    fabric_model_fini(&model);
}

static void test_wrong_devices(void)
{
    refuses_device("5", "nics[1]: \"device\" must be an object");
    refuses_device("{\"spede\": 5}", "nics[1].device: \"spede\" is unknown");
    refuses_device("{\"driver\": 5}", "nics[1].device: \"driver\" must be a string");
    refuses_device("{\"driver\": \"\"}",
                   "nics[1].device: \"driver\" must have 1 to 63 printable characters");
    refuses_device("{\"type\": \"a\\nb\"}",
                   "nics[1].device: \"type\" must have 1 to 63 printable characters");
    refuses_device(
        "{\"address\": \"0123456789012345678901234567890123456789012345678901234567890123\"}",
        "nics[1].device: \"address\" must have 1 to 63 printable characters");
    refuses_device("{\"pci\": \"c1:00.0\"}",
                   "nics[1].device: \"pci\" must be an address like 0000:c1:00.0");
    refuses_device("{\"pci\": \"0000:C1:00.0\"}",
                   "nics[1].device: \"pci\" must be an address like 0000:c1:00.0");
    refuses_device("{\"speed\": \"200\"}", "nics[1].device: \"speed\" must be a whole number "
                                           "from 1 to 9223372036854775807");
    refuses_device("{\"speed\": 0}", "nics[1].device: \"speed\" must be a whole number from 1 to "
                                     "9223372036854775807");
    refuses_device("{\"mtu\": 4294967296}",
                   "nics[1].device: \"mtu\" must be a whole number from 1 to 4294967295");
    refuses_device("{\"numa\": -1}",
                   "nics[1].device: \"numa\" must be a whole number from 0 to 65534");
    refuses_device("{\"numa\": 65535}",
                   "nics[1].device: \"numa\" must be a whole number from 0 to 65534");
    refuses_device("{\"state\": \"\"}", "nics[1].device: \"state\" must be \"up\" or \"down\"");
    refuses_device("{\"state\": 1}", "nics[1].device: \"state\" must be a string");
}

int main(void)
{
    test_generated();
    test_slurm_tree();
    test_slurm_block();
    test_slurm_shown();
    test_slurm_addresses();
    test_infiniband();
    test_json();
    test_devices();
    test_wrong_devices();
    return done_testing();
}
