/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What says who goes where: the first byte chooses a placement from the wire (with the map that is
 * made of it), a rank file, a list of nodes, requirements and facts, or the words of --map-by and
 * --bind-to.
 */
#include "config.h"

#include "alloc/placement_list.h"
#include "alloc/placement_local.h"
#include "alloc/placement_require.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 20000u /* of a map that is made; more are only read */

static void map_all(const struct placement *placement, const struct allocation *allocation)
{
    struct placement_map map;
    uint64_t hash = 0;

    if (placement_map_make(&map, placement, allocation, NULL) < 0)
        return;
    if (map.processes <= PROCESSES_MAX && placement_map_check(&map, allocation, NULL) == 0) {
        for (uint32_t node = 0; node < map.nodes; node++)
            hash += placement_map_hash_node(&map, node);
        assert(hash == placement_map_hash_total(&map));
    }
    placement_map_fini(&map);
}

static void read_placement(const uint8_t *data, size_t data_bytes,
                           const struct allocation *allocation)
{
    struct placement placement;
    struct wire_reader reader;

    wire_reader_init(&reader, data, data_bytes);
    if (placement_decode(&placement, &reader) < 0)
        return;
    if (placement_require_settle(&placement, allocation, NULL) == 0 &&
        placement_processes(&placement) <= PROCESSES_MAX)
        map_all(&placement, allocation);
    placement_fini(&placement);
}

static void lists_are_equal(const struct placement_list *left, const struct placement_list *right)
{
    assert(left->count == right->count && (left->cores == NULL) == (right->cores == NULL));
    for (uint32_t i = 0; i < left->count; i++) {
        assert(left->nodes[i] == right->nodes[i]);
        assert(left->cores == NULL || ranges_equal(&left->cores[i], &right->cores[i]));
    }
}

/* What was read is read again from what it prints as. */
static void list_returns(const struct placement_list *list, const struct allocation *allocation)
{
    struct placement_list *again;
    struct buffer text = {0};

    for (uint32_t i = 0; i < list->count; i++) {
        buffer_printf(&text, "rank %u=+n%u", i, list->nodes[i]);
        if (list->cores != NULL) {
            buffer_append_string(&text, " slot=");
            ranges_print(&list->cores[i], &text);
        }
        buffer_append_string(&text, "\n");
    }
    assert(placement_list_parse_ranks("again", buffer_string(&text), allocation, &again, NULL) ==
           0);
    lists_are_equal(list, again);
    placement_list_destroy(again);
    buffer_fini(&text);
}

static void read_list(const char *text, int is_sequence, const struct allocation *allocation)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_LIST, .oversubscribe = 1};
    struct placement placement = {.rules = &rule, .rules_count = 1};
    struct error error = ERROR_NONE;
    int rc = is_sequence ? placement_list_parse_sequence("f", text, allocation, &rule.list, &error)
                         : placement_list_parse_ranks("f", text, allocation, &rule.list, &error);

    assert((rc < 0) == (error.text[0] != '\0'));
    if (rc < 0)
        return;
    list_returns(rule.list, allocation);
    if (rule.list->cores == NULL)
        map_all(&placement, allocation);
    placement_list_destroy(rule.list);
}

/* A text that is read is judged; what it prints is read again. */
static void read_require(const char *text)
{
    struct require require;
    struct node_facts facts = {.known = 0};
    struct error error = ERROR_NONE;
    struct buffer words = {0};

    assert((placement_require_parse(text, &require, &error) < 0) == (error.text[0] != '\0'));
    if (node_facts_parse(text, &facts, NULL) == 0) {
        node_facts_print(&facts, &words);
        if (words.length_bytes > 0)
            assert(node_facts_parse(buffer_string(&words), &facts, NULL) == 0);
    }
    if (error.code == 0) {
        (void)placement_require_holds(&require, &facts);
        placement_require_reduce(&require, &facts);
    }
    node_facts_fini(&facts);
    buffer_fini(&words);
}

/* What was read is the same after it was printed and read again; lists are files. */
static void rule_returns(const struct placement_rule *rule)
{
    struct placement_rule again = {.policy = PLACEMENT_BY_SLOT};
    struct placement_extra extra = {.no_local = 0};
    struct buffer words = {0}, left = {0}, right = {0};

    placement_rule_print(rule, &words);
    assert(placement_rule_parse(buffer_string(&words), &again, &extra, NULL) == 0);
    placement_rule_encode(rule, &left);
    placement_rule_encode(&again, &right);
    assert(left.length_bytes == right.length_bytes &&
           memcmp(left.data, right.data, left.length_bytes) == 0);
    placement_rule_fini(&again);
    buffer_fini(&words);
    buffer_fini(&left);
    buffer_fini(&right);
}

static void read_words(const char *text)
{
    struct placement_rule rule = {.policy = PLACEMENT_BY_SLOT};
    struct placement_extra extra = {.no_local = 0};
    struct error error = ERROR_NONE;
    int rc = placement_rule_parse(text, &rule, &extra, &error);

    assert((rc < 0) == (error.text[0] != '\0'));
    if (rc == 0 && rule.policy != PLACEMENT_BY_LIST)
        rule_returns(&rule);
    (void)placement_bind_parse(text, &rule, NULL);
    (void)placement_rank_by_parse(text, &rule, NULL);
    (void)placement_memory_parse(text, &rule, NULL);
    placement_rule_fini(&rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    struct allocation allocation;
    char *text;

    if (data_bytes == 0)
        return 0;
    text = memory_allocate(data_bytes);
    memcpy(text, data + 1, data_bytes - 1);
    text[data_bytes - 1] = '\0';
    allocation_init(&allocation);
    allocation_generate(&allocation, "n", 3, 4);
    switch (fuzz_choice(data[0], 5)) {
    case 0:
        read_placement(data + 1, data_bytes - 1, &allocation);
        break;
    case 1:
        read_list(text, 0, &allocation);
        break;
    case 2:
        read_list(text, 1, &allocation);
        break;
    case 3:
        read_require(text);
        break;
    default:
        read_words(text);
    }
    allocation_fini(&allocation);
    free(text);
    return 0;
}

/* Two packages of two cores of two threads on all three nodes. */
static void sample_placement(struct buffer *out)
{
    struct placement_rule rule = {
        .policy = PLACEMENT_BY_OBJECT, .level = TOPOLOGY_PACKAGE, .pe = 2};
    struct placement placement = {0};
    struct topology topology;
    struct ranges allowed = {0}, nodes = {0};
    struct node_facts facts = {.known = 0};

    topology_init(&topology, 8);
    for (uint32_t i = 0; i < 8; i++) {
        topology.os[i] = i;
        topology.objects[TOPOLOGY_PACKAGE][i] = i / 4;
        topology.objects[TOPOLOGY_CORE][i] = i / 2;
    }
    topology_number(&topology);
    topology_all(&topology, &allowed);
    rule.require = memory_copy_string("mem>=1G,feature=a");
    (void)node_facts_parse("mem=2G,feature=a|b", &facts, NULL);
    ranges_add(&nodes, 0, 1);
    facts_table_add(&placement.facts, &facts, &nodes);
    placement_add(&placement, &rule);
    (void)placement_machines_add(&placement.machines, &topology, &allowed, 0, 2);
    placement_encode(&placement, out);
    placement_fini(&placement);
    topology_fini(&topology);
    ranges_fini(&allowed);
    ranges_fini(&nodes);
    node_facts_fini(&facts);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    static const char *const samples[] = {"\1rank 0=n1 slot=0-1,3\nrank 1=+n2 slot=2\n# end\n",
                                          "\1rank 1=n3\nrank 0=n1\n",
                                          "\2n1\nn2 slots=4\n\nn3:2\n",
                                          "\3mem>=64G,arch=x86_64|arm,feature!=a,gpus<3",
                                          "\3mem=64G,arch=x86_64,os=linux,feature=a|b,gpus=2",
                                          "\4ppr:2:package:pe=2,oversubscribe",
                                          "\4dist:mlx5_0:nolocal",
                                          "\4pe-list=0,4-7:ordered",
                                          "\4device=gpu:ndev=2:shared",
                                          "\4core:overload-allowed"};
    struct buffer bytes = {0};

    if (number == 0) {
        buffer_append(&bytes, "", 1);
        sample_placement(&bytes);
    } else if (number <= sizeof(samples) / sizeof(samples[0])) {
        buffer_append_string(&bytes, samples[number - 1]);
    }
    return fuzz_hand_over(&bytes, buffer, buffer_bytes);
}
