/* SPDX-License-Identifier: BSD-3-Clause */
/* What the processes print of their NICs becomes a description that the model reads. */
#include "config.h"

#include "launch/cli/verb/fabric_nics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fabric/topology/fabric_read.h"
#include "launch/proto/nic_line.h"
#include "test/support/tap.h"

#define GIGABIT 1000000000ull

static void put_node(struct buffer *lines, uint32_t rank, uint32_t of, const char *name)
{
    nic_line_print_node(rank, of, name, lines);
}

static void put_ends(struct buffer *lines, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        nic_line_print_end(i, lines);
}

static void put_nic(struct buffer *lines, uint32_t rank, const char *name, const char *fabric,
                    uint64_t speed, enum nic_state state)
{
    struct nic nic = {.kind = NIC_OF_LIBFABRIC};

    nic_facts_init(&nic.facts);
    nic_text_set(nic.name, sizeof(nic.name), name);
    nic_text_set(nic.fabric, sizeof(nic.fabric), fabric);
    nic.facts.speed = speed;
    nic.facts.state = (uint8_t)state;
    nic_line_print_nic(rank, &nic, lines);
}

/* The description must be one that is read. */
static void describe(struct buffer *lines, const struct fabric_model *topology,
                     struct fabric_model *ret_model)
{
    struct error error = ERROR_NONE;
    struct buffer out = {0};

    *ret_model = (struct fabric_model){.switches = NULL};
    if (fabric_nics_describe(buffer_string(lines), topology, &out, &error) < 0 ||
        fabric_read_text(ret_model, buffer_string(&out), out.length_bytes, &error) < 0)
        bail_out("%s", error.text);
    buffer_fini(&out);
    buffer_fini(lines);
}

static void vertex_is(const struct fabric_model *model, uint32_t number, const char *name,
                      const char *top, uint16_t cost)
{
    const struct fabric_vertex *vertex = &model->vertices[number];

    is_string(fabric_model_name(model, vertex->name), name, "NIC %u", number);
    is_string(fabric_model_name(model, model->switches[vertex->top].name), top, "its switch");
    ok(vertex->link.up == cost && vertex->link.down == cost, "its link costs %u", cost);
}

static void test_costs(void)
{
    is_uint(fabric_nics_cost(400 * GIGABIT, 400 * GIGABIT), 1, "the fastest");
    is_uint(fabric_nics_cost(0, 400 * GIGABIT), 1, "one of unknown speed");
    is_uint(fabric_nics_cost(0, 0), 1, "none is known");
    is_uint(fabric_nics_cost(200 * GIGABIT, 400 * GIGABIT), 2, "half as fast");
    is_uint(fabric_nics_cost(300 * GIGABIT, 400 * GIGABIT), 1, "1.33 is 1");
    is_uint(fabric_nics_cost(160 * GIGABIT, 400 * GIGABIT), 3, "2.5 is 3");
    is_uint(fabric_nics_cost(3, 5), 2, "1.67 is 2");
    is_uint(fabric_nics_cost(1, 400 * GIGABIT), FABRIC_COST_MAX, "not more than the largest");
}

static void test_description(void)
{
    struct fabric_model model;
    struct nic_facts facts;
    struct buffer lines = {0};

    put_node(&lines, 1, 2, "a2");
    put_nic(&lines, 1, "eth0", "", 10 * GIGABIT, NIC_UP);
    put_node(&lines, 0, 2, "b1");
    put_nic(&lines, 0, "mlx5_0", "f", 100 * GIGABIT, NIC_STATE_UNKNOWN);
    put_nic(&lines, 0, "mlx5_1", "f", 400 * GIGABIT, NIC_DOWN);
    put_nic(&lines, 0, "mlx5_2", "f", 0, NIC_UP);
    put_ends(&lines, 2);
    describe(&lines, NULL, &model);
    is_uint(model.vertices_count, 3, "three NICs: one is down");
    is_uint(model.switches_count, 1, "below one switch");
    vertex_is(&model, 0, "b1:mlx5_0", "network", 1);
    vertex_is(&model, 1, "b1:mlx5_2", "network", 1);
    vertex_is(&model, 2, "a2:eth0", "network", 10);
    ok(fabric_model_facts(&model, 2, &facts) && facts.speed == 10 * GIGABIT &&
           facts.state == NIC_UP,
       "with what is known of them");
    is_uint(model.planes_count, 1, "one plane");
    is_string(fabric_model_name(&model, model.planes[0]), "", "without a name");
    fabric_model_fini(&model);
}

static void test_planes(void)
{
    struct fabric_model model;
    struct buffer lines = {0};

    put_node(&lines, 0, 1, "n1");
    put_nic(&lines, 0, "hsn0", "IB-0xfe01", 0, NIC_UP);
    put_nic(&lines, 0, "hsn1", "IB/2", 0, NIC_UP);
    put_ends(&lines, 1);
    describe(&lines, NULL, &model);
    ok(model.planes_count == 2 && fabric_model_find_plane(&model, "IB-0xfe01") == 0 &&
           fabric_model_find_plane(&model, "IB/2") == 1,
       "several fabrics of libfabric are planes");
    fabric_model_fini(&model);
    put_node(&lines, 0, 1, "n1");
    put_nic(&lines, 0, "eth0", "10.1.0.0/16", 0, NIC_UP);
    put_nic(&lines, 0, "eth1", "fe80::/64", 0, NIC_UP);
    put_nic(&lines, 0, "eth2", "cxi", 0, NIC_UP);
    put_ends(&lines, 1);
    describe(&lines, NULL, &model);
    is_uint(model.planes_count, 1, "but subnets are none");
    fabric_model_fini(&model);
}

static void test_topology(void)
{
    static const char text[] =
        "{\"switches\": [{\"name\": \"s1\", \"parent\": \"top\", \"up\": 7}, {\"name\": \"s2\", \"parent\": "
        "\"top\"}, {\"name\": \"top\", \"across\": 2}, {\"name\": \"other\"}], \"nics\": ["
        "{\"nodes\": \"n[1-2]\", \"switch\": \"s1\", \"up\": 9}, {\"nodes\": \"x\", \"switch\": \"other\"},"
        "{\"name\": \"n3:mlx5_0/1\", \"node\": \"n3\", \"switch\": \"s1\"}, "
        "{\"name\": \"n3:mlx5_1\", \"node\": \"n3\", \"switch\": \"s2\"}]}";
    struct fabric_model topology = {.switches = NULL}, model;
    struct buffer lines = {0};

    is_int(fabric_read_json(&topology, text, strlen(text), NULL), 0, "a topology");
    put_node(&lines, 0, 2, "n3");
    put_nic(&lines, 0, "mlx5_0", "", 0, NIC_UP);
    put_nic(&lines, 0, "mlx5_1", "", 0, NIC_UP);
    put_nic(&lines, 0, "mlx5_10", "", 0, NIC_UP);
    put_node(&lines, 1, 2, "n1.site.org");
    put_nic(&lines, 1, "eth0", "", 0, NIC_UP);
    put_ends(&lines, 2);
    describe(&lines, &topology, &model);
    is_uint(model.switches_count, 4, "has all its switches");
    vertex_is(&model, 0, "n3:mlx5_0", "s1", 1);
    vertex_is(&model, 1, "n3:mlx5_1", "s2", 1);
    vertex_is(&model, 2, "n3:mlx5_10", "s1", 1);
    vertex_is(&model, 3, "n1.site.org:eth0", "s1", 1);
    is_uint(fabric_model_cost(&model, 3, 1), 1 + 7 + 2 + 1 + 1, "and their costs");
    fabric_model_fini(&model);
    fabric_model_fini(&topology);
}

static void refuses(struct buffer *lines, const struct fabric_model *topology, int code,
                    const char *why)
{
    struct buffer out = {0};
    struct error error = ERROR_NONE;

    is_int(fabric_nics_describe(buffer_string(lines), topology, &out, &error), code, "refused: %s",
           why);
    is_string(error.text, why, "it says why");
    is_uint(out.length_bytes, 0, "nothing is printed");
    buffer_fini(&out);
    buffer_fini(lines);
}

static void test_nodes(void)
{
    struct fabric_model topology = {.switches = NULL};
    struct buffer lines = {0};

    for (uint32_t i = 0; i < 5; i++) {
        char name[] = {'n', (char)('1' + i), '\0'};

        put_node(&lines, i, 5, name);
        if (i != 3)
            put_nic(&lines, i, "eth0", "", 0, i == 1 || i == 2 ? NIC_DOWN : NIC_UP);
    }
    put_ends(&lines, 5);
    refuses(
        &lines, NULL, -ENODEV,
        "n[2-4]: no NIC that is up: libfabric describes none, and hwloc no network interface of a "
        "PCI device; exclude nodes by -- --host ^n[2-4], or write a description yourself");
    put_node(&lines, 0, 3, "n1");
    nic_line_print_fail(0, "it broke", &lines);
    put_node(&lines, 1, 3, "n2");
    nic_line_print_fail(1, "it burst", &lines);
    put_node(&lines, 2, 3, "n9");
    nic_line_print_fail(2, "it broke", &lines);
    put_ends(&lines, 3);
    refuses(&lines, NULL, -EIO, "cannot read the NICs of n[1,9]: it broke");
    is_int(fabric_read_generate(&topology, "fat-tree:2", NULL), 0, "a topology of n1 and n2");
    for (uint32_t i = 0; i < 4; i++) {
        char name[] = {'n', (char)('1' + i), '\0'};

        put_node(&lines, i, 4, name);
        put_nic(&lines, i, "eth0", "", 0, NIC_UP);
    }
    put_ends(&lines, 4);
    refuses(&lines, &topology, -ENOENT,
            "option --topology: it does not have n[3-4]; add them, or exclude them by -- --host "
            "^n[3-4]");
    fabric_model_fini(&topology);
}

static void refuses_text(const char *text, const char *why)
{
    struct buffer lines = {0};

    buffer_append_string(&lines, text);
    refuses(&lines, NULL, -EPROTO, why);
}

/* Hundreds of nodes whose names cannot be folded. */
static void test_long_errors(void)
{
    struct buffer lines = {0}, out = {0};
    struct error error = ERROR_NONE;
    const char *hint;

    for (uint32_t i = 0; i < 601; i++) {
        char name[32];

        snprintf(name, sizeof(name), "n%u", 1000 + 2 * i);
        put_node(&lines, i, 601, name);
        if (i == 0)
            put_nic(&lines, i, "eth0", "", 0, NIC_UP);
    }
    put_ends(&lines, 601);
    is_int(fabric_nics_describe(buffer_string(&lines), NULL, &out, &error), -ENODEV,
           "600 nodes without a NIC");
    ok(strncmp(error.text, "n[1002,1004,", 12) == 0, "the first ones are named: %s", error.text);
    has_string(error.text, "] and 541 more: no NIC that is up: ", "and how many there are more");
    hint = "; exclude nodes by -- --host ^LIST, or write a description yourself";
    has_string(error.text, hint, "what to do is not cut off");
    buffer_fini(&lines);
    put_node(&lines, 0, 1, "n1");
    put_ends(&lines, 1);
    refuses(&lines, NULL, -ENODEV,
            "n1: no NIC that is up: libfabric describes none, and hwloc no network interface of a "
            "PCI device (virtual ones, as in containers, do not count); write a description "
            "yourself");
}

static void test_missing(void)
{
    refuses_text("", "cannot read NICs: no process has said anything");
    refuses_text("node\t0\t1\tn1\nhello\n", "cannot read NICs: a process has printed 'hello'");
    refuses_text("nic\t0\n", "cannot read NICs: a process has printed 'nic 0'");
    refuses_text("end\t0\n", "cannot read NICs: a process has printed 'end 0'");
    refuses_text("node\t0\t1\tn 1\n", "cannot read NICs: a process has printed 'node 0 1 n 1'");
    refuses_text("node\t0\t2\tn1\nnode\t1\t3\tn2\n",
                 "cannot read NICs: a process has printed 'node 1 3 n2'");
    refuses_text("node\t0\t2\tn1\nnode\t0\t2\tn1\n",
                 "cannot read NICs: a process has printed 'node 0 2 n1'");
    refuses_text("node\t0\t4294967295\tn1\n",
                 "cannot read NICs: a process has printed 'node 0 4294967295 n1'");
    refuses_text("node\t0\t1\tn1\nend\t0\nfail\t0\tx\n",
                 "cannot read NICs: a process has printed 'fail 0 x'");
    refuses_text(
        "node\t0\t3\tn1\nend\t0\nnode\t2\t3\tn3\nend\t2\n",
        "cannot read NICs: 2 of 3 nodes have answered: process 1 has said nothing; do not give "
        "options that hide what processes print, like --output-from");
    refuses_text(
        "node\t0\t2\tn1\nnode\t1\t2\tn2\nend\t0\n",
        "cannot read NICs: process 1 (n2) has not said all of its NICs: it has ended early");
}

static void test_many(void)
{
    struct buffer lines = {0};

    put_node(&lines, 0, 1, "n1");
    for (uint32_t i = 0; i <= NIC_LIST_MAX; i++)
        put_nic(&lines, 0, "eth0", "", 0, NIC_UP);
    put_ends(&lines, 1);
    refuses(&lines, NULL, -E2BIG, "cannot read NICs: n1 has more than 4096");
}

int main(void)
{
    test_costs();
    test_description();
    test_planes();
    test_topology();
    test_nodes();
    test_missing();
    test_many();
    test_long_errors();
    return done_testing();
}
