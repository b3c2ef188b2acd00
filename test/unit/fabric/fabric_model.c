/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/topology/fabric_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "fabric/topology/fabric_read.h"
#include "test/support/tap.h"

static const struct fabric_link one = {1, 1};

static uint16_t cost(const struct fabric_model *model, const char *from, const char *to)
{
    return fabric_model_cost(model, fabric_model_find_vertex(model, from),
                             fabric_model_find_vertex(model, to));
}

/* Two planes; in plane "a" s1 and s2 are below top, whose links cost 5 up and 2 down. */
static void make_small(struct fabric_model *model)
{
    static const struct fabric_link uneven = {5, 2};
    uint32_t top, s1, s2, other;
    struct error error = ERROR_NONE;

    memset(model, 0, sizeof(*model));
    fabric_model_add_switch(model, "top", 7, &top, &error);
    fabric_model_add_switch(model, "s1", 0, &s1, &error);
    fabric_model_add_switch(model, "s2", 0, &s2, &error);
    fabric_model_add_switch(model, "other", 0, &other, &error);
    fabric_model_set_parent(model, s1, top, uneven, &error);
    fabric_model_set_parent(model, s2, top, one, &error);
    fabric_model_add_vertex(model, "n1", "n1", "a", s1, one, &error);
    fabric_model_add_vertex(model, "n2", "n2", "a", s1, one, &error);
    fabric_model_add_vertex(model, "n3", "n3", "a", s2, one, &error);
    fabric_model_add_vertex(model, "n4", "n4", "a", top, one, &error);
    fabric_model_add_vertex(model, "n1:b", "n1", "b", other, one, &error);
    fabric_model_add_vertex(model, "n2:b", "n2", "b", other, one, &error);
    is_int(fabric_model_settle(model, &error), 0, "a model of six NICs");
}

static void test_costs(void)
{
    struct fabric_model model;
    uint16_t rows[2 * 6];

    make_small(&model);
    is_int(cost(&model, "n1", "n1"), 0, "to itself");
    is_int(cost(&model, "n1", "n2"), 2, "below one switch");
    is_int(cost(&model, "n1", "n3"), 1 + 5 + 7 + 1 + 1, "across the top");
    is_int(cost(&model, "n3", "n1"), 1 + 1 + 7 + 2 + 1, "the other way");
    is_int(cost(&model, "n1", "n4"), 1 + 5 + 7 + 1, "to one at the top");
    is_int(cost(&model, "n4", "n1"), 1 + 7 + 2 + 1, "and back");
    is_int(cost(&model, "n1", "n1:b"), FABRIC_COST_SAME_NODE, "another NIC of the node");
    is_int(cost(&model, "n1", "n2:b"), FABRIC_COST_NO_WAY, "into another plane");
    is_int(cost(&model, "n2:b", "n3"), FABRIC_COST_NO_WAY, "nor from it");
    fabric_model_rows(&model, NULL, 6, 1, 2, rows);
    ok(rows[0] == 2 && rows[1] == 0 && rows[6 + 0] == cost(&model, "n3", "n1") && rows[6 + 2] == 0,
       "rows are what the costs are");
    is_int((int)fabric_model_levels(&model), 2, "levels");
    is_int((int)model.switches[fabric_model_find_switch(&model, "top")].below, 4, "NICs below");
    is_int((int)model.nodes_count, 4, "nodes");
    is_int((int)fabric_model_find_plane(&model, "b"), 1, "a plane");
    is_int((int)fabric_model_find_plane(&model, "c"), (int)FABRIC_NONE, "no plane");
    fabric_model_fini(&model);
}

static void test_refused(void)
{
    struct fabric_model model = {.switches = NULL};
    struct error error = ERROR_NONE;
    char longest[FABRIC_NAME_BYTES_MAX + 2];
    uint32_t a, b;

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    is_int(fabric_model_add_switch(&model, "", 0, &a, &error), -EINVAL, "a switch has a name");
    is_int(fabric_model_add_switch(&model, longest, 0, &a, &error), -EINVAL, "not too long");
    fabric_model_add_switch(&model, "a", 0, &a, &error);
    fabric_model_add_switch(&model, "b", 0, &b, &error);
    is_int(fabric_model_add_switch(&model, "a", 0, &a, &error), -EEXIST, "and no other's");
    is_string(error.text, "switch a is described twice", "which is named");
    fabric_model_set_parent(&model, a, b, one, &error);
    is_int(fabric_model_set_parent(&model, a, b, one, &error), -EEXIST, "one parent");
    is_string(error.text, "switch a is below two others, b and b", "both are named");
    fabric_model_add_vertex(&model, "n1", "n1", "", a, one, &error);
    is_int(fabric_model_add_vertex(&model, "n1", "n2", "", b, one, &error), -EEXIST, "a NIC");
    is_string(error.text, "n1 is connected twice", "has one place");
    fabric_model_set_parent(&model, b, a, one, &error);
    is_int(fabric_model_settle(&model, &error), -ELOOP, "a circle");
    has_string(error.text, "is above itself", "is found");
    fabric_model_fini(&model);

    for (uint32_t i = 0; i < FABRIC_LEVELS_MAX + 1; i++) {
        char name[16];

        snprintf(name, sizeof(name), "s%u", i);
        fabric_model_add_switch(&model, name, 0, &a, &error);
        if (i > 0)
            fabric_model_set_parent(&model, a, a - 1, one, &error);
    }
    is_int(fabric_model_settle(&model, &error), -E2BIG, "too many levels");
    fabric_model_fini(&model);
}

/* As if so many names were there. */
static void test_names(void)
{
    struct fabric_model model = {.switches = NULL};
    struct error error = ERROR_NONE;
    size_t bytes;
    uint32_t top;

    fabric_model_add_switch(&model, "top", 0, &top, &error);
    bytes = model.names.length_bytes;
    model.names.length_bytes = FABRIC_NAMES_BYTES_MAX + 1;
    is_int(fabric_model_add_switch(&model, "s", 0, &top, &error), -E2BIG,
           "too long names of switches");
    is_int(fabric_model_add_vertex(&model, "n1", "n1", "", top, one, &error), -E2BIG, "or of NICs");
    is_string(error.text, "the names of 0 NICs and 1 switches take more than 256 MiB",
              "are told with the limit");
    model.names.length_bytes = bytes;
    is_int(fabric_model_add_vertex(&model, "n1", "n1", "", top, one, &error), 0,
           "others are added");
    fabric_model_fini(&model);
}

/* Sums that do not fit are the highest cost, not "no way". */
static void test_saturated(void)
{
    static const struct fabric_link high = {60000, 60000};
    struct fabric_model model = {.switches = NULL};
    struct error error = ERROR_NONE;
    uint32_t top;

    fabric_model_add_switch(&model, "top", 60000, &top, &error);
    fabric_model_add_vertex(&model, "a", "a", "", top, high, &error);
    fabric_model_add_vertex(&model, "b", "b", "", top, high, &error);
    fabric_model_settle(&model, &error);
    is_int(fabric_model_cost(&model, 0, 1), FABRIC_COST_MAX, "a sum above 65534");
    fabric_model_fini(&model);
}

/* A forest of random switches, costs and NICs, some of them of the same nodes. */
static void make_random(struct fabric_model *model, struct random_state *random)
{
    static const char *const planes[] = {"a", "b"};
    struct error error = ERROR_NONE;
    uint32_t number, switches = 1 + (uint32_t)random_below(random, 12);
    char name[16], node[16];

    for (uint32_t i = 0; i < switches; i++) {
        struct fabric_link link = {(uint16_t)random_next(random),
                                   (uint16_t)random_below(random, 9)};

        snprintf(name, sizeof(name), "s%u", i);
        fabric_model_add_switch(model, name, (uint16_t)random_below(random, 5), &number, &error);
        if (i > 0 && random_chance(random, 0.8))
            fabric_model_set_parent(model, i, (uint32_t)random_below(random, i), link, &error);
    }
    for (uint32_t i = 0; i < 40; i++) {
        struct fabric_link link = {(uint16_t)random_below(random, 9),
                                   (uint16_t)random_next(random)};

        snprintf(name, sizeof(name), "v%u", i);
        snprintf(node, sizeof(node), "n%u", (uint32_t)random_below(random, 30));
        fabric_model_add_vertex(model, name, node, planes[random_below(random, 2)],
                                (uint32_t)random_below(random, switches), link, &error);
    }
    if (fabric_model_settle(model, &error) < 0)
        bail_out("%s", error.text);
}

/* Are these rows of these vertices (NULL: all) what fabric_model_cost says, one by one? */
static bool rows_are_costs(const struct fabric_model *model, const uint32_t *vertices,
                           uint32_t count, uint32_t first)
{
    uint16_t *rows = memory_allocate((size_t)(count - first) * count * sizeof(*rows));
    bool equal = true;

    fabric_model_rows(model, vertices, count, first, count - first, rows);
    for (uint32_t row = first; row < count; row++) {
        for (uint32_t column = 0; column < count; column++)
            equal = equal && rows[(size_t)(row - first) * count + column] ==
                                 fabric_model_cost(model, vertices != NULL ? vertices[row] : row,
                                                   vertices != NULL ? vertices[column] : column);
    }
    free(rows);
    return equal;
}

static void test_rows(void)
{
    struct random_state random;
    bool all = true, some = true;

    random_init(&random, 14);
    for (int i = 0; i < 300; i++) {
        struct fabric_model model = {.switches = NULL};
        uint32_t odd[20];

        make_random(&model, &random);
        for (uint32_t v = 0; v < 20; v++)
            odd[v] = 2 * v + 1;
        all = all && rows_are_costs(&model, NULL, model.vertices_count, i % 7u);
        some = some && rows_are_costs(&model, odd, 20, i % 7u);
        fabric_model_fini(&model);
    }
    ok(all, "rows of all NICs of random fabrics are what the costs are");
    ok(some, "and rows of some of them");
}

/* 102,400 NICs: the memory of the model is bounded by its size. */
static void test_large(void)
{
    struct fabric_model model = {.switches = NULL};
    struct error error = ERROR_NONE;
    uint64_t sum = 0;

    is_int(fabric_read_generate(&model, "fat-tree:32x32x100", &error), 0, "a large fat tree");
    is_int((int)model.vertices_count, 102400, "of 102,400 NICs");
    for (uint32_t i = 0; i < 100000; i++)
        sum += fabric_model_cost(&model, i, (i * 7919u + 1) % model.vertices_count);
    ok(sum > 0 && sum <= 6ull * 100000, "whose costs are at most 6");
    fabric_model_fini(&model);
}

/* What is known of 102,400 NICs, each with an address and of one of eight kinds, takes some bytes each. */
static void test_facts(void)
{
    struct fabric_model model = {.switches = NULL};
    struct nic_facts facts, taken;
    uint32_t top;
    size_t bytes;

    nic_facts_init(&facts);
    facts.speed = 200000000000u;
    (void)fabric_model_add_switch(&model, "top", 0, &top, NULL);
    for (uint32_t i = 0; i < 102400; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%u", i);
        (void)fabric_model_add_vertex(&model, name, name, "", top, one, NULL);
        nic_text_set(facts.texts[NIC_DRIVER], NIC_TEXT_BYTES, "mlx5_core");
        snprintf(facts.texts[NIC_ADDRESS], NIC_TEXT_BYTES, "02:00:00:%02x:%02x:%02x", i >> 16,
                 i >> 8 & 0xff, i & 0xff);
        nic_pci_set(&facts, 0, i % 8, 0, 0);
        if (i >= 3)
            fabric_model_describe(&model, i, &facts);
    }
    is_int(fabric_model_settle(&model, NULL), 0, "102,400 NICs with facts");
    bytes = model.devices_count * sizeof(*model.devices) + model.names.length_bytes;
    ok(bytes < 9000000, "which take %zu bytes with all names", bytes);
    ok(!fabric_model_facts(&model, 2, &taken) && !fabric_model_same_facts(&model, 2, 3),
       "nothing is known of the first ones");
    ok(fabric_model_facts(&model, 100001, &taken), "but of the last ones");
    is_string(taken.texts[NIC_PCI], "0000:01:00.0", "the PCI address");
    is_string(taken.texts[NIC_ADDRESS], "02:00:00:01:86:a1", "and that of the link");
    ok(taken.numa == NIC_NUMA_UNKNOWN && taken.mtu == 0 && taken.state == NIC_STATE_UNKNOWN &&
           taken.speed == facts.speed,
       "and no more than was said");
    fabric_model_fini(&model);
}

int main(void)
{
    test_costs();
    test_refused();
    test_names();
    test_saturated();
    test_rows();
    test_large();
    test_facts();
    return done_testing();
}
