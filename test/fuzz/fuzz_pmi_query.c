/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions about jobs and processes and their answers (pmix/pmi_query.h), and job control (pmix/pmi_control.h): what
 * is taken is written as it was read.
 */
#include "config.h"

#include "pmix/pmi_query.h"
#include "pmix/pmi_control.h"
#include "test/fuzz/fuzz.h"

#include <assert.h>

static void compare(struct buffer *written, const void *data, size_t bytes)
{
    assert(written->length_bytes == bytes);
    assert(bytes == 0 || memcmp(written->data, data, bytes) == 0);
    buffer_fini(written);
}

static void fuzz_question(const uint8_t *data, size_t bytes)
{
    struct buffer written = {0};
    struct pmi_query query;

    if (pmi_query_decode(&query, data, bytes) < 0)
        return;
    pmi_query_encode(&query, &written);
    pmi_query_fini(&query);
    compare(&written, data, bytes);
}

static void fuzz_instance(const uint8_t *data, size_t bytes)
{
    struct pmi_instance_facts facts;
    struct buffer written = {0};

    if (pmi_instance_facts_decode(&facts, data, bytes) < 0)
        return;
    pmi_instance_facts_encode(&facts, &written);
    pmi_instance_facts_fini(&facts);
    compare(&written, data, bytes);
}

static void fuzz_nodes(const uint8_t *data, size_t bytes)
{
    struct pmi_node_facts facts;
    struct buffer written = {0};
    struct wire_reader reader;

    wire_reader_init(&reader, data, bytes);
    while (wire_left(&reader) > 0 && pmi_node_facts_decode(&facts, &reader) == 0) {
        pmi_node_facts_encode(&facts, &written);
        pmi_node_facts_fini(&facts);
    }
    if (wire_status(&reader) == 0)
        compare(&written, data, bytes);
    buffer_fini(&written);
}

static void fuzz_fabric(const uint8_t *data, size_t bytes)
{
    struct pmi_fabric_facts facts;
    struct buffer written = {0};

    if (pmi_fabric_facts_decode(&facts, data, bytes) < 0)
        return;
    pmi_fabric_facts_encode(&facts, &written);
    pmi_fabric_facts_fini(&facts);
    compare(&written, data, bytes);
}

static void fuzz_order(const uint8_t *data, size_t bytes)
{
    struct pmi_control control;
    struct buffer written = {0};

    if (pmi_control_decode(&control, data, bytes) < 0)
        return;
    pmi_control_encode(&control, &written);
    pmi_control_fini(&control);
    compare(&written, data, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
    static void (*const things[])(const uint8_t *, size_t) = {fuzz_question, fuzz_instance,
                                                              fuzz_nodes, fuzz_order, fuzz_fabric};

    if (data_bytes > 0)
        things[fuzz_choice(data[0], 5)](data + 1, data_bytes - 1);
    return 0;
}

static void sample_fabric(struct buffer *sample)
{
    char plane[] = "A", name[] = "n1", *planes[] = {plane};
    uint32_t place[] = {0, 1};
    struct nic_facts known = {.texts[NIC_PCI] = "0000:c1:00.0", .speed = 100, .state = NIC_UP};
    struct pmi_fabric_device device = {
        .place = place, .name = name, .node = name, .switch_name = name, .facts = &known};
    uint32_t row = 1;
    uint16_t costs[] = {4, 0};
    struct pmi_fabric_facts facts = {.planes = planes,
                                     .planes_count = 1,
                                     .devices = 2,
                                     .dims = 2,
                                     .list = &device,
                                     .list_count = 1,
                                     .rows = &row,
                                     .rows_count = 1,
                                     .costs = costs};

    pmi_fabric_facts_encode(&facts, sample);
}

size_t fuzz_sample(unsigned number, uint8_t *buffer, size_t buffer_bytes)
{
    struct pmi_instance_facts instance = {.nodes = 2, .slots = 4};
    struct pmi_node_facts node = {0};
    struct pmi_query query = {.kind = PMI_QUERY_PROCESSES, .job = 1};
    struct pmi_control_target target = {"n-1", 2};
    struct pmi_control control = {.kind = PMI_CONTROL_KILL, .targets = &target, .targets_count = 1};
    struct buffer sample = {0};
    char program[] = "app", *argv[] = {program, NULL};

    if (number > 5)
        return 0;
    wire_put_u8(&sample, (uint8_t)(number < 5 ? number : 0));
    if (number == 0) {
        ranges_add(&query.places, 1, 3);
        pmi_query_encode(&query, &sample);
        pmi_query_fini(&query);
    } else if (number == 1) {
        instance.name = memory_copy_string("n");
        pmi_job_facts_add(pmi_instance_facts_add(&instance, 1), 0, 1, argv);
        pmi_instance_facts_encode(&instance, &sample);
        pmi_instance_facts_fini(&instance);
    } else if (number == 4) {
        sample_fabric(&sample);
    } else if (number == 5) {
        query = (struct pmi_query){.kind = PMI_QUERY_FABRIC};
        query.fabric.node = memory_copy_string("n1");
        pmi_query_encode(&query, &sample);
        pmi_query_fini(&query);
    } else if (number == 3) {
        pmi_control_encode(&control, &sample);
    } else {
        node.name = memory_copy_string("n1");
        pmi_node_facts_add(&node, &(struct pmi_process_facts){.job = 1, .pid = 7});
        pmi_node_facts_encode(&node, &sample);
        pmi_node_facts_fini(&node);
    }
    return fuzz_hand_over(&sample, buffer, buffer_bytes);
}
