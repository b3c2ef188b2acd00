/* SPDX-License-Identifier: BSD-3-Clause */
/* What is asked about the fabric, and answered, on its way: pmix/pmi_fabric_wire.c. */
#include "config.h"

#include "pmix/pmi_fabric.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pmix/pmi_query.h"

static void test_question(void)
{
    struct pmi_query query = {.kind = PMI_QUERY_FABRIC}, taken = {.kind = PMI_QUERY_JOBS};
    struct buffer text = {0};

    query.fabric = (struct pmi_fabric_query){.parts = PMI_FABRIC_COSTS | PMI_FABRIC_DEVICES,
                                             .plane = memory_copy_string("hsn"),
                                             .plane_index = 3,
                                             .device = 7,
                                             .node = memory_copy_string("n1")};
    pmi_query_encode(&query, &text);
    for (size_t bytes = 0; bytes < text.length_bytes; bytes++)
        if (pmi_query_decode(&taken, text.data, bytes) != -EBADMSG)
            fail("%zu bytes of a question are taken for one", bytes);
    is_int(pmi_query_decode(&taken, text.data, text.length_bytes), 0, "a question arrives");
    ok(taken.kind == PMI_QUERY_FABRIC && taken.fabric.parts == query.fabric.parts &&
           taken.fabric.plane_index == 3 && taken.fabric.device == 7 &&
           taken.fabric.device_name == NULL,
       "as it was asked");
    is_string(taken.fabric.plane, "hsn", "with the plane");
    is_string(taken.fabric.node, "n1", "and the node");
    pmi_query_fini(&taken);
    pmi_query_fini(&query);
    buffer_fini(&text);
}

static void describe(struct pmi_fabric_facts *facts)
{
    static const uint32_t place[] = {0, 300};
    static const uint16_t costs[] = {0, 5, 65535, 9, 0, 1};

    *facts = (struct pmi_fabric_facts){.planes_count = 2,
                                       .plane = 1,
                                       .devices = 3,
                                       .dims = 2,
                                       .is_cut = 1,
                                       .list_count = 1,
                                       .rows_count = 2};
    facts->planes = memory_allocate_zeroed(2 * sizeof(*facts->planes));
    facts->planes[0] = memory_copy_string("");
    facts->planes[1] = memory_copy_string("hsn");
    facts->list = memory_allocate_zeroed(sizeof(*facts->list));
    facts->list[0] = (struct pmi_fabric_device){.index = 2,
                                                .name = memory_copy_string("n1:a"),
                                                .node = memory_copy_string("n1"),
                                                .switch_name = memory_copy_string("s"),
                                                .up = 1,
                                                .down = 2};
    facts->list[0].place = memory_copy(place, sizeof(place));
    facts->list[0].facts = memory_allocate_zeroed(sizeof(*facts->list[0].facts));
    *facts->list[0].facts =
        (struct nic_facts){.speed = INT64_MAX, .mtu = 9000, .numa = 3, .state = NIC_DOWN};
    nic_text_set(facts->list[0].facts->texts[NIC_DRIVER], NIC_TEXT_BYTES, "mlx5_core");
    nic_pci_set(facts->list[0].facts, 0, 0xc1, 0, 0);
    facts->rows = memory_allocate_zeroed(2 * sizeof(*facts->rows));
    facts->rows[1] = 2;
    facts->costs = memory_copy(costs, sizeof(costs));
}

static void test_answer(void)
{
    struct pmi_fabric_facts facts, taken = {.planes = NULL};
    struct buffer text = {0};

    describe(&facts);
    pmi_fabric_facts_encode(&facts, &text);
    for (size_t bytes = 0; bytes < text.length_bytes; bytes++)
        if (pmi_fabric_facts_decode(&taken, text.data, bytes) != -EBADMSG)
            fail("%zu bytes of an answer are taken for one", bytes);
    is_int(pmi_fabric_facts_decode(&taken, text.data, text.length_bytes), 0, "an answer arrives");
    ok(taken.planes_count == 2 && taken.plane == 1 && taken.devices == 3 && taken.dims == 2 &&
           taken.is_cut == 1,
       "with its numbers");
    is_string(taken.planes[1], "hsn", "the planes");
    ok(taken.list_count == 1 && taken.list[0].index == 2 && taken.list[0].up == 1 &&
           taken.list[0].down == 2 && taken.list[0].place[1] == 300 &&
           strcmp(taken.list[0].switch_name, "s") == 0,
       "a device");
    ok(taken.list[0].facts != NULL &&
           memcmp(taken.list[0].facts, facts.list[0].facts, sizeof(*facts.list[0].facts)) == 0,
       "what is known of it");
    ok(taken.rows_count == 2 && taken.rows[1] == 2 &&
           memcmp(taken.costs, facts.costs, 6 * sizeof(*facts.costs)) == 0,
       "and two rows");
    pmi_fabric_facts_fini(&taken);
    pmi_fabric_facts_fini(&facts);
    buffer_fini(&text);
}

static void refused(const struct pmi_fabric_facts *facts, const char *name)
{
    struct pmi_fabric_facts taken = {.planes = NULL};
    struct buffer text = {0};

    pmi_fabric_facts_encode(facts, &text);
    is_int(pmi_fabric_facts_decode(&taken, text.data, text.length_bytes), -EBADMSG, "%s", name);
    buffer_fini(&text);
}

/* What cannot be known of a NIC. */
static void test_wrong_facts(void)
{
    struct pmi_fabric_facts facts, taken = {.planes = NULL};
    struct nic_facts *known;
    struct buffer text = {0};

    describe(&facts);
    known = facts.list[0].facts;
    known->speed = (uint64_t)INT64_MAX + 1;
    refused(&facts, "a speed that is no number of bits");
    known->speed = 0;
    known->state = NIC_STATE_COUNT;
    refused(&facts, "a state beyond the last");
    known->state = NIC_UP;
    known->texts[NIC_DRIVER][0] = '\n';
    refused(&facts, "a text that is none");
    known->texts[NIC_DRIVER][0] = 'm';
    known->texts[NIC_PCI][0] = 'x';
    refused(&facts, "a place that is none on the bus");
    free(known);
    facts.list[0].facts = NULL;
    pmi_fabric_facts_encode(&facts, &text);
    is_int(pmi_fabric_facts_decode(&taken, text.data, text.length_bytes), 0, "nothing is known");
    ok(taken.list_count == 1 && taken.list[0].facts == NULL, "and nothing arrives");
    pmi_fabric_facts_fini(&taken);
    pmi_fabric_facts_fini(&facts);
    buffer_fini(&text);
}

/* Numbers beyond what there is, and counts beyond what the message has room for. */
static void test_wrong(void)
{
    struct pmi_fabric_facts facts, taken = {.planes = NULL};
    struct buffer text = {0};

    describe(&facts);
    facts.list[0].index = 3;
    pmi_fabric_facts_encode(&facts, &text);
    is_int(pmi_fabric_facts_decode(&taken, text.data, text.length_bytes), -EBADMSG,
           "a device beyond the last is not taken");
    buffer_clear(&text);
    facts.list[0].index = 0;
    facts.rows[1] = 3;
    pmi_fabric_facts_encode(&facts, &text);
    is_int(pmi_fabric_facts_decode(&taken, text.data, text.length_bytes), -EBADMSG, "nor a row");
    buffer_clear(&text);
    wire_put_varint(&text, 1u << 31);
    is_int(pmi_fabric_facts_decode(&taken, text.data, text.length_bytes), -EBADMSG,
           "nor more planes than bytes");
    pmi_fabric_facts_fini(&facts);
    buffer_fini(&text);
}

int main(void)
{
    test_question();
    test_answer();
    test_wrong();
    test_wrong_facts();
    return done_testing();
}
