/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of models, fabric/topology/fabric_model_part.c, and models as text, fabric/topology/fabric_write.c. */
#include "config.h"

#include "fabric/topology/fabric_write.h"
#include "test/support/tap.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/topology/fabric_read.h"

static const char *const texts[] = {
    "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[03-05],x\nSwitchName=top Switches=s[1-2]\n",
    "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n",
    "{\"switches\": [{\"name\": \"low \\\"1\\\"\", \"parent\": \"top\", \"up\": 5, \"down\": 7},"
    "{\"name\": \"top\", \"across\": 3}, {\"name\": \"b\"}],"
    "\"nics\": [{\"nodes\": \"n[1-3]\", \"switch\": \"low \\\"1\\\"\", \"up\": 2, \"plane\": \"A\"},"
    "{\"name\": \"n1:b\", \"node\": \"n1\", \"switch\": \"b\", \"plane\": \"B\"},"
    "{\"nodes\": \"n4\", \"switch\": \"low \\\"1\\\"\", \"plane\": \"A\", \"down\": 9},"
    "{\"name\": \"a b\", \"node\": \"a b\", \"switch\": \"top\", \"plane\": \"A\"}]}",
    "{\"switches\": [{\"name\": \"s\"}], \"nics\": ["
    "{\"nodes\": \"n[1-3]\", \"switch\": \"s\", \"device\": {\"type\": \"Ethernet\", \"mtu\": 9000}},"
    "{\"nodes\": \"n4\", \"switch\": \"s\"},"
    "{\"name\": \"n1:b\", \"node\": \"n1\", \"switch\": \"s\", \"up\": 2, \"device\": {"
    "\"driver\": \"a \\\"b\\\"\", \"vendor\": \"0x02c9\", \"device\": \"0x101b\", \"address\": \"x:1\","
    "\"speed\": 400000000000, \"mtu\": 4096, \"state\": \"up\", \"type\": \"Ethernet\","
    "\"pci\": \"0000:c1:00.0\", \"numa\": 7}},"
    "{\"nodes\": \"n5\", \"switch\": \"s\", \"device\": {\"state\": \"down\"}},"
    "{\"nodes\": \"n6\", \"switch\": \"s\", \"device\": {\"numa\": 0}}]}",
};

static void read_one(const char *text, struct fabric_model *model)
{
    struct error error = ERROR_NONE;

    *model = (struct fabric_model){.switches = NULL};
    is_int(fabric_read_text(model, text, strlen(text), &error), 0, "it is read");
    if (error.code < 0)
        diag("%s", error.text);
}

static bool same_vertex(const struct fabric_model *a, const struct fabric_model *b, uint32_t i)
{
    const struct fabric_vertex *one = &a->vertices[i], *other = &b->vertices[i];

    return one->top == other->top && one->plane == other->plane &&
           strcmp(fabric_model_name(a, one->name), fabric_model_name(b, other->name)) == 0 &&
           strcmp(fabric_model_name(a, a->nodes[one->node]),
                  fabric_model_name(b, b->nodes[other->node])) == 0;
}

static bool same_facts(const struct fabric_model *a, const struct fabric_model *b, uint32_t i)
{
    struct nic_facts one, other;
    bool is_known = fabric_model_facts(a, i, &one);

    if (fabric_model_facts(b, i, &other) != is_known)
        return false;
    if (!is_known)
        return true;
    return memcmp(one.texts, other.texts, sizeof(one.texts)) == 0 && one.speed == other.speed &&
           one.mtu == other.mtu && one.numa == other.numa && one.state == other.state;
}

static uint32_t count_differences(const struct fabric_model *a, const struct fabric_model *b)
{
    uint32_t count = a->switches_count != b->switches_count;

    for (uint32_t i = 0; i < a->vertices_count; i++) {
        count += !same_vertex(a, b, i) + !same_facts(a, b, i);
        for (uint32_t j = 0; j < a->vertices_count; j++)
            count += fabric_model_cost(a, i, j) != fabric_model_cost(b, i, j);
    }
    return count;
}

static void check_round(const struct fabric_model *model, const char *name)
{
    struct fabric_model again;
    struct buffer text = {0};

    fabric_write_json(model, &text);
    read_one(buffer_string(&text), &again);
    is_uint(again.vertices_count, model->vertices_count, "%s: as many NICs", name);
    if (again.vertices_count == model->vertices_count)
        is_uint(count_differences(model, &again), 0, "%s: the same ones, and their costs", name);
    fabric_model_fini(&again);
    buffer_fini(&text);
}

static void test_written(void)
{
    struct fabric_model model = {.switches = NULL};
    struct buffer text = {0};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        read_one(texts[i], &model);
        check_round(&model, i == 0 ? "Slurm's tree" : i == 1 ? "Slurm's blocks" : "JSON");
        fabric_model_fini(&model);
    }
    is_int(fabric_read_generate(&model, "dragonfly:4x8x16", NULL), 0, "a shape");
    check_round(&model, "a shape");
    fabric_write_json(&model, &text);
    ok(strstr(buffer_string(&text), "n[1-4]") != NULL, "its nodes are lists");
    ok(text.length_bytes < 20000, "of few bytes: %zu", text.length_bytes);
    buffer_fini(&text);
    fabric_model_fini(&model);
}

/* Only NICs of which the same is known share an entry. */
static void test_facts(void)
{
    struct fabric_model model, part;
    struct nic_facts facts;
    struct buffer text = {0};
    uint8_t nodes[8] = {0};

    read_one(texts[3], &model);
    fabric_write_json(&model, &text);
    has_string(buffer_string(&text), "{\"nodes\": \"n[1-3]\"", "three alike are one entry");
    has_string(buffer_string(&text), "{\"nodes\": \"n4\"", "one without facts another");
    has_string(buffer_string(&text),
               "\"device\": {\"driver\": \"a \\\"b\\\"\", \"vendor\": \"0x02c9\", \"device\": "
               "\"0x101b\", \"address\": \"x:1\", \"speed\": 400000000000, \"mtu\": 4096, "
               "\"state\": \"up\", \"type\": \"Ethernet\", \"pci\": \"0000:c1:00.0\", "
               "\"numa\": 7}",
               "all facts are written");
    nodes[fabric_model_find_node(&model, "n4")] = 1;
    nodes[fabric_model_find_node(&model, "n6")] = 1;
    fabric_model_part(&model, nodes, &part);
    ok(part.vertices_count == 2 && !fabric_model_facts(&part, 0, &facts) &&
           fabric_model_facts(&part, 1, &facts) && facts.numa == 0 && facts.mtu == 0,
       "a part has the facts of its NICs");
    fabric_model_fini(&part);
    fabric_model_fini(&model);
    buffer_fini(&text);
}

static void test_part(void)
{
    struct fabric_model model, part;
    uint8_t nodes[8] = {0};

    read_one(texts[2], &model);
    nodes[fabric_model_find_node(&model, "n1")] = 1;
    nodes[fabric_model_find_node(&model, "n4")] = 1;
    fabric_model_part(&model, nodes, &part);
    is_uint(part.vertices_count, 3, "two nodes have three NICs");
    is_uint(part.nodes_count, 2, "and are all nodes of the part");
    is_string(fabric_model_name(&part, part.vertices[1].name), "n1:b", "in the order of the whole");
    is_uint(part.planes_count, 2, "with both planes");
    for (uint32_t i = 0; i < part.vertices_count; i++)
        for (uint32_t j = 0; j < part.vertices_count; j++) {
            uint32_t from = fabric_model_find_vertex(
                         &model, fabric_model_name(&part, part.vertices[i].name)),
                     to = fabric_model_find_vertex(&model,
                                                   fabric_model_name(&part, part.vertices[j].name));

            is_uint(fabric_model_cost(&part, i, j), fabric_model_cost(&model, from, to),
                    "the way from %u to %u costs the same", i, j);
        }
    check_round(&part, "a part");
    fabric_model_fini(&part);
    memset(nodes, 0, sizeof(nodes));
    fabric_model_part(&model, nodes, &part);
    is_uint(part.vertices_count, 0, "no nodes, no NICs");
    fabric_model_fini(&part);
    fabric_model_fini(&model);
}

int main(void)
{
    test_written();
    test_part();
    test_facts();
    return done_testing();
}
